// ------------------------------------------------------------------------------------------------ grab
// A part of a picture that is taken by hand. It follows the finger freely, along the places where it lies in the stored
// states and between them; its numbers are those of the nearest state.

/**
 * @param {Element} grip what is taken @param {Element} figure which is dragged then @param {any} hand the explorer's
 * @param {{controls: string[], state: () => number[], place: (state: number[]) => number[], said: () => string[],
 *          start?: () => void, rail?: Element}} how  the controls that it moves, one or two; the present state; where
 *   the grip lies in a state, in pixels of the window; what is told beside the finger; a longer thing to take
 */
function grab(grip, figure, hand, { controls, state, place, said, start, rail }) {
  let held = null; // the way or the net of places, and how far from the grip's middle the finger took it

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

/** From a point to the places of the controls, in parts of a step, at which a grip lies nearest to it. */
function placesOf(axes, state, place) {
  const along = ([axis, count], from) => times(count, (i) => from.with(axis, i));
  if (axes.length === 1) {
    const way = along(axes[0], state).map(place);
    return (x, y) => state.with(axes[0][0], nearestOnWay(way, x, y).at);
  }
  const net = along(axes[0], state).map((row) => along(axes[1], row).map(place));
  return (x, y) => {
    const [first, second] = nearestInNet(net, x, y);
    return state.with(axes[0][0], first).with(axes[1][0], second);
  };
}

/** The nearest point of a way of straight pieces: where it lies on the way, and how far off. */
function nearestOnWay(way, x, y) {
  let best = { at: 0, gap: Infinity };
  way.forEach(([x0, y0], i) => {
    const [x1, y1] = way[i + 1] ?? [x0, y0];
    const square = (x1 - x0) ** 2 + (y1 - y0) ** 2;
    const part = square ? clamp(((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / square, 0, 1) : 0;
    const gap = Math.hypot(x0 + part * (x1 - x0) - x, y0 + part * (y1 - y0) - y);
    if (gap < best.gap) best = { at: i + part, gap };
  });
  return best;
}

/** The nearest point of a net: on the rows through it and on the columns, then between them. */
function nearestInNet(net, x, y) {
  const rows = net.map((row) => nearestOnWay(row, x, y));
  const first = rows.reduce((best, row, i) => (row.gap < rows[best].gap ? i : best), 0);
  const second = rows[first].at;
  const low = Math.floor(second);
  const between = ([x0, y0], [x1, y1]) => [x0 + (second - low) * (x1 - x0), y0 + (second - low) * (y1 - y0)];
  const column = net.map((row) => between(row[low], row[low + 1] ?? row[low]));
  return [nearestOnWay(column, x, y).at, second];
}

/** A line that says what can be taken by hand. @param {string} what of it @param {{name: string}[]} handles */
function hintOf(what, handles) {
  const names = handles.map(({ name }) => `“${name}”`);
  const listed = [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" or ");
  return make("p", { class: "hint" }, handles.length ? `Drag ${what} ${listed}.` : "");
}
