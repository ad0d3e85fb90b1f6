// ------------------------------------------------------------------------------------------------ present
// A figure that fills the window, for a room: its words are large, its panels fill the height. All figures of a page,
// and what stands out in its text, are one sequence of slides. `?present` in a page's address begins it.

const SCREEN = { width: 1920, height: 1080 }; // the screen at which words are 28 pixels high
const ENLARGED = 28 / 15; // times a page's figures, whose words have 15 pixels
const DRAWN = 28 / 13; // a drawing's words have 13
const LEAST = 0.5; // what does not fit is drawn smaller, down to this part

// What is shown of a chapter's text, and what is not. A heading stands above each slide of its section.
const SAID = ".bd-article :is(h1, div.math, strong, table, ul, ol, pre, .cell_output > img)";
const PRINTED = ".cell_output pre"; // stands below its code, and by itself where that is folded
const UNSAID = `details, #exercises, .attention-explorer, .toctree-wrapper, .cell:not(.tag_hide-input) ${PRINTED},
  .cell:has(.cell_output > img) .cell_input *, :is(h1, #the-chapter-on-one-screen .cell) ~ .cell pre,
  #what-you-can-do-now :is(strong, pre), :is(table, li, figure) *`;
const SMALL = "(max-width: 600px), (max-height: 480px)"; // too small for a lecture: present.css hides what begins it
const ASKED = /[:?]$/; // the sentence before code that makes it a slide
const TAUGHT = /^(def|class) /m; // code that is one without it
const OVERLONG = /^\p{Ll}|.{180}/su; // sentences that lead to code, or begin before a formula
const FULL = 20; // lines on a slide: code, what it prints, two of words
const SENTENCE = /^\P{Ll}(\S+\s+){3}.*[.?!]$/su; // in bold, it has four words, a beginning and an end

/**
 * A `part` of the page is shown as `el`, itself if it is a figure. `size` is how much larger than on the page, 0 while
 * it is not shown; `lay` sets panels anew that measure their words; `step` moves its slider; `turn` asks or answers.
 * @typedef {{el: HTMLElement, part: Element, size: number, lay: () => void, step?: (by: number) => boolean,
 *            turn?: () => void}} Slide
 */

/** @type {Slide | null} */
let shown = null;
let back = null; // how the page was
const foot = make("p", { class: "tools remote" });

/** Let a figure be presented. @param {HTMLElement} el @param {any} acts `lay`, `step` and `turn` of its slide */
function makePresentation(el, acts) {
  const slide = { el, part: el, size: 0, ...acts };
  const button = makeButton({ class: "present", title: "Large, for a room (p)" }, () => begin(slide), "present");
  listen(el, "attention-predicted", () => {
    if (shown !== slide) return;
    writeFoot();
    fit(); // a verdict may take more room
  });
  Object.assign(el, { slide, present: () => begin(slide) });
  return { button, scale: () => slide.size * DRAWN, stop: () => shown === slide && hide() };
}

/** The sentences before a cell that say what it shows: as many as are short, or the last. @returns {any} */
function leadOf(part) {
  const lead = document.createRange();
  const before = part.closest("p + .cell")?.previousElementSibling ?? make("p");
  lead.selectNodeContents(before);
  for (const text of before.childNodes)
    for (const end of (text.data ?? "").matchAll(/[.?!]\)?\s/g))
      if (OVERLONG.test(String(lead))) lead.setStart(text, end.index + end[0].length);
  return lead;
}

/** The parts of the page that are shown, in their order; `more` is code that stands below a part, while it has room. */
function slideParts() {
  const isTold = {
    STRONG: (words) => SENTENCE.test(words),
    PRE: (words, part) => TAUGHT.test(words) || ASKED.test(leadOf(part)),
  };
  const isSaid = (part) => !part.closest(UNSAID) && (isTold[part.tagName]?.(part.textContent, part) ?? true);
  const slides = /** @type {any[]} */ ([]);
  let room = 0; // for so many lines, on the last of them
  for (const part of /** @type {any} */ (document.querySelectorAll(`${SAID}, .attention-explorer:not(#exercises *)`))) {
    if (!(part.slide ?? (part.matches(SAID) && isSaid(part)))) continue;
    const lines = part.matches(".cell pre") ? part.closest(".cell").innerText.match(/.+/g).length + 2 : Infinity;
    const isMore = lines <= room && slides.at(-1).closest("section") === part.closest("section");
    if (isMore) slides.at(-1).more.push(part);
    else slides.push(Object.assign(part, { more: [] }));
    room = (isMore ? room : FULL) - lines;
  }
  return slides;
}

/** A part of the text as a slide. @returns {Slide} */
function makeSheet(part) {
  const title = part.closest("section")?.querySelector("h1, h2, h3");
  const kicker = title && title !== part ? make("small", {}, title.firstChild.textContent) : "";
  const el = make("div", { class: "attention-explorer sheet" }, kicker, ...[part, ...part.more].flatMap(writePart));
  for (const svg of el.querySelectorAll("svg")) svg.style.width = svg.getAttribute("width"); // as MathJax has it
  return { el, part, size: 0, lay() {} };
}

/** A part as a slide has it, and what leads to it. @returns {HTMLElement[]} */
function writePart(part) {
  const copy = part.cloneNode(true);
  copy.querySelector(".headerlink")?.remove();
  const printed = part.matches(PRINTED) ? [] : (part.closest(".cell")?.querySelectorAll(PRINTED) ?? []);
  const isWhole = part.matches("table, ul, ol, pre, img");
  const whole = isWhole ? [copy, ...[...printed].map((words) => words.cloneNode(true))] : copy.childNodes;
  const said = ASKED.test(leadOf(part)) ? [make("p", {}, leadOf(part).cloneContents())] : [];
  const look = part.matches("pre") ? "PRE highlight" : part.tagName; // code is coloured as on the page
  return [...said, make("div", { class: look }, ...whole)];
}

