// ------------------------------------------------------------------------------------------------ the explorer

const NARROW = 416; // pixels
const SPOKEN_AFTER = 600; // milliseconds without a further step

const panelKinds = { heatmap, bars, curves, tokens, plane, diagram };

/** @param {PanelData} data @param {number[]} counts @param {number[]} state @param {any} hand */
function buildPanel(data, counts, state, hand) {
  const readers = Object.fromEntries(Object.entries(data.fields).map(([name, packed]) => [name, reader(packed, counts)]));
  const read = (name, at) => readers[name]?.(at);
  read.first = (name) => read(name, state);
  read.shape = (name) => data.fields[name].shape;
  read.kind = (name) => data.fields[name].numbers?.slice(0, 2);
  read.all = (name) => data.fields[name].items;
  const built = panelKinds[data.kind](read, hand);
  return { ...built, kind: data.kind, element: make("div", { class: `panel panel-${data.kind}` }, built.element) };
}

/**
 * Build an explorer into `el`.
 * @param {HTMLElement} el
 * @param {Payload} payload
 * @param {Object<string, any>} given the state to begin with
 * @param {{commit: ((state: Object<string, any>) => void) | null, address: ((query: string) => string) | null}} home
 *   what hears each new state, null in a static page; and the address of a state, null where a link leads nowhere
 */
