// ------------------------------------------------------------------------------------------------ plane
// Arrows and points with equal axes, so that an angle looks as large as it is; behind them areas and lines. A handle
// sets controls: an arrow's tip, or a point, is taken by hand (grab.js).

function plane(read, hand) {
  const [names, pointNames] = [read.first("names"), read.first("point_names")];
  const [lineNames, areaNames] = [read.first("line_names"), read.first("area_names")];
  const handles = read.first("handles");
  const placed = [...names, ...pointNames];
  const everything = [...placed, ...lineNames, ...areaNames];
  const isArea = ({ name }) => areaNames.includes(name);
  const dashOf = (name) => (lineNames.indexOf(name) === 1 ? "5 4" : "none");
  const colors = read.first("colors");
  const colored = (name) => ({ "data-color": colors[everything.indexOf(name)] });
  const thin = (name) => ({ class: "thin", "stroke-dasharray": dashOf(name), ...colored(name) });
  const frame = make("g", { class: "frame" });
  const ghosts = names.map((name) => make("path", { class: "arrow ghost", ...colored(name) }));
  const arrows = names.map((name) => make("path", { "data-name": name, class: "arrow", ...colored(name) }));
  const heads = names.map((name) => make("polygon", { class: "arrowhead", ...colored(name) }));
  const clouds = pointNames.map((name) => make("path", { "data-points": name, class: "points", ...colored(name) }));
  const tags = placed.map((name) => make("text", { class: "tag" }, name));
  const lines = lineNames.map((name) => make("path", thin(name)));
  const areas = areaNames.map((name) => make("path", { class: "area", ...colored(name) }));
  const clip = make("clipPath", { id: `attention-clip-${++serial}` }, make("rect"));
  const behind = make("g", { "clip-path": `url(#${clip.id})` }, ...areas, ...lines);
  const grips = handles.map(({ name }) => make("circle", { r: 12, ...colored(name) }));
  const drawn = [clip, frame, behind, ghosts, clouds, arrows, heads, tags, grips].flat();
  const svg = make("svg", { role: "img" }, ...drawn);
  const caption = make("figcaption");
  const many = pointNames.filter((_, i) => read.shape(`points_${i}`)[0] > 1); // too many to be named one by one
  const named = [...many, ...lineNames, ...areaNames];
  const sample = (name) =>
    many.includes(name) ? make("i", { class: "dot", "aria-hidden": "true" })
    : lineNames.includes(name) ? sampleOf("thin", dashOf(name))
    : make("i", { class: "patch area", "aria-hidden": "true" });
  const entries = named.map((name) => make("span", colored(name), sample(name), name));
  const legend = make("p", { class: "legend" }, ...entries);
  const isNamed = named.length && !read.small;
  const figure = make("figure", { class: "plane" }, caption, svg, isNamed ? legend : "", hintOf(handles));
  let now = null;
  let compared = null;
  let plot = null;

  /** What is drawn of a vector or a point. */
  const marksOfOne = (i) => [[...arrows, ...clouds][i], heads[i], tags[i]].filter(Boolean);
  // No veil hides what no control moves, nor what is moved by hand as a control is.
  placed.forEach((name, i) => {
    const isFixed = !read.moves(names[i] ? "vectors" : `points_${i - names.length}`);
    const isGiven = isFixed || handles.some((handle) => handle.name === name);
    marksOfOne(i).forEach((mark) => setClass(mark, "given", isGiven));
  });

  function update(state) {
    now = { points: [], ...read.whole(state) };
    setText(caption, now.caption);
    set(svg, { "aria-label": sentence() });
    draw();
  }

  /** @returns {[number, number]} */
  const tip = (vectors, i) => [vectors[2 * i], vectors[2 * i + 1]];
  const halves = (points) => [points.filter((_, i) => i % 2 === 0), points.filter((_, i) => i % 2 === 1)];

  function sentence() {
    const listed = (numbers) => Array.from(numbers, told).join(", ");
    const said = names.map((name, i) => `${name} points to ${listed(tip(now.vectors, i))}`);
    const lone = pointNames.map((name, i) => {
      const points = now.points[i];
      return points.length === 2 ? `${name} at ${listed(points)}` : `${points.length / 2} points, ${name}`;
    });
    return `${now.caption || "Plane"}: ${[...said, ...lone].join("; ")}.`;
  }

  function draw() {
    const [width, height] = hand.room(svg, (across) => Math.min(across, 380));
    const [[x0, x1], [y0, y1]] = [now.x_limits, now.limits];
    const [side, foot] = read.small ? [1, 0] : [46, 38]; // for the numbers
    const [across, up] = [width - side - (read.small ? 1 : 14), height - 12 - foot];
    const unit = Math.min(across / (x1 - x0), up / (y1 - y0)); // pixels, the same for both axes
    const left = side + (across - unit * (x1 - x0)) / 2;
    const box = { left, right: left + unit * (x1 - x0), top: 12, bottom: 12 + unit * (y1 - y0) };
    plot = { width, box, ...scales(now.x_limits, now.limits, box) };
    const { px, py } = plot;
    set(svg, { viewBox: `0 0 ${width} ${(box.bottom + foot).toFixed(0)}` });
    const signature = [width, height, now.x_limits, now.limits, now.axes].join();
    if (signature !== svg.signature && !read.small) {
      svg.signature = signature;
      const marks = [now.x_limits, now.limits].map((limits) => marksOf(limits, "linear", 4));
      const across = marks[0].map((mark) => ({ ...mark, isGrid: true }));
      drawAxes(frame, plot, across, marks[1], { names: now.axes, edge: left - 40, under: 16 });
    }
    set(clip.firstChild, { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
    const path = (corners) => trace(...halves(corners), px, py);
    names.forEach((_, i) => {
      drawArrow(arrows[i], tip(now.vectors, i), heads[i]);
      drawArrow(ghosts[i], compared ? tip(compared, i) : [NaN, NaN]);
    });
    clouds.forEach((cloud, i) => set(cloud, { d: dots(...halves(now.points[i]), px, py) }));
    placeTags();
    areas.forEach((area, i) => set(area, { d: `${path(now.areas[i])}Z` }));
    lines.forEach((line, i) => {
      const [count, length] = read.shape(`lines_${i}`);
      const pieces = times(count, (k) => now.lines[i].slice(2 * length * k, 2 * length * (k + 1)));
      set(line, { d: pieces.map(path).join("") });
    });
    grips.forEach((grip, i) => placeGrip(grip, spotOf(handles[i].name, now)));
  }

  /** Where a vector's tip, a point that is alone, or the middle one of an area's corners lies, in numbers. */
  function numbersOf(name, { vectors, points, areas }) {
    if (names.includes(name)) return tip(vectors, names.indexOf(name));
    if (pointNames.includes(name)) return [...points[pointNames.indexOf(name)].slice(0, 2)];
    const corners = areas[areaNames.indexOf(name)];
    return tip(corners, Math.floor(corners.length / 4));
  }

  /** The same in pixels. */
  function spotOf(name, there) {
    const [x, y] = numbersOf(name, there);
    return [plot.px(x), plot.py(y)];
  }

  function drawArrow(path, [x, y], head = null) {
    const [fromX, fromY, toX, toY] = [plot.px(0), plot.py(0), plot.px(x), plot.py(y)];
    const length = Math.hypot(toX - fromX, toY - fromY);
    const isSeen = length >= 1;
    const [dx, dy] = [(toX - fromX) / length, (toY - fromY) / length];
    const back = head ? Math.min(11, length) : 0;
    const [neckX, neckY] = [toX - back * dx, toY - back * dy];
    const end = [fromX, fromY, neckX, neckY].map((part) => part.toFixed(2));
    set(path, { d: isSeen ? `M${end[0]} ${end[1]}L${end[2]} ${end[3]}` : "" });
    const corners = [toX, toY, neckX - 5 * dy, neckY + 5 * dx, neckX + 5 * dy, neckY - 5 * dx];
    if (head) set(head, { points: isSeen ? corners.map((part) => part.toFixed(2)).join() : "" });
  }

  /** Put each name beside its place, where it lies on no arrow and on no other name. */
  function placeTags() {
    const tips = names.map((name) => spotOf(name, now));
    const clouds = now.points.map((points) =>
      times(points.length / 2, (i) => [plot.px(points[2 * i]), plot.py(points[2 * i + 1])]),
    );
    const origin = [plot.px(0), plot.py(0)];
    const on = (end, part) => [0, 1].map((axis) => origin[axis] + part * (end[axis] - origin[axis]));
    const occupied = tips.flatMap((end) => [
      ...[0.25, 0.5, 0.75].map((part) => around(...on(end, part), 5)),
      around(...end, handles.length ? 13 : 5),
    ]);
    occupied.push(...clouds.flat().map((spot) => around(...spot, 5)));
    [...tips, ...clouds.map((spots) => (spots.length > 1 ? null : spots[0]))].forEach((at, i) => {
      const tag = tags[i];
      const isSeen = at !== null && at.every(Number.isFinite);
      set(tag, { visibility: isSeen && !read.small ? "visible" : "hidden" });
      if (!isSeen) return;
      const width = 8 * tag.textContent.length;
      const places = [[10, -16], [-10 - width, -16], [10, 4], [-10 - width, 4], [-width / 2, -28], [-width / 2, 14]];
      const boxes = places.map(([dx, dy]) => new DOMRect(at[0] + dx, at[1] + dy, width, 14));
      const covered = (box) => occupied.filter((other) => overlap(box, other)).length;
      const best = boxes[placeOfLeast(boxes.map((box) => covered(box) + (isOutside(box) ? 9 : 0)))];
      occupied.push(best);
      set(tag, { x: best.left, y: best.bottom - 3 });
    });
  }

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
        return inWindow(svg).to(...spotOf(name, read.whole(state)));
      },
    });
  });

  // -------------------------------------------------------------------------------------------- reading

  function mark(name) {
    setClass(figure, "reading", placed.includes(name));
    placed.forEach((own, i) => marksOfOne(i).forEach((part) => setClass(part, "on", own === name)));
  }

  function readAt(_, event) {
    const { to } = inWindow(svg);
    const spots = placed.map((name) => to(...spotOf(name, now)));
    const gaps = spots.map(([x, y]) => Math.hypot(x - event.clientX, y - event.clientY));
    const nearest = placeOfLeast(gaps);
    if (!(gaps[nearest] < 30)) return false;
    const name = placed[nearest];
    mark(name);
    hand.tell(`${name}: `, numbersOf(name, now).map(told).join(", "), around(...spots[nearest], 10));
    hand.highlight({ [now.axis]: name });
    return true;
  }

  hand.reads(svg, readAt);
  const highlight = (lit) => mark(lit[now.axis]);
  const compare = (state) => (compared = state && read.whole(state).vectors);
  return { element: figure, update, lay: draw, highlight, compare, tall: true };
}

panelKinds.plane = plane;
