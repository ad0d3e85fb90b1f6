// ------------------------------------------------------------------------------------------------ curves

/** Where numbers lie in a plot: its box in pixels, and the two maps from numbers to pixels. */
function scales([x0, x1], [y0, y1], box) {
  const px = (x) => box.left + ((x - x0) / (x1 - x0 || 1)) * (box.right - box.left);
  const py = (y) => box.bottom - ((y - y0) / (y1 - y0 || 1)) * (box.bottom - box.top);
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

function curves(read, hand) {
  const names = read.first("names");
  const pointNames = read.first("point_names");
  const frame = make("g", { class: "frame" });
  const ghosts = names.map(() => make("path", { class: "line ghost" }));
  const lines = names.map((name) => make("path", { "data-name": name, class: "line" }));
  const clouds = pointNames.map((name) => make("path", { "data-points": name, class: "points" }));
  const tags = pointNames.map((name) => make("text", { class: "tag" }, name)); // of points that are alone
  const hair = make("line", { class: "hair", visibility: "hidden" });
  const beads = names.map(() => make("circle", { class: "bead", r: 4, visibility: "hidden" }));
  const svg = make("svg", { role: "img" }, frame, ...ghosts, ...lines, ...clouds, ...tags, hair, ...beads);
  const cursor = make("div", { class: "cursor", role: "slider", tabindex: 0, "aria-label": "Read the curves at" });
  const key = make("p", { class: "legend" });
  const note = make("p", { class: "coincide" });
  const caption = make("figcaption");
  const digits = names.map((_, i) => (read.kind(`line_${i}`) === "f2" ? 3 : 4));
  const stage = make("div", { class: "stage" }, svg, ...(names.length ? [cursor] : []));
  const figure = make("figure", { class: "curves" }, caption, stage, key, note);
  let now = null;
  let pinned = null;
  let at = null; // the place that is read, an index of x
  let plot = null;

  function update(state) {
    now = {
      caption: read("caption", state),
      x: read("x", state),
      lines: linesOf(state),
      points: pointNames.map((_, i) => [read(`points_x_${i}`, state), read(`points_y_${i}`, state)]),
      labels: read("axes", state),
      axis: read("axis", state),
      colors: read("colors", state),
      xLimits: read("x_limits", state),
      limits: read("limits", state),
    };
    setText(caption, now.caption);
    set(svg, { "aria-label": sentence() });
    set(cursor, { "aria-valuemin": 0, "aria-valuemax": Math.max(now.x.length - 1, 0), "aria-valuenow": at ?? middle() });
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
      return `${name} goes from ${told(line[0], digits[i])} at ${told(now.x[0])} to ${told(line[last], digits[i])} at ${told(now.x[last])}`;
    });
    const counted = pointNames.map((name, i) => `${now.points[i][0].length} points, ${name}`);
    return `${now.caption || "Curves"}: ${[...said, ...counted].join("; ")}.`;
  }

  function draw() {
    const width = figure.clientWidth || 480;
    const height = Math.round(Math.min(Math.max(width * 0.5, 180), 280));
    const box = { left: 46, right: width - 12, top: 10, bottom: height - 38 };
    const { px, py } = scales(now.xLimits, now.limits, box);
    plot = { width, box, px, py };
    set(svg, { viewBox: `0 0 ${width} ${height}` });
    const signature = [width, ...now.xLimits, ...now.limits, ...now.labels, ...now.colors].join();
    if (signature !== svg.signature) {
      svg.signature = signature;
      drawFrame();
    }
    lines.forEach((path, i) => set(path, { d: trace(now.x, now.lines[i], px, py) }));
    ghosts.forEach((path, i) => set(path, { d: pinned ? trace(now.x, pinned[i], px, py) : "" }));
    clouds.forEach((path, i) => set(path, { d: dots(...now.points[i], px, py) }));
    tags.forEach((tag, i) => placeTag(tag, now.points[i]));
    set(hair, { y1: box.top, y2: box.bottom });
    setText(note, coincidence());
    showHair();
  }

  function placeTag(tag, [[x, ...more], [y]]) {
    const seen = Number.isFinite(x) && Number.isFinite(y) && !more.length;
    set(tag, { visibility: seen ? "visible" : "hidden" });
    if (!seen) return;
    const cut = plot.px(x) + 8 + 7 * tag.textContent.length > plot.width; // about 7 pixels a letter
    set(tag, { "text-anchor": cut ? "end" : "start", x: plot.px(x) + (cut ? -8 : 8), y: plot.py(y) - 6 });
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
    const text = (x, y, anchor, words) => make("text", { x, y, "text-anchor": anchor }, words);
    frame.replaceChildren(
      ...ticks(...now.limits, 4).flatMap((y) => [
        make("line", { x1: box.left, x2: box.right, y1: py(y), y2: py(y), class: y === 0 ? "zero" : "grid" }),
        text(box.left - 6, py(y) + 4, "end", told(y)),
      ]),
      ...ticks(...now.xLimits, Math.min(8, (box.right - box.left) / 60)).map((x) =>
        text(px(x), box.bottom + 16, "middle", told(x)),
      ),
      text(box.right, box.bottom + 33, "end", now.labels[0]),
    );
    names.forEach((_, i) => {
      const look = { "data-color": now.colors[i], "data-dash": i % 5 };
      [lines[i], ghosts[i], beads[i]].forEach((part) => set(part, look));
    });
    clouds.forEach((path, i) => set(path, { "data-color": now.colors[names.length + i] }));
    const entry = (name, i, kind) =>
      make(
        "span",
        { "data-color": now.colors[i] },
        kind === "stroke" ? sample(i % 5) : make("i", { class: "dot", "aria-hidden": "true" }),
        name,
      );
    key.replaceChildren(
      ...names.map((name, i) => entry(name, i, "stroke")),
      ...pointNames.map((name, i) => entry(name, names.length + i, "dot")),
    );
    if (now.labels[1]) key.prepend(make("span", { class: "axis" }, `${now.labels[1]} ↑`));
  }

  /** A piece of a line for the legend, with its dashes. */
  const sample = (dash) =>
    make(
      "svg",
      { class: "sample", viewBox: "0 0 28 8", "aria-hidden": "true" },
      make("path", { d: "M0 4H28", class: "line", "data-dash": dash }),
    );

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
    const where = `${now.labels[0] || "x"} = ${told(now.x[at])}: `;
    const values = names.map((name, i) => `${name} ${told(now.lines[i][at], digits[i])}`).join(", ");
    const frame = svg.getBoundingClientRect();
    const heights = now.lines.map((line) => plot.py(line[at])).filter(Number.isFinite);
    hand.tell(where, values, around(frame.left + plot.px(now.x[at]), frame.top + Math.min(...heights, plot.box.bottom)));
    set(cursor, { "aria-valuenow": at, "aria-valuetext": where + values });
  }

  function point(index, lineName) {
    at = index;
    showHair();
    tell();
    const lit = { [now.labels[0]]: String(now.x[index]) };
    if (now.axis && lineName) {
      lit[now.axis] = lineName;
      mark(lineName);
    }
    hand.light(lit);
  }

  /** Let one line stand out; null for none. */
  function mark(name) {
    figure.classList.toggle("reading", names.includes(name));
    lines.forEach((line, i) => line.classList.toggle("on", names[i] === name));
  }

  function leave() {
    at = null;
    mark(null);
    showHair();
    hand.hush();
  }

  /** Another panel points at a line's name, or at a place on the horizontal axis. */
  function light(lit) {
    mark(now.axis ? lit[now.axis] : null);
    const x = parseFloat(lit[now.labels[0]]);
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
      const frame = svg.getBoundingClientRect();
      const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
      const index = nearest((place) => Math.abs(plot.px(place) - x));
      point(index, closestLine(index, y));
      return true;
    },
    leave,
  );
  cursor.addEventListener("focus", () => cursor.matches(":focus-visible") && point(at ?? middle()));
  cursor.addEventListener("blur", leave);
  cursor.addEventListener("keydown", (event) => {
    const last = now.x.length - 1;
    const from = at ?? middle();
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, PageDown: from - 10, PageUp: from + 10, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    point(Math.min(Math.max(to, 0), last));
  });
  const resized = new ResizeObserver(() => now && draw());
  resized.observe(figure);

  const pin = (state) => (pinned = state && linesOf(state));
  const stopAll = () => {
    stop();
    resized.disconnect();
  };
  return { element: figure, update, light, pin, summary: () => "", stop: stopAll };
}