function build(el, payload, given, home) {
  let { controls } = payload;
  const state = Object.fromEntries(controls.map((spec) => [spec.name, spec.states[spec.initial]]));
  const at = controls.map((spec) => spec.initial);
  const beginning = { ...state };
  let panels = [];
  let idle = null;
  let pinned = null;

  const readout = makeReadout(el);
  const spoken = make("p", { class: "spoken", role: "status" });
  const printed = make("p", { class: "printed" });
  const error = make("p", { class: "error", role: "alert", hidden: "" });
  const panelBox = make("div", { class: "panels" });

  // ---------------------------------------------------------------------------------------------- state

  function place() {
    controls.forEach((spec, i) => {
      const found = spec.kind === "text" ? spec.states.indexOf(state[spec.name]) : indexOf(spec, state[spec.name]);
      if (found >= 0) at[i] = found; // a text that no state has yet waits for its kernel
    });
  }
  function update() {
    place();
    panels.forEach((panel) => panel.update(at));
    controls.forEach((spec, i) => {
      shown[i].show(at[i], state[spec.name]);
      const isIdle = Boolean(idle && idle(at)(i));
      shown[i].element.toggleAttribute("data-idle", isIdle);
      shown[i].element.title = isIdle ? "has no effect in this state" : "";
    });
    setText(printed, controls.map((spec, i) => `${spec.label} = ${typeset(String(labelOf(spec, i)))}`).join(", "));
  }
  const labelOf = (spec, i) => (spec.kind === "text" ? state[spec.name] : spec.labels[at[i]]);

  /** Take over some controls' states, draw and tell whoever listens. */
  function change(some) {
    Object.assign(state, some);
    update();
    home.commit?.({ ...state });
    speak(Object.keys(some));
  }

  let speaking = 0;
  function speak(names) {
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      const moved = controls.filter((spec) => names.includes(spec.name));
      const set = moved.map((spec) => `${spec.label} ${labelOf(spec, controls.indexOf(spec))}`).join(", ");
      const found = panels.map((panel) => {
        const caption = panel.element.querySelector("caption, figcaption")?.textContent ?? "";
        return [caption, panel.summary()].filter(Boolean).join(": ");
      });
      setText(spoken, typeset([set, ...found].filter(Boolean).join(". ")));
    }, SPOKEN_AFTER);
  }

  // ---------------------------------------------------------------------------------------------- what panels can do

  const hand = {
    tell: readout.tell,
    hush() {
      readout.hush();
      panels.forEach((panel) => panel.light?.({}));
    },
    /** Light what other panels have of these axes. @param {Lit} lit */
    light(lit, own) {
      delete lit[""];
      panels.forEach((panel) => panel !== own && panel.light?.(lit));
    },
    axis(name) {
      const axis = controls.findIndex((spec) => spec.name === name);
      return [axis, controls[axis].states.length];
    },
    move(name, index) {
      change({ [name]: controls[hand.axis(name)[0]].states[index] });
    },
    moveTo(places) {
      const moved = controls.filter((_, i) => places[i] !== at[i]);
      if (moved.length) change(Object.fromEntries(moved.map((spec) => [spec.name, spec.states[places[controls.indexOf(spec)]]])));
    },
  };

  const shown = controls.map((spec) =>
    controlKinds[spec.kind](spec, {
      moved: (index) => change({ [spec.name]: currentSpec(spec).states[index] }),
      typed: (text) => change({ [spec.name]: text }),
      playing: (pause) => {
        el.classList.toggle("playing", pause > 0);
        el.style.setProperty("--pause", `${pause}ms`);
      },
      live: home.commit !== null,
    }),
  );
  const currentSpec = (spec) => controls.find(({ name }) => name === spec.name) ?? spec;

  function setPanels(next) {
    panels.forEach((panel) => panel.stop?.());
    controls = next.controls;
    const counts = controls.map((spec) => spec.states.length);
    place();
    idle = next.idle ? reader(next.idle, counts) : null;
    panels = next.panels.map((data) => {
      const own = { ...hand, light: (lit) => hand.light(lit, panel) };
      const panel = buildPanel(data, counts, at, own);
      return panel;
    });
    const shapes = next.panels.map((data) => (data.kind === "heatmap" ? String(data.fields.values.shape) : ""));
    panels.forEach((panel, i) => panel.element.toggleAttribute("data-twin", shapes[i] !== "" && shapes.indexOf(shapes[i]) !== shapes.lastIndexOf(shapes[i])));
    panelBox.replaceChildren(...panels.map((panel) => panel.element));
    setPin(null);
  }

  // ---------------------------------------------------------------------------------------------- the frame's buttons

  const button = (words, act) => {
    const element = make("button", { type: "button" }, words);
    element.addEventListener("click", () => act(element));
    return element;
  };
  const pinButton = button("pin", () => setPin(pinned ? null : [...at]));
  pinButton.title = "Keep this state in sight behind the next ones";
  function setPin(places) {
    pinned = places;
    panels.forEach((panel) => panel.pin?.(pinned));
    set(pinButton, { "aria-pressed": pinned !== null });
    update();
  }
  const resetButton = button("reset", () => {
    setPin(null);
    change({ ...beginning });
  });
  const linkButton = button("copy link", async (element) => {
    const query = controls.map((spec, i) => `${encodeURIComponent(spec.name)}=${encodeURIComponent(labelOf(spec, i))}`).join("&");
    const address = home.address(`#${payload.name}?${query}`);
    try {
      await navigator.clipboard.writeText(address);
      setText(element, "copied");
    } catch {
      location.replace(address); // a page from disk may not write to the clipboard; then the address bar has it
      setText(element, "see the address bar");
    }
    setTimeout(() => setText(element, "copy link"), 2000);
  });
  const canPin = payload.panels.some((data) => data.kind !== "diagram" && data.kind !== "tokens");
  const buttons = [...(canPin ? [pinButton] : []), resetButton, ...(payload.name && home.address ? [linkButton] : [])];
  const tools = make("p", { class: "tools" }, ...buttons);

  // ---------------------------------------------------------------------------------------------- from outside

  function setState(next) {
    Object.assign(state, next);
    update();
  }
  function setError(message) {
    error.hidden = !message;
    setText(error, message);
  }
  /** Set controls by the labels that a link has; those that moved flash. @param {Object<string, string>} labels */
  function obey(labels) {
    const next = {};
    controls.forEach((spec) => {
      if (!(spec.name in labels)) return;
      const place = spec.labels.indexOf(labels[spec.name]);
      const number = spec.states.indexOf(Number(labels[spec.name]));
      if (place >= 0 || number >= 0) next[spec.name] = spec.states[place >= 0 ? place : number];
    });
    const before = [...at];
    change(next);
    controls.forEach((_, i) => {
      if (before[i] === at[i]) return;
      shown[i].element.classList.add("flash");
      setTimeout(() => shown[i].element.classList.remove("flash"), 1500);
    });
    const { top, bottom } = el.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) el.scrollIntoView({ block: bottom - top < innerHeight ? "center" : "start" });
  }

  el.classList.add("attention-explorer");
  if (payload.name) el.id = payload.name;
  const resized = new ResizeObserver(() => {
    el.classList.toggle("narrow", el.clientWidth < NARROW);
    el.classList.toggle("tall", el.clientHeight > innerHeight);
  });
  resized.observe(el);
  Object.assign(state, given);
  const prediction = payload.predict ? buildPrediction(el, payload.predict, { panels: () => panels, moveTo: (some) => change(some) }) : null;
  const controlBox = make("div", { class: "controls" }, ...shown.map((control) => control.element));
  const parts = [panelBox, readout.element, printed, spoken, error];
  el.replaceChildren(...(prediction ? [prediction.element] : []), ...(controls.length ? [controlBox, ...parts, tools] : parts));
  el.toggleAttribute("data-still", !controls.length);
  setPanels(payload);
  prediction?.begin();
  const stop = () => {
    resized.disconnect();
    clearTimeout(speaking);
    [...shown, ...panels].forEach((part) => part.stop?.());
  };
  return { setPanels, setState, setError, obey, stop };
}