/** Begin with the figure that the address names, or with the title. */
function presentPage() {
  const named = document.getElementById(parseAddress(location.hash)?.name ?? location.hash.slice(1));
  named?.scrollIntoView({ behavior: "instant" }); // the place that the end leads back to
  const first = named?.closest(".attention-explorer") ?? slideParts()[0];
  if (first) begin(first.slide ?? makeSheet(first));
}

/** @param {Slide} slide */
function begin(slide) {
  if (document.querySelector(".big") || matchMedia(SMALL).matches) return;
  back = { x: scrollX, y: scrollY, focus: document.activeElement, part: slide.part };
  show(slide);
}

/** A figure stays where it is in the page, which keeps its place, and is drawn above all. @param {Slide} slide */
function show(slide) {
  shown = slide;
  const { el, part } = slide;
  if (el === part) el.parentElement.style.minHeight = `${el.offsetHeight}px`;
  else document.body.append(el);
  writeFoot();
  el.append(foot);
  set(el, { popover: "manual", tabindex: -1 });
  el.showPopover();
  el.classList.add("big");
  setClass(el, "wide", Boolean(el.querySelector("[data-wide]") && !el.querySelector(".prediction")));
  focusOn(el);
  fit();
}

function hide() {
  const { el, part } = shown;
  shown.size = 0;
  shown = null;
  foot.remove();
  el.classList.remove("big", "wide");
  ["popover", "tabindex"].forEach((name) => el.removeAttribute(name));
  el.style.removeProperty("--r");
  el.parentElement.style.minHeight = "";
  if (el !== part) el.remove();
}

/** Back to where the page was, or to the part of it that was shown last. */
function end() {
  const { part } = shown;
  hide();
  const address = new URL(location.href);
  address.searchParams.delete("present"); // a page that is loaded again is read
  if (address.href !== location.href) history.replaceState(history.state, "", address);
  scrollTo({ left: back.x, top: back.y, behavior: "instant" });
  back.focus?.focus?.({ preventScroll: true });
  if (part !== back.part) part.scrollIntoView({ block: "center", behavior: "instant" });
}

/** On to what stands so many places behind it, or before it, as far as there is any; the page stays where it was. */
function go(by) {
  const all = slideParts();
  const other = all[clamp(all.indexOf(shown.part) + by, 0, all.length - 1)];
  if (!other || other === shown.part) return;
  hide();
  show(other.slide ?? makeSheet(other));
}

function writeFoot() {
  const { el, part, step, turn } = shown;
  const all = slideParts();
  const isOneOf = all.length > 1;
  const isMoving = step && !el.dataset.veiled;
  const key = (isThere, words, name, act) => (isThere ? [makeButton({}, act, words), make("kbd", {}, name)] : []);
  foot.replaceChildren(
    make("b", {}, isOneOf ? `${all.indexOf(part) + 1} / ${all.length}` : ""),
    ...key(isOneOf, "previous", "↑", () => go(-1)),
    ...key(isOneOf, "next", "↓", () => go(1)),
    ...key(isMoving, "step back", "←", () => step(-1)),
    ...key(isMoving, "step on", "→", () => step(1)),
    ...key(turn, "answer", "P", turn),
    ...key(true, "end", "Esc", end),
  );
}

/** As large as it fits. */
function fit() {
  const { el, part, lay } = shown;
  const whole = Math.max(Math.min(innerWidth / SCREEN.width, innerHeight / SCREEN.height), 1 / ENLARGED);
  const boxes = [el, el.querySelector(el === part ? ".panels" : "div")];
  const isHigh = (box) => box.scrollHeight > box.clientHeight + 1 && !box.matches(".sheet > *"); // a word's own room
  const overflows = (box) => isHigh(box) || box.scrollWidth > box.clientWidth + 1;
  for (let size = whole; ; size *= 0.98) {
    shown.size = size;
    setStyle(el, "--r", `${(16 * ENLARGED * size).toFixed(2)}px`);
    lay();
    if (!boxes.some(overflows) || size < LEAST * whole) break;
  }
  requestAnimationFrame(() => requestAnimationFrame(lay)); // once their legends have found their lines
}

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const isTyped = target.matches?.('input[type="text"], textarea');
  if (!shown) {
    const el = /** @type {any} */ (document.querySelector(".attention-explorer:is(:hover, :focus-within)"));
    return key === "p" && !isTyped && el?.slide && begin(el.slide);
  }
  const isTaken = { p: isTyped, " ": target.matches?.("button, input, select, a") }[key];
  const isControl = /^(Arrow|Home|End)/.test(key) && target.matches?.("input, select, textarea, [contenteditable]");
  const move = (by) => (shown.step && !shown.el.dataset.veiled && shown.step(by)) || go(by);
  const [before, after] = [() => go(-1), () => go(1)];
  const steps = { ArrowLeft: () => move(-1), ArrowRight: () => move(1), Escape: end, p: shown.turn };
  const sheets = { PageUp: before, ArrowUp: before, PageDown: after, ArrowDown: after };
  const ends = { Home: () => go(-Infinity), End: () => go(Infinity) };
  const act = { ...steps, ...sheets, ...ends, " ": event.shiftKey ? before : after }[key];
  if (!act || isTaken || isControl) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  act();
}

listen(document, "keydown", onKey);
listen(document, "focusin", ({ target }) => shown && !shown.el.contains(target) && focusOn(shown.el));
listen(window, "resize", () => shown && fit());
