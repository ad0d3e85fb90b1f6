// ------------------------------------------------------------------------------------------------ grab
// A part of a picture that is taken by hand. It follows the finger freely, along the places where it lies in the stored
// states and between them; its numbers are those of the nearest state.

/**
 * @param {Element} grip what is taken @param {Element} figure which is dragged then @param {any} hand the explorer's
 * @param {{controls: string[], state: () => number[], place: (state: number[]) => number[], said: () => string[],
 *          start?: () => void, rail?: Element}} how  the controls that it moves, one by one; the present state; where
 *   the grip lies in a state, in pixels of the window; what is told beside the finger; a longer thing to take
 */
function grab(grip, figure, hand, { controls, state, place, said, start, rail }) {
  let held = null; // the places on its ways, and how far from the grip's middle the finger took it

  grip.classList.add("grip");
  const take = (event) => {
    event.preventDefault();
    event.stopPropagation();
    grip.setPointerCapture(event.pointerId);
    const [x, y] = place(state());
    held = { places: placesOf(controls.map(hand.axis), state(), place), dx: x - event.clientX, dy: y - event.clientY };
    start?.();
    setClass(figure, "dragging", true);
    move(event);
  };
  const move = (event) => {
    if (!held) return;
    const [x, y] = [event.clientX + held.dx, event.clientY + held.dy];
    hand.follow(held.places(x, y));
    hand.tell(...said(), around(event.clientX, event.clientY, 16));
  };
  const drop = () => {
    if (!held) return;
    held = null;
    hand.endDrag();
    setClass(figure, "dragging", false);
    hand.hideReadout();
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

/** From a point to the places of the controls, in parts of a step, at which a grip lies nearest to it: one by one. */
function placesOf(axes, state, place) {
  const ways = {}; // of each axis, through the others' nearest states
  return (x, y) => {
    for (const [axis, count] of axes) {
      const from = state.map(Math.round).with(axis, 0);
      const way = (ways[`${axis} ${from}`] ??= times(count, (i) => place(from.with(axis, i))));
      state = state.with(axis, nearestOnWay(way, x, y));
    }
    return state;
  };
}

/** Where on a way of straight pieces a point's nearest place lies. */
function nearestOnWay(way, x, y) {
  let best = { at: 0, gap: Infinity };
  way.forEach(([x0, y0], i) => {
    const [x1, y1] = way[i + 1] ?? [x0, y0];
    const square = (x1 - x0) ** 2 + (y1 - y0) ** 2;
    const part = square ? clamp(((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / square, 0, 1) : 0;
    const gap = Math.hypot(x0 + part * (x1 - x0) - x, y0 + part * (y1 - y0) - y);
    if (gap < best.gap) best = { at: i + part, gap };
  });
  return best.at;
}

/** A line that says what can be taken by hand. @param {string} what of it @param {{name: string}[]} handles */
function hintOf(what, handles) {
  const names = handles.map(({ name }) => `“${name}”`);
  const listed = [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" or ");
  return make("p", { class: "hint" }, handles.length ? `Drag ${what} ${listed}.` : "");
}
