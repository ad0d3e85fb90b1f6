// ------------------------------------------------------------------------------------------------ controls
// Each returns { element, show(index) }; `moved` is called with the new index, `typed` with a new text. A slider under a
// finger calls `held` with where it is between the states, and `endDrag` at the end.

const MOST_SEGMENTS = 7; // states that are all written on a slider
const MOST_TICKS = 41; // states that are marked

let serial = 0;

function rangeControl(spec, { moved, held, endDrag }) {
  const input = make("input", { type: "range", min: spec.min, max: spec.max, step: spec.step });
  const output = make("output");
  const play = makeButton({ class: "play", "aria-label": `Play ${spec.label}`, "aria-pressed": "false" }, () => (timer === null ? start() : stop()));
  const last = spec.states.length - 1;
  const index = () => clamp(Math.round((Number(input.value) - spec.min) / spec.step), 0, last);
  const inSegments = last > 0 && last < MOST_SEGMENTS && spec.labels.every((label) => label.length <= 4);
  const segments = make("span", { class: "segments", "aria-hidden": "true" }, ...spec.labels.map((label) => make("i", {}, labelled(label))));
  const label = make("label", {}, make("span", { class: "name" }, spec.label), make("span", { class: "track" }, input, ...(inSegments ? [segments] : [])), output);
  const element = make("div", { class: "control" }, label, play);
  element.dataset.look = inSegments ? "segments" : last < MOST_TICKS ? "ticks" : "track";
  setStyle(element, "--steps", String(last || 1));
  let timer = null;
  let isHeld = false; // by a finger, which it then follows freely

  function show(at) {
    segments.childNodes.forEach((segment, i) => setClass(segment, "on", i === at));
    if (isHeld) return describe(at);
    const value = String(Number((spec.min + at * spec.step).toPrecision(10)));
    if (input.value !== value) input.value = value;
    describe(at);
    setStyle(element, "--at", String(last ? at / last : 0));
  }
  function describe(at) {
    input.setAttribute("aria-valuetext", spec.labels[at]);
    setText(output, labelled(spec.labels[at]));
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    play.setAttribute("aria-pressed", "false");
  }
  function start() {
    const pause = clamp(4000 / (last || 1), 60, 700);
    if (index() === last) moved(0);
    timer = setInterval(() => {
      if (index() < last) moved(index() + 1, pause);
      if (index() >= last) stop();
    }, still.matches ? Math.max(pause, 700) : pause);
    play.setAttribute("aria-pressed", "true");
  }
  listen(input, "input", () => {
    stop();
    if (!isHeld) return moved(index());
    const part = clamp((Number(input.value) - spec.min) / spec.step, 0, last);
    setStyle(element, "--at", String(last ? part / last : 0));
    held(part);
  });
  listen(input, "pointerdown", () => {
    isHeld = true;
    input.step = "any";
  });
  const drop = () => {
    if (!isHeld) return;
    const chosen = index();
    isHeld = false;
    input.step = String(spec.step);
    show(chosen);
    endDrag();
  };
  for (const end of ["pointerup", "pointercancel", "change", "blur"]) listen(input, end, drop);
  return { element, input, show, stop, start };
}

/** Play a slider once, when the figure first comes to the middle of the screen, unless a hand is there before. */
function playWhenSeen(el, control) {
  const seen = new IntersectionObserver(([entry]) => entry.isIntersecting && (stop(), control.start()), { rootMargin: "-30% 0px" });
  const stop = () => seen.disconnect();
  for (const touched of ["pointerdown", "keydown"]) listen(el, touched, stop, { once: true });
  if (!matchMedia("print, (prefers-reduced-motion: reduce)").matches) seen.observe(el);
  return stop;
}

function selectControl(spec, { moved }) {
  const select = make("select", {}, ...spec.labels.map((label, at) => make("option", { value: at }, labelled(label))));
  listen(select, "change", () => moved(select.selectedIndex));
  const label = make("label", {}, make("span", { class: "name" }, spec.label), select);
  // Buttons for the options of a list, which stays for keys and for those who hear the figure.
  const pills = spec.look === "buttons" ? spec.labels.map((label, at) => makeButton({ tabindex: -1 }, () => moved(at), label)) : [];
  const element = make("div", { class: "control", "data-look": spec.look }, label, ...(spec.look ? [make("div", { class: "pills", "aria-hidden": "true" }, ...pills)] : []));
  const show = (at) => {
    select.selectedIndex = at;
    pills.forEach((pill, i) => setClass(pill, "on", i === at));
  };
  return { element, input: select, show };
}

function checkboxControl(spec, { moved }) {
  const input = make("input", { type: "checkbox" });
  const on = spec.states.indexOf(true);
  listen(input, "change", () => moved(input.checked ? on : 1 - on));
  const label = make("label", {}, input, make("span", { class: "name" }, spec.label));
  return { element: make("div", { class: "control" }, label), input, show: (at) => (input.checked = at === on) };
}

/** A text box needs a kernel. A page offers the texts that were computed beforehand, where there are several. */
function textControl(spec, { moved, typed, live }) {
  if (!live && spec.states.length > 1) {
    const control = selectControl(spec, { moved });
    control.element.append(make("small", {}, "any text in a running notebook"));
    return control;
  }
  const note = make("small", { id: `attention-note-${++serial}` }, "works in a running notebook");
  const known = make("datalist", { id: `attention-list-${++serial}` }, ...spec.states.map((text) => make("option", { value: text })));
  const input = make("input", {
    type: "text",
    disabled: live ? null : "",
    list: live && spec.states.length > 1 ? known.id : null,
    "aria-describedby": live ? null : note.id,
  });
  let timer = null;
  listen(input, "input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => typed(input.value), 250);
  });
  const label = make("label", {}, make("span", { class: "name" }, spec.label), input);
  const show = (_, text) => {
    if (document.activeElement !== input && input.value !== String(text)) input.value = text;
  };
  return { element: make("div", { class: "control" }, label, live ? known : note), input, show, stop: () => clearTimeout(timer) };
}

const controlKinds = { range: rangeControl, select: selectControl, checkbox: checkboxControl, text: textControl };
