// ------------------------------------------------------------------------------------------------ curves
// Lines have their names at their right ends, where Python found these apart and there is room. A handle is a point
// that is alone, or a moment: a vertical line whose foot is taken by hand.

const NAME_SIZE = 13;
const LINE_HEIGHT = 15;
const DASHES = ["none", "8 4", "2 3", "9 3 2 3", "14 5"];
const LEAST_NAMED = 300; // pixels of a plot whose lines have their names at their ends
const FEW = 8; // places that are marked, each with its number below: a line between them was not measured

/** How far along an axis a number lies, as a part of it. */
const along = (value, [low, high], scale) =>
  scale === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low || 1);

/** Where numbers lie in a plot: the two maps from numbers to pixels of its box. */
function scales(xLimits, limits, box, xScale = "linear", yScale = "linear") {
  const px = (x) => box.left + along(x, xLimits, xScale) * (box.right - box.left);
  const py = (y) => box.bottom - along(y, limits, yScale) * (box.bottom - box.top);
  return { px, py };
}

/** A path through the finite values; a gap where there are none. */
function trace(x, y, px, py) {
  let path = "";
  let pen = "M";
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(y[i]) || !Number.isFinite(x[i])) {
      pen = "M";
      continue;
    }
    path += `${pen}${px(x[i]).toFixed(2)} ${py(y[i]).toFixed(2)}`;
    pen = "L";
  }
  return path;
}

/** Dots as strokes of no length with round ends. */
function dots(x, y, px, py) {
  let path = "";
  for (let i = 0; i < x.length; i++) {
    if (Number.isFinite(x[i]) && Number.isFinite(y[i])) path += `M${px(x[i]).toFixed(2)} ${py(y[i]).toFixed(2)}h0`;
  }
  return path;
}

/** A piece of a line for a legend, with its dashes. */
const sampleOf = (look, dash) =>
  make(
    "svg",
    { class: "sample", viewBox: "0 0 28 8", "aria-hidden": "true" },
    make("path", { d: "M0 4H28", class: look, "stroke-dasharray": dash }),
  );

