// ------------------------------------------------------------------------------------------------ the explorer

const NARROW = 416; // pixels
const SLIM = 560; // below it panels stand one under the other
const SPOKEN_AFTER = 600; // milliseconds without a further step

/** @param {PanelData} data @param {number[]} counts @param {number[]} state @param {any} hand */
function buildPanel(data, counts, state, hand) {
  const readers = Object.fromEntries(Object.entries(data.fields).map(([name, packed]) => [name, reader(packed, counts)]));
  const read = (name, at) => readers[name]?.(at);
  read.blend = (name, at) => readers[name]?.blend(at);
  /** All that the panel has in a state. */
  read.now = (at) => Object.fromEntries(Object.keys(readers).map((name) => [name, read(name, at)]));
  read.first = (name) => read(name, state);
  read.shape = (name) => data.fields[name].shape;
  read.moves = (name) => data.fields[name].over.length; // whether a control changes it
  read.all = (name) => data.fields[name].items;
  read.small = data.group !== undefined; // one of several that stand side by side
  const built = panelKinds[data.kind](read, hand);
  const varies = Object.keys(data.fields).filter((name) => data.fields[name].items && read.moves(name));
  return { ...built, kind: data.kind, element: make("div", { class: `panel panel-${data.kind}`, "data-varies": varies.join(" ") }, built.element) };
}

/**
 * Build an explorer into `el`.
 * @param {HTMLElement} el
 * @param {Payload} payload
 * @param {Object<string, any>} given the state to begin with
 * @param {((state: Object<string, any>) => void) | null} hear each new state; null in a static page
 */
