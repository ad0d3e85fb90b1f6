// ------------------------------------------------------------------------------------------------ plane
// Arrows and points with equal axes, so that an angle looks as large as it is; behind them areas, lines, and joins that
// are stronger for a larger weight. A handle sets controls: an arrow's tip, or a point, is taken by hand (grab.js).

function plane(read, hand) {
  const names = read.first("names");
  const pointNames = read.first("point_names");
  const lineNames = read.first("line_names");
  const areaNames = read.first("area_names");
  const joinNames = read.first("join_names");
  const frame = make("g", { class: "frame" });
  const ghosts = names.map(() => make("path", { class: "arrow ghost" }));
  const arrows = names.map((name) => make("path", { "data-name": name, class: "arrow" }));
  const heads = names.map(() => make("polygon", { class: "arrowhead" }));
  const clouds = pointNames.map((name) => make("path", { "data-points": name, class: "points" }));
  const tags = [...names, ...pointNames].map((name) => make("text", { class: "tag" }, name));
  const dashOf = (name) => (lineNames.indexOf(name) === 1 ? "5 4" : "none");
  const thin = (name) => ({ "data-name": name, class: "thin", "stroke-dasharray": dashOf(name) });
  const lines = lineNames.map((name) => make("path", thin(name)));
  const areas = areaNames.map((name) => make("path", { "data-name": name, class: "area" }));
  const joins = joinNames.map(([from, to], i) => {
    const lines = Array.from(read.first(`joins_${i}`), () => make("line"));
    return make("g", { "data-join": `${from} ${to}`, "data-color": "weights" }, ...lines);
  });
  const clip = make("clipPath", { id: `attention-clip-${++serial}` }, make("rect"));
  const behind = make("g", { "clip-path": `url(#${clip.id})` }, ...areas, ...lines);
  const handles = read.first("handles");
  const isArea = ({ name }) => areaNames.includes(name);
  // No veil hides what no control moves, nor what is moved by hand as a control is.
  [...names, ...pointNames].forEach((name, i) => {
    const isFixed = !read.moves(names[i] ? "vectors" : `points_${i - names.length}`);
    const isGiven = isFixed || handles.some((handle) => handle.name === name);
    [[...arrows, ...clouds][i], heads[i], tags[i]].forEach((mark) => mark?.classList.toggle("given", isGiven));
  });
  const grips = handles.map(() => make("circle", { r: 12 }));
  const drawn = [clip, frame, behind, joins, ghosts, clouds, arrows, heads, tags, grips].flat();
  const svg = make("svg", { role: "img" }, ...drawn);
  const caption = make("figcaption");
  const single = names.includes(handles[0]?.name) ? "the tip of" : "the point";
  const what = handles.some(isArea) ? "an arrow’s tip, or" : single;
  const hint = hintOf(what, handles.some(isArea) ? handles.filter(isArea) : handles);
  const many = pointNames.filter((_, i) => read.first(`points_${i}`).length > 2); // too many to be named one by one
  const named = [...many, ...lineNames, ...areaNames];
  const sample = (name) =>
    many.includes(name) ? make("i", { class: "dot", "aria-hidden": "true" })
    : lineNames.includes(name) ? sampleOf("thin", dashOf(name))
    : make("i", { class: "patch area", "aria-hidden": "true" });
  const legend = make("p", { class: "legend" }, ...named.map((name) => make("span", {}, sample(name), name)));
  const words = named.length && !read.small ? [legend, hint] : [hint];
  const figure = make("figure", { class: "plane" }, caption, svg, ...words);
  let now = null;
  let compared = null;
  let plot = null;
  let wide = 360; // until it is known

  function update(state) {
    now = {
      state,
      ...read.now(state),
      points: pointNames.map((_, i) => read(`points_${i}`, state)),
      drawn: read.blend("vectors", state),
      drawnPoints: pointNames.map((_, i) => read.blend(`points_${i}`, state)),
      drawnLines: lineNames.map((_, i) => read.blend(`lines_${i}`, state)),
      drawnAreas: areaNames.map((_, i) => read.blend(`areas_${i}`, state)),
      drawnJoins: joinNames.map((_, i) => read.blend(`joins_${i}`, state)),
      joins: joinNames.map((_, i) => read(`joins_${i}`, state)),
    };
    setText(caption, now.caption);
    set(svg, { "aria-label": sentence() });
    draw();
  }

  /** @returns {[number, number]} */
  const tip = (vectors, i) => [vectors[2 * i], vectors[2 * i + 1]];

  function sentence() {
    const listed = (numbers) => Array.from(numbers, told).join(", ");
    const said = names.map((name, i) => `${name} points to ${listed(tip(now.vectors, i))}`);
    const lone = pointNames.map((name, i) => {
      const points = now.points[i];
      return points.length === 2 ? `${name} at ${listed(points)}` : `${points.length / 2} points, ${name}`;
    });
    const strength = (weights) => (weights.length > 3 ? "their weights" : listed(weights));
    const joined = joinNames.map(([from, to], i) => `${from} joined to ${to} by ${strength(now.joins[i])}`);
    return `${now.caption || "Plane"}: ${[...said, ...lone, ...joined].join("; ")}.`;
  }

  function draw() {
    const [width, height] = hand.room(svg, wide, (across) => Math.min(across, 380));
    const [[x0, x1], [y0, y1]] = [now.x_limits, now.limits];
    const [side, foot] = read.small ? [1, 0] : [46, 38]; // for the numbers
    const [across, up] = [width - side - (read.small ? 1 : 14), height - 12 - foot];
    const unit = Math.min(across / (x1 - x0), up / (y1 - y0)); // pixels, the same for both axes
    const left = side + (across - unit * (x1 - x0)) / 2;
    const box = { left, right: left + unit * (x1 - x0), top: 12, bottom: 12 + unit * (y1 - y0) };
    plot = { width, unit, box, ...scales(now.x_limits, now.limits, box) };
    set(svg, { viewBox: `0 0 ${width} ${(box.bottom + foot).toFixed(0)}` });
    const signature = [width, height, ...now.x_limits, ...now.limits, ...now.axes, ...now.colors].join();
    if (signature !== svg.signature) {
      svg.signature = signature;
      drawFrame();
    }
    names.forEach((_, i) => {
      drawArrow(arrows[i], tip(now.drawn, i), heads[i]);
      drawArrow(ghosts[i], compared ? tip(compared, i) : [NaN, NaN]);
    });
    clouds.forEach((path, i) => set(path, { d: dots(...halves(now.drawnPoints[i]), plot.px, plot.py) }));
    placeTags();
    areas.forEach((path, i) => set(path, { d: `${trace(...halves(now.drawnAreas[i]), plot.px, plot.py)}Z` }));
    lines.forEach((path, i) => set(path, { d: polylines(now.drawnLines[i], read.shape(`lines_${i}`)[1]) }));
    joins.forEach((group, i) => drawJoins(group, joinNames[i], now.drawnJoins[i]));
    grips.forEach((grip, i) => {
      const [x, y] = spotOf(handles[i].name, now.drawn, now.drawnPoints, now.drawnAreas);
      placeGrip(grip, [plot.px(x), plot.py(y)]);
    });
  }

  /** A vector's tip, a point that is alone, or the middle one of an area's corners. */
  function spotOf(name, vectors, points, areas) {
    if (names.includes(name)) return tip(vectors, names.indexOf(name));
    if (pointNames.includes(name)) return [...points[pointNames.indexOf(name)]];
    const corners = areas[areaNames.indexOf(name)];
    return tip(corners, Math.floor(corners.length / 4));
  }

  /** Several lines of so many corners each, one behind the other. */
  function polylines(corners, length) {
    const pieces = [];
    for (let at = 0; at < corners.length; at += 2 * length) {
      pieces.push(trace(...halves(corners.slice(at, at + 2 * length)), plot.px, plot.py));
    }
    return pieces.join("");
  }

  function drawJoins(group, [from, to], weights) {
    const [x, y] = spotOf(from, now.drawn, now.drawnPoints);
    const isVector = names.includes(to);
    const [xs, ys] = halves(isVector ? tip(now.drawn, names.indexOf(to)) : now.drawnPoints[pointNames.indexOf(to)]);
    [...group.children].forEach((line, i) => {
      const part = now.most ? Math.min(weights[i] / now.most, 1) : 0;
      set(line, { x1: plot.px(x), y1: plot.py(y), x2: plot.px(xs[i]), y2: plot.py(ys[i]) });
      set(line, { "stroke-width": 0.5 + 4.5 * part, "stroke-opacity": 0.85 * Math.sqrt(part) });
    });
  }

  const halves = (points) => [points.filter((_, i) => i % 2 === 0), points.filter((_, i) => i % 2 === 1)];

  function drawFrame() {
    const { box, px, py } = plot;
    const grid = (at) => (at === 0 ? "zero" : "grid");
    const marks = ([low, high]) => ticks(low, high, 4);
    if (!read.small) frame.replaceChildren(
      ...marks(now.limits).flatMap((y) => [
        make("line", { x1: box.left, x2: box.right, y1: py(y), y2: py(y), class: grid(y) }),
        textAt(box.left - 6, py(y) + 4, "end", told(y)),
      ]),
      ...marks(now.x_limits).flatMap((x) => [
        make("line", { x1: px(x), x2: px(x), y1: box.top, y2: box.bottom, class: grid(x) }),
        textAt(px(x), box.bottom + 16, "middle", told(x)),
      ]),
      textAt(box.right, box.bottom + 33, "end", now.axes[0]),
      textAt(box.left - 40, box.top - 1, "start", now.axes[1]),
    );
    [arrows, ghosts, heads].forEach((all) => all.forEach((part, i) => set(part, { "data-color": now.colors[i] })));
    clouds.forEach((path, i) => set(path, { "data-color": now.colors[names.length + i] }));
    const colorOf = (name) => now.colors[[...names, ...pointNames, ...lineNames, ...areaNames].indexOf(name)];
    named.forEach((name, i) => set(legend.children[i], { "data-color": colorOf(name) }));
    [lines, areas].forEach((parts) => parts.forEach((part) => set(part, { "data-color": colorOf(part.dataset.name) })));
    grips.forEach((grip, i) => set(grip, { "data-color": colorOf(handles[i].name) }));
    set(clip.firstChild, { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
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
    const tips = names.map((_, i) => tip(now.drawn, i)).map(([x, y]) => [plot.px(x), plot.py(y)]);
    const origin = [plot.px(0), plot.py(0)];
    const on = (end, part) => [0, 1].map((axis) => origin[axis] + part * (end[axis] - origin[axis]));
    const along = (end) => [0.25, 0.5, 0.75, 1].map((part) => on(end, part));
    const lone = now.drawnPoints.map((point) => (point.length === 2 ? [plot.px(point[0]), plot.py(point[1])] : null));
    const crowds = now.drawnPoints.filter((points) => points.length > 2).flatMap((points) => {
      const [xs, ys] = halves(points);
      return [...xs].map((x, i) => [plot.px(x), plot.py(ys[i])]);
    });
    const occupied = [...tips.flatMap(along), ...lone.filter(Boolean), ...crowds].map(([x, y], i) =>
      around(x, y, i < 4 * tips.length && i % 4 === 3 && handles.length ? 13 : 5),
    );
    [...tips, ...lone].forEach((at, i) => {
      const tag = tags[i];
      set(tag, { visibility: !read.small && at && at.every(Number.isFinite) ? "visible" : "hidden" });
      if (!at || !at.every(Number.isFinite)) return;
      const width = 8 * tag.textContent.length;
      const places = [[10, -16], [-10 - width, -16], [10, 4], [-10 - width, 4], [-width / 2, -28], [-width / 2, 14]];
      const boxes = places.map(([dx, dy]) => new DOMRect(at[0] + dx, at[1] + dy, width, 14));
      const covered = (box) => occupied.filter((other) => overlap(box, other)).length;
      const costs = boxes.map((box) => covered(box) + (isOutside(box) ? 9 : 0));
      const best = boxes[costs.indexOf(Math.min(...costs))];
      occupied.push(best);
      set(tag, { x: best.left, y: best.bottom - 3 });
    });
  }

  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const isOutside = (box) => box.left < 0 || box.right > plot.width || box.top < 0 || box.bottom > plot.box.bottom + 14;

  // -------------------------------------------------------------------------------------------- the handles

  handles.forEach((handle, i) => {
    const { name, controls } = handle;
    const [[first], [second, count] = []] = controls.map(hand.axis);
    let from = []; // the state in which an area was taken: its second control goes as far as its first
    const along = (places) =>
      isArea(handle) ? places.with(second, from[second] + places[first] - from[first]) : places;
    grab(grips[i], figure, { ...hand, follow: (places) => hand.follow(along(places)) }, {
      controls: isArea(handle) ? [controls[0]] : controls,
      state: () => (from = [...now.state]),
      place(places) {
        const state = along(places);
        if (isArea(handle) && !(state[second] >= 0 && state[second] < count)) return [NaN, NaN];
        const all = (kind, some) => some.map((_, k) => read(`${kind}_${k}`, state));
        const [x, y] = spotOf(name, read("vectors", state), all("points", pointNames), all("areas", areaNames));
        return inWindow(svg).to(plot.px(x), plot.py(y));
      },
      start: () => mark(null), // what is dragged is seen against all else
      said: () =>
        isArea(handle) ? ["", now.caption] : [`${name}: `, spotOf(name, now.vectors, now.points).map(told).join(", ")],
    });
  });

  // -------------------------------------------------------------------------------------------- reading

  function mark(name) {
    const all = [...names, ...pointNames];
    setClass(figure, "reading", all.includes(name));
    [...arrows, ...clouds].forEach((part, i) => setClass(part, "on", all[i] === name));
    heads.forEach((part, i) => setClass(part, "on", names[i] === name));
    tags.forEach((part, i) => setClass(part, "on", all[i] === name));
  }

  const stop = follow(
    svg,
    (_, event) => {
      const { to } = inWindow(svg);
      const places = names.map((_, i) => tip(now.vectors, i));
      places.push(...now.points.map((point) => [...point.slice(0, 2)]));
      const spots = places.map(([x, y]) => to(plot.px(x), plot.py(y)));
      const gaps = spots.map(([x, y]) => Math.hypot(x - event.clientX, y - event.clientY));
      const nearest = gaps.indexOf(Math.min(...gaps));
      if (!(gaps[nearest] < 30)) return false;
      const [name, [x, y]] = [[...names, ...pointNames][nearest], places[nearest]];
      mark(name);
      hand.tell(`${name}: `, `${told(x)}, ${told(y)}`, around(...spots[nearest], 10));
      hand.highlight({ [now.axis]: name });
      return true;
    },
    () => {
      mark(null);
      hand.hideReadout();
    },
  );
  const lay = () => now && draw();
  const stopWatching = watchWidth(figure, (found) => {
    wide = found;
    lay();
  });

  const highlight = (lit) => mark(lit[now.axis]);
  const compare = (state) => (compared = state && read("vectors", state));
  const summary = () => (handles.length ? sentence() : "");
  const stopAll = () => {
    stop();
    stopWatching();
  };
  return { element: figure, update, lay, highlight, compare, summary, stop: stopAll, tall: true };
}

panelKinds.plane = plane;
