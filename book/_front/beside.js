// A figure that stands beside its paragraphs (tools/beside.py). On a wide page beside.css keeps it in sight, and needs to
// know its height. On a phone it docks, small, while they are read and its own place is out of sight; and so does every
// figure while the paragraph is read whose link has set it.
const PHONE = matchMedia("(max-width: 767px) and (min-height: 480px)");
const SMALL = 0.3; // of the screen's height

function standBeside(figure) {
  const group = figure.closest(".beside");
  let said = group; // what speaks of it
  let share = 0.5; // of its place, which is seen before it is left there
  const place = figure.parentElement; // keeps the figure's room in the text
  const panels = figure.querySelector(".panels");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "dock";
  figure.prepend(button);

  const isDocked = () => figure.classList.contains("docked");
  function open(isOpen) {
    figure.classList.toggle("open", isOpen);
    figure.classList.toggle("shut", isDocked() && !isOpen);
    button.textContent = isOpen ? "✕ close" : "▴";
    button.ariaLabel = isOpen ? null : "Open the figure";
    button.ariaExpanded = String(isOpen);
    if (isOpen) figure.scrollTop = 0;
    else fit();
  }
  /** Make it no smaller than it has to be, and its words readable: what has no room is seen when it is opened. */
  function fit() {
    const room = innerHeight * SMALL - 16;
    for (const part of [1, 0.9, 0.8, 0.7]) {
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
    if (!said) return;
    const [text, own] = [said, place].map((part) => part.getBoundingClientRect());
    const seen = Math.min(own.bottom, innerHeight) - Math.max(own.top, 0);
    const isRead = text.top < innerHeight * (1 - SMALL) && text.bottom > innerHeight * (said === group ? SMALL : 0.1);
    const docks = PHONE.matches && isRead && seen < Math.min(own.height, innerHeight) * share;
    dock(docks);
    if (!docks) [said, share] = [group, 0.5];
  }
  /** While a link's paragraph is read. */
  figure.dock = (link) => {
    if (!PHONE.matches) return false;
    [said, share] = [link.parentElement, 1];
    dock(true);
    link.scrollIntoView({ block: "nearest" });
    return true;
  };

  button.addEventListener("click", () => open(!figure.classList.contains("open")));
  figure.addEventListener("focusin", (event) => figure.classList.contains("shut") && event.target !== button && open(true));
  figure.addEventListener("keydown", (event) => event.key === "Escape" && isDocked() && open(false));
  addEventListener("pointerdown", (event) => figure.classList.contains("open") && !figure.contains(event.target) && open(false));
  addEventListener("scroll", look, { passive: true });
  PHONE.addEventListener("change", look);
  if (group) new ResizeObserver(() => group.style.setProperty("--height", `${figure.closest(".cell").offsetHeight}px`)).observe(figure);
  look();
}

addEventListener("DOMContentLoaded", () => document.querySelectorAll("attention-explorer[id]").forEach(standBeside));