function build(el, payload, given, hear) {
  let { controls } = payload;
  const state = Object.fromEntries(controls.map((spec) => [spec.name, spec.states[spec.initial]]));
  /** @type {Places} */
  const at = controls.map((spec) => spec.initial);
  const beginning = { ...state };
  let panels = [];
  let idle = null;

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
  /** @param {number[] | null} [drawn] where a hand holds the controls, between two states */
  function update(drawn = null) {
    place();
    glide.stop();
    if (drawn) at.drawn = [...drawn];
    draw();
  }
  function draw() {
    panels.forEach((panel) => panel.update(at));
    prediction?.moved();
    controls.forEach((spec, i) => {
      shown[i].show(at[i], state[spec.name]);
      const isIdle = Boolean(idle?.(at)[i]);
      shown[i].element.toggleAttribute("data-idle", isIdle);
      shown[i].element.title = isIdle ? "has no effect in this state" : "";
    });
    setText(printed, said());
  }
  /** The state in words. */
  const said = (places = at) => controls.map((spec, i) => `${spec.label} = ${labelled(String(labelOf(spec, i, places)))}`).join(", ");
  const labelOf = (spec, i, places = at) => (spec.kind === "text" ? state[spec.name] : spec.labels[places[i]]);

  const glide = makeGlide(el, at, () => panels.forEach((panel) => panel.update(at)));

  const commit = () => hear?.({ ...state });

  /** Take over some controls' states, draw and tell whoever listens. With a time, the picture gets there in so long. */
  function change(some, time = 0, drawn = null) {
    if (hand.hidesData()) return;
    const from = at.drawn ?? [...at];
    Object.assign(state, some);
    update(drawn);
    if (time) glide.start(from, time);
    commit();
    speak(Object.keys(some));
  }

  /** Draw where a hand holds the controls, between two states; the state is the nearest. @param {number[]} places */
  function follow(places) {
    const moved = controls.filter((_, i) => Math.round(places[i]) !== at[i]);
    if (moved.length) change(statesAt(moved, places), 0, places);
    else glide.hold(places);
  }
  const statesAt = (some, places) => Object.fromEntries(some.map((spec) => [spec.name, spec.states[Math.round(places[controls.indexOf(spec)])]]));

  let speaking = 0;
  function speak(names) {
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      const moved = controls.filter((spec) => names.includes(spec.name));
      const set = moved.map((spec) => `${spec.label} ${labelOf(spec, controls.indexOf(spec))}`).join(", ");
      const found = panels.map((panel) => {
        const caption = panel.element.querySelector("caption, figcaption")?.textContent ?? "";
        return [caption, panel.summary?.()].filter(Boolean).join(": ");
      });
      setText(spoken, typeset([set, ...found].filter(Boolean).join(". ")));
    }, SPOKEN_AFTER);
  }

  // ---------------------------------------------------------------------------------------------- what panels can do

  const hand = {
    /** Whether a question hides what is drawn, until it has an answer. */
    hidesData: () => "veiled" in el.dataset,
    tell: (where, what, at) => hand.hidesData() || readout.tell(where, what, at),
    hideReadout() {
      readout.hideReadout();
      panels.forEach((panel) => panel.highlight?.({}));
    },
    /** Light what other panels have of these axes. @param {Lit} lit */
    highlight(lit, own) {
      delete lit[""];
      panels.forEach((panel) => panel !== own && panel.highlight?.(lit));
    },
    axis(name) {
      const axis = controls.findIndex((spec) => spec.name === name);
      return [axis, controls[axis].states.length];
    },
    /** Set controls, by name, to the states of these numbers. @param {Object<string, number>} places */
    move(places) {
      const states = Object.entries(places).map(([name, index]) => [name, controls[hand.axis(name)[0]].states[index]]);
      change(Object.fromEntries(states), GLIDE);
    },
    /** How much larger the figure is drawn than on the page, while it is presented. */
    scale: () => presentation.drawn() || 1,
    /** How wide and how high a picture is drawn: as high as usual, or as the screen leaves room. */
    room(stage, wide, usual) {
      const width = wide / hand.scale();
      return [width, presentation.drawn() ? stage.clientHeight / hand.scale() : usual(width)];
    },
    follow,
    endDrag: () => glide.start(at.drawn ?? [...at], GLIDE),
  };

  const shown = controls.map((spec) =>
    controlKinds[spec.kind](spec, {
      moved: (index, time) => change({ [spec.name]: currentSpec(spec).states[index] }, time),
      held: (part) => follow((at.drawn ?? at).with(controls.indexOf(currentSpec(spec)), part)),
      endDrag: hand.endDrag,
      typed: (text) => change({ [spec.name]: text }),
      live: hear !== null,
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
      const own = { ...hand, highlight: (lit) => hand.highlight(lit, panel) };
      const panel = buildPanel(data, counts, at, own);
      return panel;
    });
    panelBox.replaceChildren(...arranged(next.panels, panels));
    compare(null);
    prediction?.begin();
  }

  // ---------------------------------------------------------------------------------------------- the frame's buttons

  const beforeLabel = make("span", { class: "pinned", role: "status" });
  /** Keep the state that a question starts from in sight. @param {Object<string, any> | null} before @param {number} [asked] the panel */
  function compare(before, asked) {
    const places = before && controls.map((spec) => indexOf(spec, before[spec.name]));
    panels.forEach((panel, i) => panel.compare?.(places, i === asked));
    setText(beforeLabel, places ? `before: ${said(places)}` : "");
    update();
  }
  const resetButton = quietButton("reset", () => {
    compare(null);
    change({ ...beginning });
  });
  const buttons = controls.length ? [beforeLabel, resetButton] : [];
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
      const label = labels[spec.name];
      const place = spec.labels.indexOf(label);
      const found = place < 0 ? spec.states.indexOf(Number(label)) : place;
      if (found >= 0) next[spec.name] = spec.states[found];
    });
    const before = [...at];
    prediction?.lift();
    dontPlay();
    change(next, GLIDE);
    controls.forEach((_, i) => {
      if (before[i] === at[i]) return;
      shown[i].element.classList.add("flash");
      setTimeout(() => shown[i].element.classList.remove("flash"), 1500);
    });
  }

  /** Go on by so many states of the first slider, or of the first control where there is no slider. */
  function step(by) {
    const i = Math.max(0, controls.findIndex((spec) => spec.kind === "range"));
    const next = at[i] + by;
    if (!hand.hidesData() && controls[i]?.states[next] !== undefined) change({ [controls[i].name]: controls[i].states[next] }, GLIDE);
  }

  el.classList.add("attention-explorer");
  if (payload.name) el.id = payload.name;
  const resized = new ResizeObserver(() => {
    setClass(el, "narrow", el.clientWidth < NARROW);
    setClass(el, "slim", el.clientWidth < SLIM);
    setClass(el, "tall", el.clientHeight > innerHeight && controlBox.clientHeight < innerHeight / 3);
  });
  resized.observe(el);
  Object.assign(state, given);
  const controlBox = make("div", { class: "controls" }, ...shown.map((control) => control.element));
  const asking = { panels: () => panels, controls: controlBox, state, show: setState, compare, commit, live: hear !== null };
  const prediction = payload.predict ? buildPrediction(el, payload.predict, asking) : null;
  const presentation = makePresentation(el, { step, lay: () => panels.forEach((panel) => panel.lay?.()), turn: prediction?.turn });
  tools.append(presentation.button);
  const foot = controls.length || payload.title ? [tools] : [];
  const parts = [panelBox, readout.element, printed, spoken, error];
  const head = [...plateHead(el, payload.title), ...(prediction ? [prediction.element] : [])];
  el.replaceChildren(...head, ...(controls.length ? [controlBox] : []), ...parts, ...foot);
  el.toggleAttribute("data-still", !controls.length);
  setPanels(payload);
  const dontPlay = payload.play && !hear ? playWhenSeen(el, shown[hand.axis(payload.play)[0]]) : () => {};
  const stop = () => {
    dontPlay();
    resized.disconnect();
    presentation.stop();
    glide.stop();
    clearTimeout(speaking);
    [...shown, ...panels].forEach((part) => part.stop?.());
  };
  return { setPanels, setState, setError, obey, resume: prediction?.resume, stop };
}
