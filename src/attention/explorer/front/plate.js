// ------------------------------------------------------------------------------------------------ the plate
// A figure's head, with the number that the book gives it, and its foot: what can be done with it, as quiet words.

/** Its number, which is its permalink, and its title. @param {HTMLElement} el @param {string} title */
function plateHead(el, title) {
  const { number } = el.dataset;
  if (!title) return [];
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", [number && `Figure ${number}`, title].filter(Boolean).join(": "));
  const link = number ? [make("a", { href: `#${el.id}` }, `Figure ${number}`), " · "] : [];
  return [make("p", { class: "head" }, ...link, title)];
}

/** @param {string} words @param {(button: HTMLElement) => void} act */
const quietButton = (words, act) => makeButton({}, act, words);
