// ------------------------------------------------------------------------------------------------ acts
// What a hand does: it sets controls, holds the picture between two states, lets go, steps on.

/** @param {any} store @param {() => void} draw @param {() => boolean} isVeiled by a question */
function makeActs(store, draw, isVeiled) {
  const { at } = store;

  /** Set some controls. @param {Object<string, any>} some @param {number[]} [drawn] where a hand holds the picture */
  function act(some, drawn) {
    if (isVeiled()) return;
    store.set(some, drawn);
    store.save();
  }

  /** Draw where a hand holds the controls, between two states; the state is the nearest. @param {number[]} places */
  function follow(places) {
    const moved = store.controls.flatMap(({ name, states }, i) => {
      const next = Math.round(places[i]);
      return next === at[i] ? [] : [[name, states[next]]];
    });
    if (moved.length) return act(Object.fromEntries(moved), places);
    at.drawn = [...places];
    draw();
  }

  function drop() {
    delete at.drawn;
    draw();
  }

  /** Go on by so many states of the first slider, or of the first control where there is no slider. */
  function step(by) {
    const i = Math.max(0, store.controls.findIndex(({ kind }) => kind === "range"));
    const { name, states } = store.controls[i];
    const next = states[at[i] + by];
    if (next !== undefined) act({ [name]: next });
  }

  return { act, follow, drop, step };
}
