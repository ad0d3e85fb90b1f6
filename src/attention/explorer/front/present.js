// ------------------------------------------------------------------------------------------------ present
// A figure on the whole screen, for a room: its words are large and its panels fill the height. All figures of a page,
// and a chapter's headings, formulas and bold sentences, are one sequence. `?present` in a page's address begins it.

const SCREEN = { width: 1920, height: 1080 }; // the screen at which words are 28 pixels high
const ROOT = 16 * (28 / 15); // pixels of a rem on it: 15 are the words of a page's figures
const DRAWN = 28 / 13; // a drawing's words have 13
const LEAST = 0.5; // what does not fit is drawn smaller, down to this part

// What is shown of a chapter's text, and what is not.
// A heading stands above each slide of its section.
const SAID = ".bd-article :is(h1, div.math, strong, table, ul, ol, pre)";
const UNSAID = "details, #exercises, .attention-explorer, .toctree-wrapper, .cell_output, :is(table, li, figure) *";

/** Figures, and what is said, in the order of the page; a bold sentence has four words and an end. */
const slides = () =>
  [...document.querySelectorAll(`${SAID}, .attention-explorer`)].filter(
    (part) => /** @type {any} */ (part).present || (part.matches(SAID) && !part.closest(UNSAID) && (part.tagName !== "STRONG" || /(\S+\s+){3}.*[.?!]$/s.test(part.textContent))),
  );

/** A part of the text as a figure of its own, while it is presented. */
function makeSheet(part) {
  const copy = /** @type {HTMLElement} */ (part.cloneNode(true));
  copy.querySelector(".headerlink")?.remove();
  for (const svg of copy.querySelectorAll("svg")) svg.style.width = svg.getAttribute("width"); // as wide as MathJax has it
  const title = part.closest("section")?.querySelector("h1, h2, h3");
  const kicker = title && title !== part ? make("small", {}, title.firstChild.textContent) : "";
  const sheet = make("div", { class: "attention-explorer ae sheet" }, kicker, make("div", { class: part.tagName }, ...(part.matches("table, ul, ol, pre") ? [copy] : copy.childNodes)));
  return makePresentation(sheet, { step: () => {}, lay: () => {}, turn: undefined }, part);
}

const hasKeys = (element) => element.matches?.("input, select, textarea, [contenteditable]");

/**
 * @param {HTMLElement} el
 * @param {{step: (by: number) => void, lay: () => void, turn: (() => void) | undefined}} hand  `lay` sets the panels that
 *   measure their words anew; `turn` asks the prediction, or answers it
 * @param {Element} part  of the page: the figure, or the text that a sheet shows
 */
