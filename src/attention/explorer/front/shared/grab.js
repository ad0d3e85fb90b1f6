// ------------------------------------------------------------------------------------------------ grab
// A part of a picture that is taken by hand. It follows the finger to the nearest of the places where it lies in the
// stored states.

/**
 * @param {Element} grip what is taken @param {Element} figure which is dragged then @param {any} hand the explorer's
 * @param {{controls: string[], state: () => number[], place: (state: number[]) => number[], rail?: Element}} how  the
 *   controls that it moves, one by one; the present state; where the grip lies in a state, in pixels of the window; a
 *   longer thing to take
 */
function grab(grip, figure, hand, { controls, state, place, rail }) {
  let held = null; // the places on its ways, and how far from the grip's middle the finger took it

  grip.classList.add("grip");
  const take = (event) => {
    event.preventDefault();
    event.stopPropagation();
    grip.setPointerCapture(event.pointerId);
    const [x, y] = place(state());
    held = { nearest: makeNearest(controls.map(hand.axis), state(), place), dx: x - event.clientX, dy: y - event.clientY };
    hand.hideReadout(); // it would lie on what changes, which is seen against all else
    setClass(figure, "dragging", true);
    move(event);
  };
  const move = (event) => {
    if (!held) return;
    const [x, y] = [event.clientX + held.dx, event.clientY + held.dy];
    hand.follow(held.nearest(x, y));
  };
  const drop = () => {
    if (!held) return;
    held = null;
    setClass(figure, "dragging", false);
  };
  listen(grip, "pointerdown", take);
  if (rail) listen(rail, "pointerdown", take);
  listen(grip, "pointermove", move);
  listen(grip, "pointerup", drop);
  listen(grip, "pointercancel", drop);
}

/** Put a grip in its place, if it has one. @param {Element} grip @param {number[]} at */
function placeGrip(grip, [x, y]) {
  const isSeen = Number.isFinite(x + y);
  set(grip, { visibility: isSeen ? "visible" : "hidden", cx: isSeen ? x : 0, cy: isSeen ? y : 0 });
}

/** From a point to the state in which a grip lies nearest to it, found by one control after the other. */
function makeNearest(axes, state, place) {
  const ways = {}; // of each control, where the others stand so: the places of its states
  return (x, y) => {
    for (const [axis, count] of axes) {
      const from = state.with(axis, 0);
      const way = (ways[`${axis} ${from}`] ??= times(count, (i) => place(from.with(axis, i))));
      const gaps = way.map((at) => Math.hypot(at[0] - x, at[1] - y));
      const best = placeOfLeast(gaps.map((gap) => (Number.isFinite(gap) ? gap : Infinity)));
      if (!(gaps[state[axis]] <= gaps[best])) state = state.with(axis, best); // what moves nothing stays
    }
    return state;
  };
}

/** A line that says what can be taken by hand. @param {{name: string}[]} handles */
function hintOf(handles) {
  const names = handles.map(({ name }) => `“${name}”`);
  const listed = [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" or ");
  return make("p", { class: "hint" }, handles.length ? `Drag ${listed}.` : "");
}
