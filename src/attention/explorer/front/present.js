// ------------------------------------------------------------------------------------------------ present
// A figure on the whole screen, for a room: its words are large and its panels fill the height. All figures of a page
// are one sequence. `?present` in a page's address begins with the first of them.

const SCREEN = { width: 1920, height: 1080 }; // the screen at which words are 28 pixels high
const ROOT = 16 * (28 / 15); // pixels of a rem on it: 15 are the words of a page's figures
const DRAWN = 28 / 12; // a drawing's words have 12
const LEAST = 0.5; // what does not fit is drawn smaller, down to this part

const hasKeys = (element) => element.matches?.("input, select, textarea, [contenteditable]");

/**
 * @param {HTMLElement} el
 * @param {{step: (by: number) => void, lay: () => void, turn: (() => void) | undefined}} hand  `lay` sets the panels that
 *   measure their words anew; `turn` asks the prediction, or answers it
 */
function makePresentation(el, { step, lay, turn }) {
  const root = document.documentElement;
  let back = null; // how the page was
  let size = 0; // of what is drawn, against the page; 0 while it is not presented

  const acts = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), PageUp: () => go(-1), PageDown: () => go(1), Escape: () => end(), p: turn };
  const all = () => [...document.querySelectorAll(".attention-explorer")].filter((each) => /** @type {any} */ (each).present);
  const foot = make("p", { class: "tools remote" });
  const button = quietButton("present", () => begin(true));
  button.classList.add("present");
  button.title = "On the whole screen (p)";

  function begin(asked) {
    if (size) return;
    back = { x: scrollX, y: scrollY, focus: document.activeElement };
    if (asked && root.requestFullscreen) root.requestFullscreen().then(show, show);
    else show();
  }

  /** The element stays where it is in the page, which keeps its place, and is drawn above everything. */
  function show() {
    if (size) return;
    el.parentElement.style.minHeight = `${el.offsetHeight}px`;
    const figures = all();
    const part = (isThere, words, key, act) => (isThere ? [quietButton(words, act), make("kbd", {}, key)] : []);
    const isOneOf = figures.length > 1;
    const moves = !el.hasAttribute("data-still");
    foot.replaceChildren(
      make("b", {}, isOneOf ? `${figures.indexOf(el) + 1} / ${figures.length}` : ""),
      ...part(isOneOf, "figure before", "PgUp", acts.PageUp),
      ...part(isOneOf, "next figure", "PgDn", acts.PageDown),
      ...part(moves, "back", "←", acts.ArrowLeft),
      ...part(moves, "on", "→", acts.ArrowRight),
      ...part(turn, "answer", "P", turn),
      ...part(true, "end", "Esc", end),
    );
    el.append(foot);
    el.setAttribute("popover", "manual");
    el.showPopover?.();
    el.classList.add("presented");
    root.classList.add("presenting");
    el.tabIndex = -1;
    el.focus({ preventScroll: true });
    fit();
    addEventListener("resize", fit);
    document.addEventListener("fullscreenchange", onFullscreen);
    document.addEventListener("focusin", onFocus);
  }

  function hide() {
    removeEventListener("resize", fit);
    document.removeEventListener("fullscreenchange", onFullscreen);
    document.removeEventListener("focusin", onFocus);
    size = 0;
    foot.remove();
    el.classList.remove("presented");
    el.removeAttribute("popover");
    el.removeAttribute("tabindex");
    root.classList.remove("presenting");
    el.style.removeProperty("--r");
    el.parentElement.style.minHeight = "";
  }

  function end() {
    if (!size) return;
    hide();
    if (document.fullscreenElement) document.exitFullscreen();
    scrollTo({ left: back.x, top: back.y, behavior: "instant" });
    back.focus?.focus?.({ preventScroll: true });
  }

  /** On to another figure; the page behind stays where it was. */
  function go(by) {
    const figures = all();
    const other = figures[figures.indexOf(el) + by];
    if (!other) return;
    hide();
    other.present.take(back);
  }

  function fit() {
    const whole = Math.max(Math.min(innerWidth / SCREEN.width, innerHeight / SCREEN.height), 1 / (28 / 15));
    const overflows = () => [el, el.querySelector(".panels")].some((part) => part.scrollHeight > part.clientHeight + 1 || part.scrollWidth > part.clientWidth + 1);
    for (size = whole; ; size *= 0.95) {
      el.style.setProperty("--r", `${(ROOT * size).toFixed(2)}px`);
      lay();
      if (!overflows() || size < LEAST * whole) break;
    }
    requestAnimationFrame(() => requestAnimationFrame(lay)); // once their legends have found their lines
  }

  const onFullscreen = () => document.fullscreenElement || end();
  const onFocus = (event) => el.contains(event.target) || el.focus({ preventScroll: true });

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const isTyped = event.target.matches?.('input[type="text"], textarea');
    if (!size) {
      const isHere = el.contains(document.activeElement) || el.matches(":hover");
      if (key === "p" && isHere && !isTyped && !root.classList.contains("presenting")) begin(true);
      return;
    }
    const act = acts[key];
    if (!act || (key === "p" && isTyped) || (key.startsWith("Arrow") && hasKeys(event.target))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    act();
  };
  document.addEventListener("keydown", onKey);

  const take = (came) => {
    back = came;
    show();
  };
  Object.assign(el, { present: { begin, take } });
  /** How much larger a drawing is than on the page; 0 while it is not presented. */
  const drawn = () => size * DRAWN;
  function stop() {
    document.removeEventListener("keydown", onKey);
    if (size) hide();
  }
  return { button, drawn, stop };
}

/** Begin with the figure that the address names, or with the first. */
function presentPage() {
  const named = document.getElementById(parseAddress(location.hash)?.name ?? location.hash.slice(1));
  const first = /** @type {any} */ (named?.closest(".attention-explorer") ?? document.querySelector(".attention-explorer"));
  first?.present?.begin(false);
}
