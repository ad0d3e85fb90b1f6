// ------------------------------------------------------------------------------------------------ acts
// What a hand does: it sets controls, holds the picture between two states, lets go, steps on.

/** @param {any} store @param {any} glide @param {any} speech @param {() => boolean} isVeiled by a question */
function makeActs(store, glide, speech, isVeiled) {
  const { at } = store;

  /** Set some controls; the picture takes so long to get there. @param {Object<string, any>} some */
  function act(some, time = 0, drawn = undefined) {
    if (isVeiled()) return;
    const from = at.drawn ?? [...at];
    store.set(some, drawn);
    if (time) glide.start(from, time);
    store.save();
    speech.say(Object.keys(some));
  }

  /** Draw where a hand holds the controls, between two states; the state is the nearest. @param {number[]} places */
  function follow(places) {
    const moved = store.controls.flatMap(({ name, states }, i) => {
      const next = Math.round(places[i]);
      return next === at[i] ? [] : [[name, states[next]]];
    });
    if (moved.length) act(Object.fromEntries(moved), 0, places);
    else glide.hold(places);
  }

  function drop() {
    glide.start(at.drawn ?? [...at], GLIDE);
  }

  /** Go on by so many states of the first slider, or of the first control where there is no slider. */
  function step(by) {
    const i = Math.max(0, store.controls.findIndex(({ kind }) => kind === "range"));
    const { name, states } = store.controls[i];
    const next = states[at[i] + by];
    if (next !== undefined) act({ [name]: next }, GLIDE);
  }

  return { act, follow, drop, step };
}
