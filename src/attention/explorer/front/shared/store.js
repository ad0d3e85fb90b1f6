// ------------------------------------------------------------------------------------------------ the store
// At which of its states each control stands. Who acts sets, who draws subscribes.

/**
 * @param {Control[]} controls @param {Object<string, any>} given the state to begin with
 * @param {((state: Object<string, any>) => void) | null} save tells a notebook; null in a static page
 */
function makeStore(controls, given, save) {
  const beginning = Object.fromEntries(controls.map((spec) => [spec.name, spec.states[spec.initial]]));
  const subscribers = [];
  const at = controls.map((spec) => spec.initial);
  const state = { ...beginning, ...given };
  const live = save !== null;
  const subscribe = (hear) => subscribers.push(hear);
  /** The number of a control. @param {string} name */
  const axis = (name) => store.controls.findIndex((spec) => spec.name === name);
  const store = { controls, beginning, state, at, live, set, subscribe, offer, axis, written, named };

  function place() {
    store.controls.forEach((spec, i) => {
      const found = spec.kind === "text" ? spec.states.indexOf(state[spec.name]) : indexOf(spec, state[spec.name]);
      if (found >= 0) at[i] = found; // a text that no state has yet waits for its kernel
    });
  }

  /** Set some controls. @param {Object<string, any>} some */
  function set(some) {
    Object.assign(state, some);
    place();
    subscribers.forEach((hear) => hear());
  }

  /** Take the same controls with other states, as a kernel has computed them. */
  function offer(next) {
    store.controls = next;
    place();
  }

  /** What of a state is not as in another, in words. */
  function written(some, other) {
    const changed = store.controls.filter(({ name }) => some[name] !== other[name]);
    const text = (spec) => spec.labels[indexOf(spec, some[spec.name])];
    return changed.map((spec) => `${spec.label} = ${labelled(text(spec))}`).join(", ");
  }

  /** The states that a link names by their labels, or by themselves. @param {Object<string, string>} labels */
  function named(labels) {
    const known = store.controls.flatMap(({ name, labels: own, states }) => {
      const place = own.indexOf(labels[name]);
      const found = place < 0 ? states.indexOf(Number(labels[name])) : place;
      return found < 0 ? [] : [[name, states[found]]];
    });
    return Object.fromEntries(known);
  }

  place();
  return Object.assign(store, { save: () => save?.({ ...state }) });
}

/** The place of the state nearest to a value: a number may come back from JSON a rounding away. */
function indexOf(spec, value) {
  const found = spec.states.indexOf(value);
  if (found >= 0 || typeof value !== "number") return Math.max(found, 0);
  return placeOfLeast(spec.states.map((state) => Math.abs(state - value)));
}
