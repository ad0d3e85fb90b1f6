// A page opened from disk may not read its neighbours, so there the search shows titles without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Paper is light, and nothing on it can be unfolded: answers print open, and fold again behind. Code that only draws
// stays folded, and is left out.
const root = document.documentElement;
let theme = root.dataset.theme;
addEventListener("beforeprint", () => {
  theme = root.dataset.theme;
  root.dataset.theme = "light";
  for (const fold of document.querySelectorAll("details:not([open], .tag_hide-input *)")) {
    fold.open = true;
    fold.dataset.opened = "for the paper";
  }
});
addEventListener("afterprint", () => {
  root.dataset.theme = theme;
  for (const fold of document.querySelectorAll("details[data-opened]")) {
    fold.open = false;
    delete fold.dataset.opened;
  }
});

// "Did you stumble?" quotes what the reader has selected. A press of the mouse takes the selection away, so look before.
addEventListener("DOMContentLoaded", () => {
  const link = document.querySelector(".stumbled a");
  const form = link?.href;
  for (const press of ["pointerdown", "keydown"]) {
    link?.addEventListener(press, () => {
      const asked = new URL(form);
      const sentence = getSelection().toString().trim().slice(0, 1000);
      if (sentence) asked.searchParams.set("sentence", sentence);
      link.href = asked.href;
    });
  }
});