function makePresentation(el, { step, lay, turn }, part = el) {
  const root = document.documentElement;
  let back = null; // how the page was
  let size = 0; // of what is drawn, against the page; 0 while it is not presented

  const isStill = () => el !== part || el.hasAttribute("data-still");
  const move = (by) => (isStill() ? go(by) : step(by));
  const before = () => go(-1);
  const after = () => go(1);
  const acts = { ArrowLeft: () => move(-1), ArrowRight: () => move(1), PageUp: before, ArrowUp: before, PageDown: after, ArrowDown: after, " ": after, Escape: () => end(), p: turn };
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
    if (el === part) el.parentElement.style.minHeight = `${el.offsetHeight}px`;
    else document.body.append(el);
    writeFoot();
    el.append(foot);
    el.setAttribute("popover", "manual");
    el.showPopover?.();
    el.classList.add("big");
    el.classList.toggle("wide", Boolean(el.querySelector("[data-wide]") && !el.querySelector(".prediction")));
    el.tabIndex = -1;
    focusOn(el);
    fit();
    addEventListener("resize", fit);
    listen(document, "fullscreenchange", onFullscreen);
    listen(document, "focusin", onFocus);
  }

  function writeFoot() {
    const all = slides();
    const key = (isThere, words, name, act) => (isThere ? [quietButton(words, act), make("kbd", {}, name)] : []);
    const isOneOf = all.length > 1;
    const moves = !isStill() && !el.dataset.veiled;
    foot.replaceChildren(
      make("b", {}, isOneOf ? `${all.indexOf(part) + 1} / ${all.length}` : ""),
      ...key(isOneOf, "before", "↑", before),
      ...key(isOneOf, "next", "↓", after),
      ...key(moves, "step back", "←", acts.ArrowLeft),
      ...key(moves, "step on", "→", acts.ArrowRight),
      ...key(turn, "answer", "P", turn),
      ...key(true, "end", "Esc", end),
    );
  }
  listen(el, "attention-predicted", writeFoot);

  function hide() {
    removeEventListener("resize", fit);
    document.removeEventListener("fullscreenchange", onFullscreen);
    document.removeEventListener("focusin", onFocus);
    size = 0;
    foot.remove();
    el.classList.remove("big", "wide");
    el.removeAttribute("popover");
    el.removeAttribute("tabindex");
    el.style.removeProperty("--r");
    el.parentElement.style.minHeight = "";
    if (el === part) return;
    document.removeEventListener("keydown", onKey);
    el.remove();
  }

  function end() {
    if (!size) return;
    hide();
    const address = new URL(location.href);
    address.searchParams.delete("present"); // a page that is loaded again is read
    if (address.href !== location.href) history.replaceState(history.state, "", address);
    if (document.fullscreenElement) document.exitFullscreen();
    scrollTo({ left: back.x, top: back.y, behavior: "instant" });
    back.focus?.focus?.({ preventScroll: true });
  }

  /** On to what stands before or behind it; the page stays where it was. */
  function go(by) {
    const all = slides();
    const other = /** @type {any} */ (all[all.indexOf(part) + by]);
    if (!other) return;
    hide();
    (other.present ?? makeSheet(other)).take(back);
  }

  function fit() {
    const whole = Math.max(Math.min(innerWidth / SCREEN.width, innerHeight / SCREEN.height), 1 / (28 / 15));
    const overflows = () => [el, el.querySelector(".panels")].some((box) => box && (box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1));
    for (size = whole; ; size *= 0.95) {
      setStyle(el, "--r", `${(ROOT * size).toFixed(2)}px`);
      lay();
      if (!overflows() || size < LEAST * whole) break;
    }
    requestAnimationFrame(() => requestAnimationFrame(lay)); // once their legends have found their lines
  }

  const onFullscreen = () => document.fullscreenElement || end();
  const onFocus = (event) => el.contains(event.target) || focusOn(el);

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const isTyped = event.target.matches?.('input[type="text"], textarea');
    if (!size) {
      const isHere = el.contains(document.activeElement) || el.matches(":hover");
      if (key === "p" && isHere && !isTyped && !root.querySelector(".big")) begin(true);
      return;
    }
    const act = acts[key];
    if (!act || (key === "p" && isTyped) || (key.startsWith("Arrow") && hasKeys(event.target)) || (key === " " && event.target.matches?.("button, input, select, a"))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    act();
  };
  listen(document, "keydown", onKey);

  const take = (came) => {
    back = came;
    show();
  };
  if (el === part) Object.assign(el, { present: { begin, take } });
  /** How much larger a drawing is than on the page; 0 while it is not presented. */
  const scale = () => size * DRAWN;
  function stop() {
    document.removeEventListener("keydown", onKey);
    if (size) hide();
  }
  return { button, scale, stop, take };
}

/** Begin with the figure that the address names, or with the title. */
function presentPage() {
  const named = document.getElementById(parseAddress(location.hash)?.name ?? location.hash.slice(1));
  const first = /** @type {any} */ (named?.closest(".attention-explorer") ?? slides()[0]);
  if (first) (first.present ?? makeSheet(first)).take({ x: scrollX, y: scrollY, focus: null });
}
