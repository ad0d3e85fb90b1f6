// ------------------------------------------------------------------------------------------------ plane
// Arrows and points with equal axes, so that an angle looks as large as it is. A handle sets controls: dragging an
// arrow's tip chooses the state whose tip lies nearest to the finger.

const MARKS = 3; // round, square and small: clouds of one colour are told apart by them

function plane(read, hand) {
  const names = read.first("names");
  const pointNames = read.first("point_names");
  const frame = make("g", { class: "frame" });
  const ghosts = names.map(() => make("path", { class: "arrow ghost" }));
  const arrows = names.map((name) => make("path", { "data-name": name, class: "arrow" }));
  const heads = names.map(() => make("polygon", { class: "arrowhead" }));
  const clouds = pointNames.map((name) => make("path", { "data-points": name, class: "points" }));
  const tags = [...names, ...pointNames].map((name) => make("text", { class: "tag" }, name));
  const handle = read.first("handle");
  const grip = make("circle", { class: "grip", r: 12 });
  const svg = make("svg", { role: "img" }, frame, ...ghosts, ...clouds, ...arrows, ...heads, ...tags, ...(handle ? [grip] : []));
  const caption = make("figcaption");
  const hint = make("p", { class: "hint" }, handle ? `Drag the tip of ${handle.name}.` : "");
  const many = pointNames.filter((_, i) => read.first(`points_${i}`).length > 2); // too many to be named one by one
  const legend = make("p", { class: "legend" }, ...many.map((name, i) => make("span", {}, make("i", { class: "dot", "data-mark": i % MARKS, "aria-hidden": "true" }), name)));
  many.forEach((name, i) => set(clouds[pointNames.indexOf(name)], { "data-mark": i % MARKS }));
  const figure = make("figure", { class: "plane" }, caption, svg, ...(many.length ? [legend] : []), ...(handle ? [hint] : []));
  let now = null;
  let pinned = null;
  let plot = null;

  function update(state) {
    now = {
      state,
      caption: read("caption", state),
      vectors: read("vectors", state),
      points: pointNames.map((_, i) => read(`points_${i}`, state)),
      axes: read("axes", state),
      axis: read("axis", state),
      colors: read("colors", state),
      xLimits: read("x_limits", state),
      limits: read("limits", state),
    };
    setText(caption, now.caption);
    set(svg, { "aria-label": sentence() });
    draw();
  }

  /** @returns {[number, number]} */
  const tip = (vectors, i) => [vectors[2 * i], vectors[2 * i + 1]];

  function sentence() {
    const said = names.map((name, i) => `${name} points to ${tip(now.vectors, i).map((part) => told(part)).join(", ")}`);
    const lone = pointNames.map((name, i) =>
      now.points[i].length === 2 ? `${name} at ${[...now.points[i]].map((part) => told(part)).join(", ")}` : `${now.points[i].length / 2} points, ${name}`,
    );
    return `${now.caption || "Plane"}: ${[...said, ...lone].join("; ")}.`;
  }

  function draw() {
    const width = figure.clientWidth || 360;
    const [[x0, x1], [y0, y1]] = [now.xLimits, now.limits];
    const [across, up] = [width - 46 - 14, Math.min(width, 380) - 50];
    const unit = Math.min(across / (x1 - x0), up / (y1 - y0)); // pixels, the same for both axes
    const left = 46 + (across - unit * (x1 - x0)) / 2;
    const box = { left, right: left + unit * (x1 - x0), top: 12, bottom: 12 + unit * (y1 - y0) };
    plot = { width, unit, box, ...scales(now.xLimits, now.limits, box) };
    set(svg, { viewBox: `0 0 ${width} ${(box.bottom + 38).toFixed(0)}` });
    const signature = [width, ...now.xLimits, ...now.limits, ...now.axes, ...now.colors].join();
    if (signature !== svg.signature) {
      svg.signature = signature;
      drawFrame();
    }
    names.forEach((_, i) => {
      drawArrow(arrows[i], tip(now.vectors, i), heads[i]);
      drawArrow(ghosts[i], pinned ? tip(pinned, i) : [NaN, NaN]);
    });
    clouds.forEach((path, i) => set(path, { d: dots(...halves(now.points[i]), plot.px, plot.py) }));
    placeTags();
    if (handle) {
      const [x, y] = tip(now.vectors, names.indexOf(handle.name));
      set(grip, { cx: plot.px(x), cy: plot.py(y) });
    }
  }

  const halves = (points) => [points.filter((_, i) => i % 2 === 0), points.filter((_, i) => i % 2 === 1)];

  function drawFrame() {
    const { box, px, py } = plot;
    const text = (x, y, anchor, words) => make("text", { x, y, "text-anchor": anchor }, words);
    const grid = (at) => (at === 0 ? "zero" : "grid");
    const marks = ([low, high]) => ticks(low, high, 4);
    frame.replaceChildren(
      ...marks(now.limits).flatMap((y) => [
        make("line", { x1: box.left, x2: box.right, y1: py(y), y2: py(y), class: grid(y) }),
        text(box.left - 6, py(y) + 4, "end", told(y)),
      ]),
      ...marks(now.xLimits).flatMap((x) => [
        make("line", { x1: px(x), x2: px(x), y1: box.top, y2: box.bottom, class: grid(x) }),
        text(px(x), box.bottom + 16, "middle", told(x)),
      ]),
      text(box.right, box.bottom + 33, "end", now.axes[0]),
      text(4, box.top - 1, "start", now.axes[1] ? `${now.axes[1]} ↑` : ""),
    );
    names.forEach((_, i) => [arrows[i], ghosts[i], heads[i]].forEach((part) => set(part, { "data-color": now.colors[i] })));
    clouds.forEach((path, i) => set(path, { "data-color": now.colors[names.length + i] }));
    many.forEach((name, i) => set(legend.children[i], { "data-color": now.colors[names.length + pointNames.indexOf(name)] }));
    if (handle) set(grip, { "data-color": now.colors[names.indexOf(handle.name)] });
  }

  function drawArrow(path, [x, y], head = null) {
    const [fromX, fromY, toX, toY] = [plot.px(0), plot.py(0), plot.px(x), plot.py(y)];
    const length = Math.hypot(toX - fromX, toY - fromY);
    if (!Number.isFinite(length) || length < 1) {
      set(path, { d: "" });
      if (head) set(head, { points: "" });
      return;
    }
    const [dx, dy] = [(toX - fromX) / length, (toY - fromY) / length];
    const back = Math.min(11, length);
    const [neckX, neckY] = [toX - back * dx, toY - back * dy];
    const stop = head ? [neckX, neckY] : [toX, toY];
    set(path, { d: `M${fromX.toFixed(2)} ${fromY.toFixed(2)}L${stop[0].toFixed(2)} ${stop[1].toFixed(2)}` });
    const corners = [[toX, toY], [neckX - 5 * dy, neckY + 5 * dx], [neckX + 5 * dy, neckY - 5 * dx]];
    if (head) set(head, { points: corners.map((corner) => corner.map((part) => part.toFixed(2)).join()).join(" ") });
  }

  /** Put each name beside its place, where it lies on no arrow and on no other name. */
  function placeTags() {
    const tips = names.map((_, i) => tip(now.vectors, i)).map(([x, y]) => [plot.px(x), plot.py(y)]);
    const origin = [plot.px(0), plot.py(0)];
    const along = (end) => [0.25, 0.5, 0.75, 1].map((part) => [0, 1].map((axis) => origin[axis] + part * (end[axis] - origin[axis])));
    const lone = now.points.map((point) => (point.length === 2 ? [plot.px(point[0]), plot.py(point[1])] : null));
    const crowds = now.points.filter((points) => points.length > 2).flatMap((points) => {
      const [xs, ys] = halves(points);
      return [...xs].map((x, i) => [plot.px(x), plot.py(ys[i])]);
    });
    const taken = [...tips.flatMap(along), ...lone.filter(Boolean), ...crowds].map(([x, y], i) =>
      around(x, y, i < 4 * tips.length && i % 4 === 3 && handle ? 13 : 5),
    );
    [...tips, ...lone].forEach((at, i) => {
      const tag = tags[i];
      set(tag, { visibility: at && at.every(Number.isFinite) ? "visible" : "hidden" });
      if (!at || !at.every(Number.isFinite)) return;
      const width = 7 * tag.textContent.length;
      const places = [[10, -16], [-10 - width, -16], [10, 4], [-10 - width, 4], [-width / 2, -26], [-width / 2, 12]];
      const boxes = places.map(([dx, dy]) => new DOMRect(at[0] + dx, at[1] + dy, width, 14));
      const costs = boxes.map((box) => taken.filter((other) => overlap(box, other)).length + (isOutside(box) ? 9 : 0));
      const best = boxes[costs.indexOf(Math.min(...costs))];
      taken.push(best);
      set(tag, { x: best.left, y: best.bottom - 3 });
    });
  }

  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const isOutside = (box) => box.left < 0 || box.right > plot.width || box.top < 0 || box.bottom > plot.box.bottom + 14;

  // -------------------------------------------------------------------------------------------- the handle

  /** Every state of the handle's controls, the others as they are, with the tip that is stored for it. */
  function candidates() {
    let states = [now.state];
    handle.controls.forEach((name) => {
      const [axis, count] = hand.axis(name);
      states = states.flatMap((state) => Array.from({ length: count }, (_, at) => state.map((old, i) => (i === axis ? at : old))));
    });
    const which = names.indexOf(handle.name);
    return states.map((state) => ({ state, tip: tip(read("vectors", state), which) }));
  }

  let dragged = null;
  const drag = (event) => {
    const frame = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const distance = ({ tip: [tipX, tipY] }) => Math.hypot(plot.px(tipX) - x, plot.py(tipY) - y);
    let best = dragged[0];
    for (const candidate of dragged) if (distance(candidate) < distance(best)) best = candidate;
    hand.moveTo(best.state);
    const which = names.indexOf(handle.name);
    hand.tell(`${handle.name}: `, tip(now.vectors, which).map((part) => told(part)).join(", "), around(x + frame.left, y + frame.top, 16));
  };
  if (handle) {
    grip.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      grip.setPointerCapture(event.pointerId);
      dragged = candidates();
      figure.classList.add("dragging");
      drag(event);
    });
    grip.addEventListener("pointermove", (event) => dragged && drag(event));
    const drop = () => {
      dragged = null;
      figure.classList.remove("dragging");
      hand.hush();
    };
    grip.addEventListener("pointerup", drop);
    grip.addEventListener("pointercancel", drop);
  }

  // -------------------------------------------------------------------------------------------- reading

  function mark(name) {
    const all = [...names, ...pointNames];
    figure.classList.toggle("reading", all.includes(name));
    [...arrows, ...clouds].forEach((part, i) => part.classList.toggle("on", all[i] === name));
    heads.forEach((part, i) => part.classList.toggle("on", names[i] === name));
    tags.forEach((part, i) => part.classList.toggle("on", all[i] === name));
  }

  const stop = follow(
    svg,
    (_, event) => {
      if (dragged) return true;
      const frame = svg.getBoundingClientRect();
      const places = [...names.map((_, i) => tip(now.vectors, i)), ...now.points.map((point) => [...point.slice(0, 2)])];
      const gaps = places.map(([x, y]) => Math.hypot(plot.px(x) - event.clientX + frame.left, plot.py(y) - event.clientY + frame.top));
      const nearest = gaps.indexOf(Math.min(...gaps));
      if (!(gaps[nearest] < 30)) return false;
      const [name, [x, y]] = [[...names, ...pointNames][nearest], places[nearest]];
      mark(name);
      hand.tell(`${name}: `, `${told(x)}, ${told(y)}`, around(frame.left + plot.px(x), frame.top + plot.py(y), 10));
      hand.light({ [now.axis]: name });
      return true;
    },
    () => {
      if (dragged) return;
      mark(null);
      hand.hush();
    },
  );
  const resized = new ResizeObserver(() => now && draw());
  resized.observe(figure);

  const light = (lit) => mark(lit[now.axis]);
  const pin = (state) => (pinned = state && read("vectors", state));
  const summary = () => (handle ? sentence() : "");
  const stopAll = () => {
    stop();
    resized.disconnect();
  };
  return { element: figure, update, light, pin, summary, stop: stopAll };
}
