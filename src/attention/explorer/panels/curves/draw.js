// ------------------------------------------------------------------------------------------------ curves
// Lines have their names at their right ends, where Python found these apart and there is room. A handle is a point
// that is alone, or a moment: a vertical line whose foot is taken by hand.

const NAME_SIZE = 13;
const LINE_HEIGHT = 15;
const DASHES = ["none", "8 4", "2 3", "9 3 2 3", "14 5"];
const LEAST_NAMED = 380; // pixels of a plot whose lines have their names at their ends
const FEW = 8; // places that are marked, each with its number below: a line between them was not measured

function curves(read, hand) {
  const names = read.first("names");
  const pointNames = read.first("point_names");
  const momentNames = read.first("moment_names");
  const handles = read.first("handles");
  const isFew = read.shape("x")[0] <= FEW;
  const colors = read.first("colors").map((color) => ({ "data-color": color })); // of lines, then of points
  const dashes = names.map((_, i) => ({ ...colors[i], "stroke-dasharray": DASHES[i % DASHES.length] }));
  const colorOf = (name) => colors[names.length + pointNames.indexOf(name)];
  const bead = (_, i) => make("circle", { class: "bead", r: 4, ...colors[i] });
  const frame = make("g", { class: "frame" });
  const ghosts = names.map((_, i) => make("path", { class: "line ghost", ...dashes[i] }));
  const lines = names.map((name, i) => make("path", { "data-name": name, class: "line", ...dashes[i] }));
  const knots = isFew ? names.map((_, i) => make("path", { class: "knot", ...colors[i] })) : [];
  const clouds = pointNames.map((name) => make("path", { "data-points": name, class: "points", ...colorOf(name) }));
  const tags = pointNames.map((name) => make("text", { class: "tag" }, name)); // of points that are alone
  const ends = names.map((name, i) => make("text", { class: "end", ...colors[i] }, name)); // if there is room
  const upright = (kind, name) => {
    const tag = make("text", { class: "tag", "text-anchor": "middle" }, name);
    return make("g", { class: kind, "data-name": name }, make("line"), tag, ...names.map(bead));
  };
  const moments = momentNames.map((name) => upright("moment", name));
  const hair = upright("hair", ""); // where the lines are read
  const grips = handles.map(() => make("circle", { r: 12, "data-color": "ink" }));
  const rails = handles.map(() => make("line", { class: "rail" })); // of a moment: taken anywhere on its line
  const drawn = [frame, moments, ghosts, lines, knots, clouds, tags, ends, hair, rails, grips].flat();
  const svg = make("svg", { role: "img", class: "plot" }, ...drawn);
  const cursor = make("div", { class: "cursor", role: "slider", tabindex: 0, "aria-label": "Read the curves at" });
  const key = make("p", { class: "legend" });
  const caption = make("figcaption");
  const stage = make("div", { class: "stage" }, svg, ...(names.length ? [cursor] : []));
  const figure = make("figure", { class: "curves" }, caption, stage, key, hintOf(handles));
  const widestName = Math.max(0, ...names.map((name) => textWidth(name, NAME_SIZE, 600)));
  let now = null;
  let compared = null;
  let isAsked = false; // a question hides its lines, or did
  let at = null; // the place that is read, an index of x
  let plot = null;

  function update(state) {
    now = { line: [], moments: [], ...read.whole(state) };
    setText(caption, now.caption);
    set(svg, { "aria-label": sentence() });
    const last = Math.max(now.x.length - 1, 0);
    set(cursor, { "aria-valuemin": 0, "aria-valuemax": last, "aria-valuenow": at ?? middle() });
    draw();
    if (at !== null) tell();
  }

  const middle = () => Math.floor(now.x.length / 2);
  const isAlone = (i) => now.points_x[i].length === 1;

  /** What the picture shows, for those who do not see it. */
  function sentence() {
    const said = names.map((name, i) => {
      const line = now.line[i];
      const last = Math.max(line.findLastIndex(Number.isFinite), 0); // the rest is not drawn yet
      return `${name} goes from ${told(line[0])} at ${told(now.x[0])} to ${told(line[last])} at ${told(now.x[last])}`;
    });
    const points = pointNames.map((name, i) =>
      isAlone(i) ? placeOf(name) : `${now.points_x[i].length} points, ${name}`,
    );
    return `${now.caption || "Curves"}: ${[...said, ...points, ...momentNames.map(placeOf)].join("; ")}.`;
  }

  /** A point that is alone, or a moment, in words. */
  function placeOf(name) {
    const i = pointNames.indexOf(name);
    if (i < 0) return `${name} at ${told(now.moments[momentNames.indexOf(name)])}`;
    return `${name} at ${told(now.points_x[i][0])}, ${told(now.points_y[i][0])}`;
  }

  function draw() {
    const usual = (wide) => Math.round(read.small ? clamp(wide * 0.7, 90, 150) : clamp(wide * 0.5, 220, 280));
    const [width, height] = hand.room(stage, usual);
    const isDirect = read.first("direct") && !read.small && width >= LEAST_NAMED && widestName < 0.28 * width;
    const beside = grips.length ? 16 : 8; // lines' names stand as far off as a grip is wide
    const right = width - (isDirect ? widestName + 8 + beside : 16); // half of the last mark, such as 1000
    const top = now.axes[1] && !read.small ? 30 : moments.length ? 18 : 9;
    const up = marksOf(now.limits, now.y_scale, read.small ? 2 : 4);
    const left = Math.max(read.small ? 30 : 46, ...up.map(({ label }) => textWidth(label, 13) + 12));
    const box = { left, right, top, bottom: height - (read.small ? 20 : 38) - (grips.length ? 18 : 0) };
    plot = { width, box, isDirect, beside, ...scales(now.x_limits, now.limits, box, now.x_scale, now.y_scale) };
    const { px, py } = plot;
    set(svg, { viewBox: `0 0 ${width} ${height}` });
    const signature = [width, height, now.x_limits, now.limits, now.axes, hand.hidesData()].join();
    if (signature !== svg.signature) {
      svg.signature = signature;
      drawFrame(up);
    }
    const { x, line, points_x, points_y } = now;
    lines.forEach((path, i) => set(path, { d: trace(x, line[i], px, py) }));
    knots.forEach((path, i) => set(path, { d: dots(x, line[i], px, py) }));
    ghosts.forEach((path, i) => set(path, { d: compared ? trace(x, compared[i], px, py) : "" }));
    clouds.forEach((path, i) => set(path, { d: dots(points_x[i], points_y[i], px, py) }));
    tags.forEach((tag, i) => placeTag(tag, points_x[i], points_y[i][0]));
    if (isDirect) placeEnds();
    moments.forEach((moment, i) => placeUpright(moment, now.moments[i]));
    grips.forEach((grip, i) => {
      const [x, y] = spotOf(handles[i].name, now);
      placeGrip(grip, [x, y]);
      if (momentNames.includes(handles[i].name)) set(rails[i], { x1: x, x2: x, y1: box.top, y2: y });
    });
    showHair();
  }

  function placeTag(tag, [x, ...more], y) {
    const isSeen = Number.isFinite(x) && Number.isFinite(y) && !more.length;
    set(tag, { visibility: isSeen ? "visible" : "hidden" });
    if (!isSeen) return;
    const end = plot.px(x) + 8 + 7 * tag.textContent.length; // about 7 pixels a letter
    const isCut = end > (plot.isDirect ? plot.box.right : plot.width);
    const off = grips.length ? 15 : 8;
    const place = { x: plot.px(x) + (isCut ? -off : off), y: plot.py(y) - 6 };
    set(tag, { "text-anchor": isCut ? "end" : "start", ...place });
  }

  /** Names of lines at their right ends, as far from one another as they need. */
  function placeEnds() {
    const heights = now.line.map((line) => plot.py(line.at(-1)));
    const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
    const placed = [];
    order.forEach((i) => placed.push(Math.max(heights[i], (placed.at(-1) ?? -Infinity) + LINE_HEIGHT)));
    for (let k = placed.length - 1, low = plot.box.bottom; k >= 0; k--) {
      placed[k] = Math.min(placed[k], low);
      low = placed[k] - LINE_HEIGHT;
    }
    order.forEach((i, k) => set(ends[i], { x: plot.box.right + plot.beside, y: (placed[k] + 4).toFixed(1) }));
  }

  /** A line over a place, and a bead on each line that passes it. */
  function placeUpright(moment, x) {
    const [line, tag, ...beads] = moment.children;
    const at = plot.px(x);
    set(line, { x1: at, x2: at, y1: plot.box.top, y2: plot.box.bottom });
    const half = (moment.half ??= textWidth(tag.textContent, 13) / 2);
    const middle = clamp(at, plot.box.left + half, plot.box.right - half); // it yields to the names beside the plot
    set(tag, { x: middle, y: plot.box.top - 5 });
    beads.forEach((bead, i) => {
      const y = heightAt(now.x, now.line[i], x);
      const isSeen = Number.isFinite(y);
      set(bead, { cx: at, cy: isSeen ? y : 0, visibility: isSeen ? "inherit" : "hidden" });
    });
  }

  /** Where a line passes over a place, in pixels. */
  function heightAt(xs, line, x) {
    const known = xs.indexOf(x);
    if (known >= 0) return plot.py(line[known]);
    const i = xs.findIndex((right) => right >= x);
    if (i < 1) return NaN;
    const [left, right] = [plot.px(xs[i - 1]), plot.px(xs[i])];
    return plot.py(line[i - 1]) + ((plot.px(x) - left) / (right - left)) * (plot.py(line[i]) - plot.py(line[i - 1]));
  }

  /** Where a handle lies in a state, in pixels: a point, or below a moment, where it covers no value. */
  function spotOf(name, { points_x, points_y, moments }) {
    const i = pointNames.indexOf(name);
    if (i < 0) return [plot.px(moments[momentNames.indexOf(name)]), plot.box.bottom + 10];
    return [plot.px(points_x[i][0]), plot.py(points_y[i][0])];
  }

  function drawFrame(up) {
    const words = { names: read.small ? ["", ""] : now.axes, edge: 4, under: grips.length ? 34 : 16 };
    drawAxes(frame, plot, marksAcross(), up, words);
    ends.forEach((end) => set(end, { visibility: plot.isDirect ? "visible" : "hidden" }));
    const dot = () => make("i", { class: "dot", "aria-hidden": "true" });
    const axes = read.small ? [`${now.axes[0]} →`, `${now.axes[1]} ↑`].filter((words) => words.length > 2) : [];
    isAsked ||= hand.hidesData();
    const isListed = !plot.isDirect || hand.hidesData();
    const listed = isListed || isAsked ? names : []; // after an answer unseen, so that the figure stays as high
    const visibility = `visibility: ${isListed ? "inherit" : "hidden"}`;
    const many = pointNames.filter((_, i) => !isAlone(i));
    key.replaceChildren(
      ...axes.map((words) => make("span", { class: "axis" }, words)),
      ...listed.map((name, i) =>
        make("span", { ...colors[i], style: visibility }, sampleOf("line", dashes[i]["stroke-dasharray"]), name),
      ),
      ...many.map((name) => make("span", colorOf(name), dot(), name)),
    );
  }

  /** The marks of the horizontal axis: few places are marked themselves, with as many numbers as there is room for. */
  function marksAcross() {
    const { box, px } = plot;
    const isLog = now.x_scale === "log";
    if (!isFew || isLog || !names.length) {
      const count = Math.max(Math.min(8, (box.right - box.left) / 60), 2);
      return marksOf(now.x_limits, now.x_scale, count).map((mark) => ({ ...mark, isGrid: isLog }));
    }
    let end = -Infinity;
    return [...now.x].map((value) => {
      const half = textWidth(told(value), 13) / 2 + 2;
      const isFree = px(value) - half > end;
      if (isFree) end = px(value) + half;
      return { value, label: isFree ? told(value) : "" };
    });
  }

  // -------------------------------------------------------------------------------------------- reading

  function showHair() {
    set(hair, { visibility: at === null ? "hidden" : "visible" });
    if (at !== null) placeUpright(hair, now.x[at]);
  }

  function tell() {
    const where = `${now.axes[0] || "x"} = ${told(now.x[at])}: `;
    const values = names.map((name, i) => `${name} ${told(now.line[i][at])}`).join(", ");
    const heights = now.line.map((line) => plot.py(line[at])).filter(Number.isFinite);
    hand.tell(where, values, around(...inWindow(svg).to(plot.px(now.x[at]), Math.min(...heights, plot.box.bottom))));
    set(cursor, { "aria-valuenow": at, "aria-valuetext": where + values });
  }

  function point(index, lineName) {
    at = index;
    showHair();
    tell();
    if (now.axis) mark(lineName);
    hand.highlight({ [now.axes[0]]: String(now.x[index]), ...(lineName && { [now.axis]: lineName }) });
  }

  /** Let one line stand out; null for none. */
  function mark(name) {
    setClass(figure, "reading", names.includes(name));
    [lines, ends].forEach((parts) => parts.forEach((part, i) => setClass(part, "on", names[i] === name)));
  }

  /** Another panel points at a line's name, or at a place on the horizontal axis. */
  function highlight(lit) {
    mark(now.axis ? lit[now.axis] : null);
    const x = parseFloat(lit[now.axes[0]]);
    at = Number.isFinite(x) && names.length ? nearest((place) => Math.abs(place - x)) : null;
    showHair();
  }

  /** The place on the axis whose distance is least. */
  const nearest = (distance) => placeOfLeast(Array.from(now.x, distance));

  function readAt(_, event) {
    if (!names.length) return false;
    const [x, y] = inWindow(svg).from(event.clientX, event.clientY);
    const index = nearest((place) => Math.abs(plot.px(place) - x));
    point(index, names[placeOfLeast(now.line.map((line) => Math.abs(plot.py(line[index]) - y)))]);
    return true;
  }
  const leave = hand.reads(stage, readAt);
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

  handles.forEach(({ name, controls }, i) =>
    grab(grips[i], figure, hand, {
      controls,
      state: () => now.state,
      place: (state) => inWindow(svg).to(...spotOf(name, read.whole(state))),
      rail: rails[i],
    }),
  );

  const compare = (state) => (compared = state && read.whole(state).line);
  return { element: figure, legend: key, plot: () => plot, tall: true, update, lay: draw, highlight, compare };
}

panelKinds.curves = curves;
