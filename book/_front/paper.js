// Paper is light.
const { dataset } = document.documentElement;
addEventListener("beforeprint", () => {
  dataset.before = dataset.theme;
  dataset.theme = "light";
});
addEventListener("afterprint", () => {
  dataset.theme = dataset.before;
});