function curves(read, hand) {
  const names = read.first("names");
  const pointNames = read.first("point_names");
  const momentNames = read.first("moment_names");
  const handles = read.first("handles");
  const frame = make("g", { class: "frame" });
  const ghosts = names.map(() => make("path", { class: "line ghost" }));
  const lines = names.map((name) => make("path", { "data-name": name, class: "line" }));
  const isFew = read.shape("x")[0] <= FEW;
  const knots = isFew ? names.map(() => make("path", { class: "knot" })) : [];
  const clouds = pointNames.map((name) => make("path", { "data-points": name, class: "points" }));
  const tags = pointNames.map((name) => make("text", { class: "tag" }, name)); // of points that are alone
  const ends = names.map((name) => make("text", { class: "end" }, name)); // where a line ends, if there is room
  const bead = () => make("circle", { class: "bead", r: 4 });
  const moments = momentNames.map((name) => {
    const tag = make("text", { class: "tag" }, name);
    return make("g", { class: "moment", "data-name": name }, make("line"), tag, ...names.map(bead));
  });
  const grips = handles.map(() => make("circle", { r: 12, "data-color": "ink" }));
  const rails = handles.map(() => make("line", { class: "rail" })); // of a moment: taken anywhere on its line
  const hair = make("line", { class: "hair", visibility: "hidden" });
  const beads = names.map(() => make("circle", { class: "bead", r: 4, visibility: "hidden" }));
  const drawn = [frame, moments, ghosts, lines, knots, clouds, tags, ends, hair, beads, rails, grips].flat();
  const svg = make("svg", { role: "img", class: "plot" }, ...drawn);
  const cursor = make("div", { class: "cursor", role: "slider", tabindex: 0, "aria-label": "Read the curves at" });
  const key = make("p", { class: "legend" });
  const note = make("p", { class: "coincide" });
  const caption = make("figcaption");
  const stage = make("div", { class: "stage" }, svg, ...(names.length ? [cursor] : []));
  const hint = hintOf(handles.some(({ name }) => momentNames.includes(name)) ? "the line" : "the point", handles);
  const figure = make("figure", { class: "curves" }, caption, stage, key, note, hint);
  const widestName = Math.max(0, ...names.map((name) => textWidth(name, NAME_SIZE, 600)));
  let now = null;
  let compared = null;
  let at = null; // the place that is read, an index of x
  let plot = null;
  let wide = 480; // until it is known

  function update(state) {
    now = {
      state,
      ...read.now(state),
      lines: linesOf(state),
      drawn: names.map((_, i) => read.blend(`line_${i}`, state)),
      drawnX: read.blend("x", state),
      drawnPoints: pointNames.map((_, i) => [read.blend(`points_x_${i}`, state), read.blend(`points_y_${i}`, state)]),
      points: pointNames.map((_, i) => [read(`points_x_${i}`, state), read(`points_y_${i}`, state)]),
      drawnMoments: read.blend("moments", state) ?? [],
    };
    setText(caption, now.caption);
    set(svg, { "aria-label": sentence() });
    const last = Math.max(now.x.length - 1, 0);
    set(cursor, { "aria-valuemin": 0, "aria-valuemax": last, "aria-valuenow": at ?? middle() });
    draw();
    if (at !== null) tell();
  }

  const linesOf = (state) => names.map((_, i) => read(`line_${i}`, state));

  const middle = () => Math.floor(now.x.length / 2);

  /** What the picture shows, for those who do not see it. */
  function sentence() {
    const last = now.x.length - 1;
    const said = names.map((name, i) => {
      const line = now.lines[i];
      return `${name} goes from ${told(line[0])} at ${told(now.x[0])} to ${told(line[last])} at ${told(now.x[last])}`;
    });
    const several = (name, i) => `${now.points[i][0].length} points, ${name}`;
    const counted = pointNames.map((name, i) => (isAlone(i) ? placeOf(name) : several(name, i)));
    return `${now.caption || "Curves"}: ${[...said, ...counted, ...momentNames.map(placeOf)].join("; ")}.`;
  }

  const isAlone = (i) => now.points[i][0].length === 1;

  /** A point that is alone, or a moment, in words. */
  function placeOf(name) {
    const i = pointNames.indexOf(name);
    if (i < 0) return `${name} at ${told(now.moments[momentNames.indexOf(name)])}`;
    return `${name} at ${now.points[i].map(([part]) => told(part)).join(", ")}`;
  }

  function draw() {
    const usual = (wide) => Math.round(read.small ? clamp(wide * 0.7, 90, 150) : clamp(wide * 0.5, 180, 280));
    const [width, height] = hand.room(stage, wide, usual);
    const isDirect = read.first("direct") && !read.small && width >= LEAST_NAMED && widestName < 0.28 * width;
    const beside = grips.length ? 16 : 8; // lines' names stand as far off as a grip is wide
    const right = width - (isDirect ? widestName + 8 + beside : 16); // half of the last mark, such as 1000
    const top = now.axes[1] && !read.small ? 30 : moments.length ? 18 : 9;
    const labels = marksOf(now.limits, now.y_scale, read.small ? 2 : 4).map(({ label }) => textWidth(label, 13) + 12);
    const bottom = height - (read.small ? 20 : 38) - (grips.length ? 8 : 0);
    const box = { left: Math.max(read.small ? 30 : 46, ...labels), right, top, bottom };
    const { px, py } = scales(now.x_limits, now.limits, box, now.x_scale, now.y_scale);
    plot = { width, box, px, py, isDirect, beside };
    set(svg, { viewBox: `0 0 ${width} ${height}` });
    const scale = [...now.x_limits, ...now.limits, ...now.axes, ...now.colors];
    const signature = [width, height, ...scale, hand.hidesData()].join();
    if (signature !== svg.signature) {
      svg.signature = signature;
      drawFrame();
    }
    lines.forEach((path, i) => set(path, { d: trace(now.drawnX, now.drawn[i], px, py) }));
    knots.forEach((path, i) => set(path, { d: dots(now.drawnX, now.drawn[i], px, py) }));
    ghosts.forEach((path, i) => set(path, { d: compared ? trace(now.x, compared[i], px, py) : "" }));
    clouds.forEach((path, i) => set(path, { d: dots(...now.drawnPoints[i], px, py) }));
    tags.forEach((tag, i) => placeTag(tag, now.drawnPoints[i]));
    if (isDirect) placeEnds();
    moments.forEach((moment, i) => placeMoment(moment, now.drawnMoments[i]));
    grips.forEach((grip, i) => {
      const [x, y] = spotOf(handles[i].name, now.drawnPoints, now.drawnMoments);
      placeGrip(grip, [x, y]);
      if (momentNames.includes(handles[i].name)) set(rails[i], { x1: x, x2: x, y1: box.top, y2: y });
    });
    set(hair, { y1: box.top, y2: box.bottom });
    setText(note, coincidence());
    showHair();
  }

  function placeTag(tag, [[x, ...more], [y]]) {
    const seen = Number.isFinite(x) && Number.isFinite(y) && !more.length;
    set(tag, { visibility: seen ? "visible" : "hidden" });
    if (!seen) return;
    const end = plot.px(x) + 8 + 7 * tag.textContent.length; // about 7 pixels a letter
    const cut = end > (plot.isDirect ? plot.box.right : plot.width);
    const off = grips.length ? 15 : 8;
    set(tag, { "text-anchor": cut ? "end" : "start", x: plot.px(x) + (cut ? -off : off), y: plot.py(y) - 6 });
  }

  /** Names of lines at their right ends, as far from one another as they need. */
  function placeEnds() {
    const heights = now.drawn.map((line) => plot.py(line[line.length - 1]));
    const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
    const placed = [];
    order.forEach((i) => placed.push(Math.max(heights[i], (placed.at(-1) ?? -Infinity) + LINE_HEIGHT)));
    for (let k = placed.length - 1, low = plot.box.bottom; k >= 0; k--) {
      placed[k] = Math.min(placed[k], low);
      low = placed[k] - LINE_HEIGHT;
    }
    order.forEach((i, k) => set(ends[i], { x: plot.box.right + plot.beside, y: (placed[k] + 4).toFixed(1) }));
  }

  function placeMoment(moment, x) {
    const [line, tag, ...dots] = moment.children;
    const at = plot.px(x);
    set(line, { x1: at, x2: at, y1: plot.box.top, y2: plot.box.bottom });
    const half = (moment.half ??= textWidth(tag.textContent, 13) / 2);
    const middle = clamp(at, plot.box.left + half, plot.box.right - half); // it yields to the names beside the plot
    set(tag, { x: middle, y: plot.box.top - 5, "text-anchor": "middle" });
    dots.forEach((dot, i) => {
      const y = heightAt(now.drawn[i], x);
      set(dot, { cx: at, cy: Number.isFinite(y) ? y : 0, visibility: Number.isFinite(y) ? "inherit" : "hidden" });
    });
  }

  /** Where a line passes over a place, in pixels. */
  function heightAt(line, x) {
    const i = now.drawnX.findIndex((right) => right >= x);
    if (i < 0) return NaN;
    if (i === 0 || now.drawnX[i] === x) return plot.py(line[i]);
    const [left, right] = [plot.px(now.drawnX[i - 1]), plot.px(now.drawnX[i])];
    return plot.py(line[i - 1]) + ((plot.px(x) - left) / (right - left)) * (plot.py(line[i]) - plot.py(line[i - 1]));
  }

  /** Where a handle lies, in pixels: a point, or the foot of a moment. */
  function spotOf(name, points, places) {
    const i = pointNames.indexOf(name);
    if (i < 0) return [plot.px(places[momentNames.indexOf(name)]), plot.box.bottom];
    return [plot.px(points[i][0][0]), plot.py(points[i][1][0])];
  }

  /** Which lines lie on one another: the eye cannot tell. */
  function coincidence() {
    const groups = [];
    now.lines.forEach((line, i) => {
      const isNear = ([first]) => line.every((y, at) => Math.abs(plot.py(y) - plot.py(now.lines[first][at])) < 1);
      const group = groups.find(isNear);
      if (group) group.push(i);
      else groups.push([i]);
    });
    const together = groups.filter((group) => group.length > 1).map((group) => group.map((i) => names[i]));
    return together.map((some) => `${some.slice(0, -1).join(", ")} and ${some.at(-1)} lie on one another.`).join(" ");
  }

  function drawFrame() {
    const { box, px, py } = plot;
    const look = ({ value, label }) => (value === 0 ? "zero" : label ? "grid" : "grid minor");
    const under = box.bottom + (grips.length ? 24 : 16);
    const upright = (mark) => {
      const x = px(mark.value);
      return make("line", { x1: x, x2: x, y1: box.top, y2: box.bottom, class: look(mark) });
    };
    frame.replaceChildren(
      ...marksOf(now.limits, now.y_scale, read.small ? 2 : 4).flatMap((mark) => [
        make("line", { x1: box.left, x2: box.right, y1: py(mark.value), y2: py(mark.value), class: look(mark) }),
        textAt(box.left - 6, py(mark.value) + 4, "end", mark.label),
      ]),
      ...marksAcross().flatMap((mark) => [
        ...(now.x_scale === "log" ? [upright(mark)] : []),
        make("text", placeWithin(px(mark.value), mark.label, under), mark.label),
      ]),
      ...(read.small ? [] : [textAt(box.right, under + 16, "end", now.axes[0]), textAt(4, 12, "start", now.axes[1])]),
    );
    names.forEach((_, i) => {
      const look = { "data-color": now.colors[i], "stroke-dasharray": DASHES[i % DASHES.length] };
      const parts = [lines[i], ghosts[i], beads[i], ends[i], ...moments.map((moment) => moment.children[i + 2])];
      parts.forEach((part) => set(part, look));
      if (isFew) set(knots[i], { "data-color": now.colors[i] });
      set(ends[i], { visibility: plot.isDirect ? "visible" : "hidden" });
    });
    clouds.forEach((path, i) => set(path, { "data-color": now.colors[names.length + i] }));
    const entry = (name, i, sample) => make("span", { "data-color": now.colors[i] }, sample, name);
    const stroke = (i) => sampleOf("line", DASHES[i % DASHES.length]);
    const dot = () => make("i", { class: "dot", "aria-hidden": "true" });
    const axes = read.small ? [`${now.axes[0]} →`, `${now.axes[1]} ↑`].filter((words) => words.length > 2) : [];
    key.replaceChildren(
      ...axes.map((words) => make("span", { class: "axis" }, words)),
      ...names.flatMap((name, i) => (plot.isDirect && !hand.hidesData() ? [] : [entry(name, i, stroke(i))])),
      ...pointNames.flatMap((name, i) => (isAlone(i) ? [] : [entry(name, names.length + i, dot())])),
    );
  }

  /** The marks of the horizontal axis: few places are marked themselves, with as many numbers as there is room for. */
  function marksAcross() {
    const { box, px } = plot;
    if (!isFew || now.x_scale === "log" || !names.length) {
      return marksOf(now.x_limits, now.x_scale, Math.max(Math.min(8, (box.right - box.left) / 60), 2));
    }
    let end = -Infinity;
    return [...now.x].map((value) => {
      const half = textWidth(told(value), 13) / 2 + 2;
      const isFree = px(value) - half > end;
      if (isFree) end = px(value) + half;
      return { value, label: isFree ? told(value) : "" };
    });
  }

  /** A word in the middle of its mark, or at the picture's end where it would stand out; about 7 pixels a letter. */
  function placeWithin(x, word, y) {
    const isCut = x + 3.5 * word.length > plot.width;
    return { x: isCut ? plot.width : x, y, "text-anchor": isCut ? "end" : "middle" };
  }

  function showHair() {
    const seen = at === null ? "hidden" : "visible";
    set(hair, { visibility: seen });
    if (at !== null) set(hair, { x1: plot.px(now.x[at]), x2: plot.px(now.x[at]) });
    beads.forEach((bead, i) => {
      const y = at === null ? NaN : now.lines[i][at];
      set(bead, { visibility: Number.isFinite(y) ? "visible" : "hidden" });
      if (Number.isFinite(y)) set(bead, { cx: plot.px(now.x[at]), cy: plot.py(y) });
    });
  }

  function tell() {
    const where = `${now.axes[0] || "x"} = ${told(now.x[at])}: `;
    const values = names.map((name, i) => `${name} ${told(now.lines[i][at])}`).join(", ");
    const heights = now.lines.map((line) => plot.py(line[at])).filter(Number.isFinite);
    hand.tell(where, values, around(...inWindow(svg).to(plot.px(now.x[at]), Math.min(...heights, plot.box.bottom))));
    set(cursor, { "aria-valuenow": at, "aria-valuetext": where + values });
  }

  function point(index, lineName) {
    at = index;
    showHair();
    tell();
    const lit = { [now.axes[0]]: String(now.x[index]) };
    if (now.axis && lineName) {
      lit[now.axis] = lineName;
      mark(lineName);
    }
    hand.highlight(lit);
  }

  /** Let one line stand out; null for none. */
  function mark(name) {
    setClass(figure, "reading", names.includes(name));
    [lines, ends].forEach((parts) => parts.forEach((part, i) => setClass(part, "on", names[i] === name)));
  }

  function leave() {
    at = null;
    mark(null);
    showHair();
    hand.hideReadout();
  }

  /** Another panel points at a line's name, or at a place on the horizontal axis. */
  function highlight(lit) {
    mark(now.axis ? lit[now.axis] : null);
    const x = parseFloat(lit[now.axes[0]]);
    at = Number.isFinite(x) && names.length ? nearest((place) => Math.abs(place - x)) : null;
    showHair();
  }

  /** The place on the axis whose distance is least. */
  function nearest(distance) {
    let best = 0;
    now.x.forEach((x, i) => {
      if (distance(x) < distance(now.x[best])) best = i;
    });
    return best;
  }

  function closestLine(index, y) {
    const gaps = now.lines.map((line) => Math.abs(plot.py(line[index]) - y));
    return names[gaps.indexOf(Math.min(...gaps))];
  }

  const stop = follow(
    stage,
    (_, event) => {
      if (!names.length) return false;
      const [x, y] = inWindow(svg).from(event.clientX, event.clientY);
      const index = nearest((place) => Math.abs(plot.px(place) - x));
      point(index, closestLine(index, y));
      return true;
    },
    leave,
  );
  listen(cursor, "focus", () => cursor.matches(":focus-visible") && point(at ?? middle()));
  listen(cursor, "blur", leave);
  listen(cursor, "keydown", (event) => {
    const last = now.x.length - 1;
    const from = at ?? middle();
    const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 }[event.key];
    const to = by ? from + by : { Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    point(clamp(to, 0, last));
  });
  // -------------------------------------------------------------------------------------------- the handles

  handles.forEach(({ name, controls }, i) =>
    grab(grips[i], figure, hand, {
      controls,
      state: () => now.state,
      place(state) {
        const points = pointNames.map((_, k) => [read(`points_x_${k}`, state), read(`points_y_${k}`, state)]);
        return inWindow(svg).to(...spotOf(name, points, read("moments", state)));
      },
      start: leave,
      rail: rails[i],
      said: () => ["", placeOf(name)],
    }),
  );

  const lay = () => now && draw();
  const stopWatching = watchWidth(figure, (found) => {
    wide = found;
    lay();
  });

  const compare = (state) => (compared = state && linesOf(state));
  const stopAll = () => {
    stop();
    stopWatching();
  };
  const summary = () => handles.map(({ name }) => placeOf(name)).join(", ");
  const shown = { element: figure, legend: key, plot: () => plot, tall: true };
  return { ...shown, update, lay, highlight, compare, summary, stop: stopAll };
}

panelKinds.curves = curves;
