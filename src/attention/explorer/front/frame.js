// ------------------------------------------------------------------------------------------------ the explorer

const NARROW = 416; // pixels

/**
 * Build an explorer into `el`: its head, its controls, its panels and its foot, around one store.
 * @param {HTMLElement} el @param {Payload} payload @param {Object<string, any>} given the state to begin with
 * @param {((state: Object<string, any>) => void) | null} save hears of each state; null in a static page
 */
function build(el, payload, given, save) {
  const store = makeStore(payload.controls, given, save);
  const readout = makeReadout(el);
  const error = make("p", { class: "error", role: "alert", hidden: "" });
  const before = make("span", { class: "pinned", role: "status" });
  let compared = null; // the state that is in sight beside the present one
  const tools = make("p", { class: "tools" });
  const isVeiled = () => "veiled" in el.dataset;
  const panels = makePanels(store, readout, { act, isVeiled, scale: () => presentation.scale() || 1 });
  const controls = makeControls(store, act);

  /** Set some controls. @param {Object<string, any>} some */
  function act(some) {
    if (isVeiled()) return;
    store.set(some);
    store.save();
  }

  /** Go on by so many states of the first slider, or else of the first control, and say whether there is one more. */
  function step(by) {
    const i = Math.max(0, store.controls.findIndex(({ kind }) => kind === "range"));
    const { name, states } = store.controls[i];
    const next = states[store.at[i] + by];
    if (next !== undefined) act({ [name]: next });
    return next !== undefined;
  }

  /** Keep the state that a question starts from in sight, or none. @param {Object<string, any> | null} state */
  function compare(state) {
    compared = panels.canCompare() ? state : null;
    const places = state && store.controls.map((spec) => indexOf(spec, state[spec.name]));
    panels.compare(places);
    store.set({});
  }

  /** Back to where a question began, or else the figure. */
  function reset() {
    compare(null);
    act({ ...(payload.predict?.before ?? payload.predict?.state ?? store.beginning) });
  }

  /** Set controls by the labels that a link has; those that moved flash. @param {Object<string, string>} labels */
  function obey(labels) {
    const from = [...store.at];
    prediction?.lift();
    act(store.named(labels));
    from.forEach((place, i) => place !== store.at[i] && flash(controls.all[i].element));
  }

  /** Draw what a kernel has computed. @param {Payload} next */
  function setPanels(next) {
    store.offer(next.controls);
    panels.set(next);
    compare(null);
    prediction?.begin();
  }

  function setError(message) {
    error.hidden = !message;
    setText(error, message);
  }

  el.classList.add("attention-explorer");
  if (payload.name) el.id = payload.name;
  const question = { store, panels, controls: controls.element, compare };
  const prediction = payload.predict ? buildPrediction(el, payload.predict, question) : null;
  const hasControls = store.controls.length > 0;
  const moves = { step: hasControls ? step : null, turn: prediction?.turn, lay: panels.lay };
  const presentation = makePresentation(el, moves);
  store.subscribe(panels.draw);
  store.subscribe(() => prediction?.moved());
  const changed = () => store.written(compared, store.state) || "the same";
  store.subscribe(() => setText(before, compared ? `before: ${changed()}` : ""));
  store.subscribe(controls.show);

  el.toggleAttribute("data-still", !hasControls);
  tools.append(...(hasControls ? [before, makeButton({}, reset, "reset")] : []), presentation.button);
  el.replaceChildren(
    ...plateHead(el, payload.title),
    ...(prediction ? [prediction.element] : []),
    ...(hasControls ? [controls.element] : []),
    panels.element,
    readout.element,
    error,
    ...(hasControls || payload.title ? [tools] : []),
  );
  const resized = new ResizeObserver(() => {
    setClass(el, "narrow", el.clientWidth < NARROW);
    setClass(el, "tall", el.clientHeight > innerHeight && controls.element.clientHeight < innerHeight / 3);
  });
  resized.observe(el);
  setPanels(payload);

  function stop() {
    resized.disconnect();
    [presentation, controls, panels].forEach((part) => part.stop());
  }
  return { setPanels, setState: store.set, setError, obey, resume: prediction?.resume, stop };
}

/** Its number, which is its permalink, and its title. @param {HTMLElement} el @param {string} title */
function plateHead(el, title) {
  const { number } = el.dataset;
  if (!title) return [];
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", [number && `Figure ${number}`, title].filter(Boolean).join(": "));
  const link = number ? [make("a", { href: `#${el.id}` }, `Figure ${number}`), " · "] : [];
  return [make("p", { class: "head" }, ...link, title)];
}
