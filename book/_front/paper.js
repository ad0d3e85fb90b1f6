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
