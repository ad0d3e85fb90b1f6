// A page opened from disk may not read its neighbours, so there the search shows titles without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Paper is light, and nothing on it can be unfolded: answers and code print open, and fold again behind.
const root = document.documentElement;
let theme = root.dataset.theme;
addEventListener("beforeprint", () => {
  theme = root.dataset.theme;
  root.dataset.theme = "light";
  for (const fold of document.querySelectorAll("details:not([open])")) {
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
