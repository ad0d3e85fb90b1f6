// Pointing at Q, K, V, softmax, √D or the mask in a displayed formula lights its box in the page's picture of the
// formula (course/formula.py), and says what it is in that box's words. A finger reaches it, and Tab the first of each.
const PARTS = {
  query: '[stroke="#0075BD" i]:has([data-c="1D444"])', // Q, and not one query's q
  key: '[stroke="#B05A06" i]:has([data-c="1D43E"])',
  value: '[stroke="#006044" i]:has([data-c="1D449"])',
  weights: '[stroke="#5A2180" i]',
  scaled: '[data-mml-node="msqrt"]',
  masked: '[data-c="1D440"]', // M
};
const boxOf = (name) => document.querySelector(`.diagram a:has([data-box="${name}"])`);

addEventListener("load", async () => {
  await window.MathJax?.startup.promise;
  for (const [name, drawn] of Object.entries(PARTS)) {
    const ariaLabel = boxOf(name)?.ariaLabel;
    if (!ariaLabel) continue;
    for (const formula of document.querySelectorAll("div.math svg")) {
      formula.querySelectorAll(drawn).forEach((part, i) => {
        formula.setAttribute("role", "group");
        formula.removeAttribute("aria-hidden");
        Object.assign(part, { role: "img", ariaLabel, tabIndex: i ? -1 : 0 });
        part.dataset.box = name;
      });
    }
  }
  const first = document.querySelector("div.math:has([data-box])");
  if (!first) return;
  first.dataset.says = "point at a letter, or tap it";
  addEventListener("pointerover", sayPart);
  addEventListener("focusin", sayPart);
  addEventListener("keydown", ({ key }) => key === "Escape" && sayPart({ target: document }));
});

function sayPart({ target }) {
  document.querySelector(".diagram .told")?.classList.remove("told");
  document.querySelector("[data-says]")?.removeAttribute("data-says");
  const part = target.closest?.("div.math [data-box]");
  if (!part) return;
  boxOf(part.dataset.box).classList.add("told");
  part.closest("div.math").dataset.says = part.ariaLabel;
}
