// ------------------------------------------------------------------------------------------------ controls
// Each returns { element, show(index) }; `moved` is called with the new index, `typed` with a new text.

let serial = 0;

function rangeControl(spec, { moved, playing }) {
  const input = make("input", { type: "range", min: spec.min, max: spec.max, step: spec.step });
  const output = make("output");
  const play = make("button", { type: "button", class: "play", "aria-label": `Play ${spec.label}`, "aria-pressed": "false" });
  const last = spec.states.length - 1;
  const index = () => Math.min(Math.max(Math.round((Number(input.value) - spec.min) / spec.step), 0), last);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let timer = null;

  function show(at) {
    const value = String(Number((spec.min + at * spec.step).toPrecision(10)));
    if (input.value !== value) input.value = value;
    input.setAttribute("aria-valuetext", spec.labels[at]);
    setText(output, typeset(spec.labels[at]));
    input.style.setProperty("--at", String(last ? at / last : 0));
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    play.setAttribute("aria-pressed", "false");
    playing(0);
  }
  function start() {
    const pause = Math.min(Math.max(4000 / (last || 1), 60), 700);
    playing(still.matches ? 0 : pause);
    if (index() === last) moved(0);
    timer = setInterval(() => {
      if (index() < last) moved(index() + 1);
      if (index() >= last) stop();
    }, still.matches ? Math.max(pause, 700) : pause);
    play.setAttribute("aria-pressed", "true");
  }
  input.addEventListener("input", () => {
    stop();
    moved(index());
  });
  play.addEventListener("click", () => (timer === null ? start() : stop()));
  const label = make("label", {}, make("span", { class: "name" }, spec.label), input, output);
  return { element: make("div", { class: "control" }, label, play), input, show, stop };
}

function selectControl(spec, { moved }) {
  const select = make("select", {}, ...spec.labels.map((label, at) => make("option", { value: at }, label)));
  select.addEventListener("change", () => moved(select.selectedIndex));
  const label = make("label", {}, make("span", { class: "name" }, spec.label), select);
  return { element: make("div", { class: "control" }, label), input: select, show: (at) => (select.selectedIndex = at) };
}

function checkboxControl(spec, { moved }) {
  const input = make("input", { type: "checkbox" });
  const on = spec.states.indexOf(true);
  input.addEventListener("change", () => moved(input.checked ? on : 1 - on));
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
  input.addEventListener("input", () => {
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
