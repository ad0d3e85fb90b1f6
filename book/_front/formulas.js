// Pointing at Q, K, V, softmax, √D or the mask in a displayed formula lights its box in the page's picture of the
// formula (course/formula.py), and says what it is in that box's words. A finger reaches it, and Tab the first of each.
const PARTS = {
  query: '[stroke="#0075BD" i]',
  key: '[stroke="#B05A06" i]',
  value: '[stroke="#006044" i]',
  weights: '[stroke="#5A2180" i]',
  scaled: '[data-mml-node="msqrt"]',
  masked: '[data-c="1D440"]', // M
};
const boxOf = (name) => document.querySelector(`.diagram a:has([data-box="${name}"])`);

addEventListener("load", async () => {
  await window.MathJax?.startup.promise;
  for (const [name, drawn] of Object.entries(PARTS)) {
    if (!boxOf(name)) continue;
    for (const formula of document.querySelectorAll(`div.math svg:has(${drawn})`)) {
      formula.setAttribute("role", "group");
      formula.removeAttribute("aria-hidden");
      formula.querySelectorAll(drawn).forEach((part, i) => {
        Object.assign(part, { role: "img", ariaLabel: boxOf(name).ariaLabel, tabIndex: i ? -1 : 0 });
        part.dataset.box = name;
      });
    }
  }
});

function sayPart({ target }) {
  document.querySelector(".diagram .told")?.classList.remove("told");
  document.querySelector("[data-says]")?.removeAttribute("data-says");
  const part = target.closest?.("div.math [data-box]");
  if (!part) return;
  boxOf(part.dataset.box).classList.add("told");
  part.closest("div.math").dataset.says = part.ariaLabel;
}
addEventListener("pointerover", sayPart);
addEventListener("focusin", sayPart);
