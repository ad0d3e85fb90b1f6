// A figure that stands beside its paragraphs (tools/beside.py). On a wide page beside.css keeps it in sight, and needs to
// know its height. On a phone it docks, small, while they are read and its own place is out of sight.
const PHONE = matchMedia("(max-width: 767px) and (min-height: 480px)");
const SMALL = 0.3; // of the screen's height

function standBeside(group, figure) {
  const place = figure.parentElement; // keeps the figure's room in the text
  const panels = figure.querySelector(".panels");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "dock";
  figure.prepend(button);

  const isDocked = () => figure.classList.contains("docked");
  function open(isOpen) {
    figure.classList.toggle("open", isOpen);
    button.textContent = isOpen ? "✕ close" : "▴";
    button.ariaLabel = isOpen ? null : "Open the figure";
    button.ariaExpanded = String(isOpen);
    if (isOpen) figure.scrollTop = 0;
    else fit();
  }
  /** Make it no smaller than it has to be: the narrower its panels look, the more of them stand side by side. */
  function fit() {
    const room = innerHeight * SMALL - 16;
    for (const part of [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]) {
      figure.style.setProperty("--fit", String(part));
      if (panels.getBoundingClientRect().height <= room) break;
    }
  }
  function dock(docks) {
    if (docks === isDocked()) return;
    place.style.minHeight = docks ? `${place.getBoundingClientRect().height}px` : "";
    figure.classList.toggle("docked", docks);
    document.documentElement.classList.toggle("with-docked", Boolean(document.querySelector(".docked")));
    open(false);
  }
  function look() {
    const [text, own] = [group, place].map((part) => part.getBoundingClientRect());
    const seen = Math.min(own.bottom, innerHeight) - Math.max(own.top, 0);
    const isRead = text.top < innerHeight * (1 - SMALL) && text.bottom > innerHeight * SMALL;
    dock(PHONE.matches && isRead && seen < Math.min(own.height, innerHeight) / 2);
  }

  button.addEventListener("click", () => open(!figure.classList.contains("open")));
  figure.addEventListener("focusin", (event) => isDocked() && event.target !== button && open(true));
  figure.addEventListener("keydown", (event) => event.key === "Escape" && isDocked() && open(false));
  addEventListener("pointerdown", (event) => figure.classList.contains("open") && !figure.contains(event.target) && open(false));
  addEventListener("scroll", look, { passive: true });
  PHONE.addEventListener("change", look);
  new ResizeObserver(() => group.style.setProperty("--height", `${figure.closest(".cell").offsetHeight}px`)).observe(figure);
  look();
}

addEventListener("DOMContentLoaded", () => {
  for (const group of document.querySelectorAll(".beside")) {
    const figure = group.querySelector("attention-explorer");
    if (figure) standBeside(group, figure);
  }
});
