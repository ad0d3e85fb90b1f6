// ------------------------------------------------------------------------------------------------ controls
// Each returns { element, show(index) }; `moved` is called with the new index, `typed` with a new text.

const MOST_SEGMENTS = 7; // states that are all written on a slider
const MOST_TICKS = 41; // states that are marked

const still = matchMedia("(prefers-reduced-motion: reduce)");
let serial = 0;

const nameOf = ({ label }) => make("span", { class: "name" }, label);

function rangeControl(spec, { moved }) {
  const input = make("input", { type: "range", min: spec.min, max: spec.max, step: spec.step });
  const output = make("output");
  const last = spec.states.length - 1;
  const index = () => clamp(Math.round((Number(input.value) - spec.min) / spec.step), 0, last);
  const inSegments = last > 0 && last < MOST_SEGMENTS && spec.labels.every((label) => label.length <= 4);
  const words = inSegments ? spec.labels.map((label) => make("i", {}, labelled(label))) : [];
  const segments = make("span", { class: "segments", "aria-hidden": "true" }, ...words);
  const track = make("span", { class: "track" }, input, ...(inSegments ? [segments] : []));
  const label = make("label", {}, nameOf(spec), track, output);
  const player = makePlayer(spec.label, last, { index, moved });
  const element = make("div", { class: "control" }, label, player.button);
  element.dataset.look = inSegments ? "segments" : last < MOST_TICKS ? "ticks" : "track";
  setStyle(element, "--steps", String(last || 1));

  function show(at) {
    segments.childNodes.forEach((segment, i) => setClass(segment, "on", i === at));
    const value = String(Number((spec.min + at * spec.step).toPrecision(10)));
    if (input.value !== value) input.value = value;
    input.setAttribute("aria-valuetext", spec.labels[at]);
    setText(output, labelled(spec.labels[at]));
    setStyle(element, "--at", String(last ? at / last : 0));
  }
  listen(input, "input", () => {
    player.stop();
    moved(index());
  });
  let before = 0; // where it stands when a finger comes, and again if that finger goes on to scroll
  listen(input, "pointerdown", () => (before = index()));
  listen(input, "pointercancel", () => moved(before));
  return { element, show, ...player };
}

/** A slider plays itself to its end, and begins anew there. */
function makePlayer(label, last, { index, moved }) {
  const said = { class: "play", "aria-label": `Play ${label}`, "aria-pressed": "false" };
  const button = makeButton(said, () => (timer === null ? start() : stop()));
  const pause = clamp(4000 / (last || 1), 60, 700); // milliseconds from state to state
  let timer = null;

  function start() {
    if (index() === last) moved(0);
    timer = setInterval(step, still.matches ? 700 : pause);
    button.setAttribute("aria-pressed", "true");
  }
  function step() {
    if (index() < last) moved(index() + 1);
    if (index() >= last) stop();
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    button.setAttribute("aria-pressed", "false");
  }
  return { button, stop };
}

function selectControl(spec, { moved }) {
  const select = make("select", {}, ...spec.labels.map((label, at) => make("option", { value: at }, labelled(label))));
  listen(select, "change", () => moved(select.selectedIndex));
  const label = make("label", {}, nameOf(spec), select);
  const element = make("div", { class: "control", "data-look": spec.look }, label);
  // Buttons for the options of a list, which stays for keys and for those who hear the figure.
  const pill = (words, at) => makeButton({ tabindex: -1 }, () => moved(at), words);
  const pills = spec.look === "buttons" ? spec.labels.map(pill) : [];
  if (pills.length) element.append(make("div", { class: "pills", "aria-hidden": "true" }, ...pills));
  const show = (at) => {
    select.selectedIndex = at;
    pills.forEach((pill, i) => setClass(pill, "on", i === at));
  };
  return { element, show };
}

function checkboxControl(spec, { moved }) {
  const input = make("input", { type: "checkbox" });
  const on = spec.states.indexOf(true);
  listen(input, "change", () => moved(input.checked ? on : 1 - on));
  const label = make("label", {}, input, nameOf(spec));
  return { element: make("div", { class: "control" }, label), show: (at) => (input.checked = at === on) };
}

/** A text box needs a kernel. A page offers the texts that were computed beforehand, where there are several. */
function textControl(spec, { moved, typed, live }) {
  if (!live && spec.states.length > 1) {
    const control = selectControl(spec, { moved });
    control.element.append(make("small", {}, "any text in a running notebook"));
    return control;
  }
  const note = make("small", { id: `attention-note-${++serial}` }, "works in a running notebook");
  const options = spec.states.map((text) => make("option", { value: text }));
  const known = make("datalist", { id: `attention-list-${++serial}` }, ...options);
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
  const label = make("label", {}, nameOf(spec), input);
  const show = (_, text) => {
    if (document.activeElement !== input && input.value !== String(text)) input.value = text;
  };
  const element = make("div", { class: "control" }, label, live ? known : note);
  return { element, show, stop: () => clearTimeout(timer) };
}

const controlKinds = { range: rangeControl, select: selectControl, checkbox: checkboxControl, text: textControl };

/** All controls of an explorer. @param {any} store @param {(some: Object<string, any>) => void} act */
function makeControls(store, act) {
  const { at, state, live } = store;
  const all = store.controls.map(({ kind, name }, i) =>
    controlKinds[kind](store.controls[i], {
      moved: (index) => act({ [name]: store.controls[i].states[index] }),
      typed: (text) => act({ [name]: text }),
      live,
    }),
  );
  const element = make("div", { class: "controls" }, ...all.map((control) => control.element));
  const show = () => all.forEach((control, i) => control.show(at[i], state[store.controls[i].name]));
  return { element, all, show, stop: () => all.forEach((control) => control.stop?.()) };
}
