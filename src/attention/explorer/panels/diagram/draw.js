// ------------------------------------------------------------------------------------------------ diagram
// Boxes for tensors, with their shapes; arrows for operations. Python says in which row and column a box stands.

// Where the wide one does not fit, the tight one stands.
const WIDE = { label: 15, shape: 14, padding: 10, gapX: 26, gapY: 28, around: 18, wraps: false };
const TIGHT = { label: 13, shape: 13, padding: 3, gapX: 6, gapY: 36, around: 8, wraps: true };
const LEAST_SCALE = 0.95; // a smaller picture scrolls
const LINE = 15; // pixels from line to line in a box

function diagram(read, hand) {
  const svg = make("svg", { role: read.first("boxes").some((box) => box.link) ? "group" : "img" });
  const caption = make("figcaption");
  const figure = make("figure", { class: "diagram" }, caption, make("div", { class: "scroller" }, svg));
  const parts = [read.items("boxes").flat(), read.items("arrows").flat()];
  const wide = layout(...parts, WIDE);
  const tight = layout(...parts, TIGHT);
  let now = null;

  function update(state) {
    now = read.whole(state);
    setText(caption, now.caption);
    set(svg, { "aria-label": now.alt });
    draw();
  }

  function draw() {
    const { boxes, arrows } = now;
    const grid = hand.width() * hand.scale() < wide.width ? tight : wide;
    set(svg, { viewBox: `0 0 ${grid.width} ${grid.height}` });
    svg.style.width = `${grid.width}px`;
    svg.style.minWidth = `${LEAST_SCALE * grid.width}px`;
    const places = Object.fromEntries(boxes.map((box) => [box.name, grid.place(box)]));
    const all = Object.values(places);
    const routes = arrows.map(({ from, to }) => route(places[from], places[to], all));
    const labels = placeLabels(arrows, routes, all, grid.width);
    setClass(svg, "tight", grid === tight);
    setClass(svg, "dim", boxes.some((box) => box.lit) || arrows.some((arrow) => arrow.lit));
    svg.replaceChildren(
      ...arrows.map((arrow, i) => drawArrow(arrow, routes[i])),
      ...boxes.map((box) => drawBox(box, places[box.name], grid.linesOf(box))),
      ...arrows.flatMap((arrow, i) => (arrow.label ? [drawLabel(arrow, labels[i])] : [])),
    );
  }

  const look = (kind, part) => (part.lit ? `${kind} lit` : kind);

  const drawLabel = (arrow, at) =>
    make("g", { class: look("operation", arrow) }, make("text", at, ...scripted(arrow.label)));

  function drawBox(box, at, lines) {
    const words = lines.map((line, i) => {
      const y = lines.length === 1 ? at.top + at.height / 2 + 5 : at.top + 22 + i * LINE + (i ? 3 : 0);
      const place = { x: at.left + at.width / 2, y, "text-anchor": "middle" };
      return make("text", { class: i ? "shape" : "label", ...place }, ...scripted(line));
    });
    const frame = make("rect", { x: at.left, y: at.top, width: at.width, height: at.height, rx: 6 });
    const attributes = { class: look("box", box), "data-box": box.name, "data-color": box.color };
    const group = make("g", attributes, frame, ...words);
    return box.link ? opening(box, group) : group;
  }

  /** A box that says what it is, and in the book opens the page that explains it. */
  function opening({ label, says, link }, group) {
    const element = document.createElementNS(svg.namespaceURI, "a");
    const isInBook = /\/book\/[^/]+\.html$/.test(location.pathname);
    set(element, { "aria-label": `${label}: ${says}`, href: isInBook ? link : null });
    element.append(group);
    const tell = () => hand.tell(`${label}: `, says, rectOf(group));
    ["pointerenter", "focus"].forEach((kind) => listen(element, kind, tell));
    ["pointerleave", "blur"].forEach((kind) => listen(element, kind, hand.hideReadout));
    return element;
  }

  function drawArrow(arrow, { path, tip, angle }) {
    const turn = `translate(${tip[0].toFixed(1)} ${tip[1].toFixed(1)}) rotate(${((angle * 180) / Math.PI).toFixed(1)})`;
    const shapes = [make("path", { d: path }), make("polygon", { points: "0,0 -9,4.5 -9,-4.5", transform: turn })];
    return make("g", { class: look("operation", arrow), "data-arrow": `${arrow.from} ${arrow.to}` }, ...shapes);
  }

  return { element: figure, update, lay: draw, width: 99 };
}

/** Where the rows and columns of a diagram lie, wide enough for every state of it. */
function layout(boxes, arrows, { label, shape, padding, gapX, gapY, around, wraps }) {
  const linesOf = (box) => [box.label, ...(box.shape ? wrapped(box.shape, wraps) : [])];
  const lineWidth = (line, i) => (i ? textWidth(line, shape) : textWidth(line, label, 600));
  const widthOf = (box) => Math.max(...linesOf(box).map(lineWidth)) + 2 * padding;
  const heightOf = (box) => (box.shape ? 37 + LINE * (linesOf(box).length - 1) : 34);
  const spread = (sizes, gaps) => {
    const starts = [0];
    sizes.forEach((size, i) => starts.push(starts[i] + size + gaps[i]));
    return starts;
  };
  const sizes = (count, key, sizeOf) =>
    times(count, (i) => Math.max(0, ...boxes.filter((box) => box[key] === i).map(sizeOf)));
  const columns = Math.ceil(Math.max(0, ...boxes.map((box) => box.column))) + 1;
  const rows = Math.max(0, ...boxes.map((box) => box.row)) + 1;
  const where = Object.fromEntries(boxes.map((box) => [box.name, box]));
  const besides = arrows.filter((arrow) => where[arrow.from].row === where[arrow.to].row && arrow.label);
  /** The column behind which the gap lies that an arrow crosses. */
  const after = ({ from, to }) => Math.floor(Math.min(where[from].column, where[to].column));
  const gaps = times(columns, (i) =>
    Math.max(gapX, ...besides.filter((arrow) => after(arrow) === i).map((arrow) => textWidth(arrow.label, shape) + 24)),
  );
  const widths = sizes(columns, "column", widthOf);
  const heights = sizes(rows, "row", heightOf);
  const lefts = spread(widths, gaps);
  const tops = spread(heights, heights.map(() => gapY));
  const margin = boxes.length > columns ? around : 8; // for arrows that go around
  const place = (box) => {
    const [width, height] = [widthOf(box), heightOf(box)];
    const low = Math.floor(box.column);
    const center = (column) => lefts[column] + widths[column] / 2;
    const part = box.column - low; // a box may stand between two columns
    const middle = part ? center(low) * (1 - part) + center(low + 1) * part : center(low);
    const top = 6 + tops[box.row] + (heights[box.row] - height) / 2;
    return new DOMRect(margin + middle - width / 2, top, width, height);
  };
  return { place, linesOf, width: lefts[columns] - gaps[columns - 1] + 2 * margin, height: tops[rows] - gapY + 12 };
}

/** A text's pieces for an svg, with W_q's q below the line. */
const scripted = (words) =>
  words.split(/_(\w)/).map((piece, i) => {
    if (i % 2) return make("tspan", { dy: 3, class: "script" }, piece);
    return piece && i ? make("tspan", { dy: -3 }, piece) : piece;
  });

/** A text of several words in two lines, if it is to be wrapped; numbers stay together. */
function wrapped(text, wraps) {
  const words = text.split(/(?<=[ -])/);
  if (!wraps || words.length < 2 || text.length < 10 || text.startsWith("(")) return [text];
  const half = Math.ceil(words.length / 2);
  return [words.slice(0, half), words.slice(half)].map((some) => some.join("").trim());
}

// ---------------------------------------------------------------------------------------------- ways

const CLEAR = 5; // pixels that an arrow keeps from a box
const ROUND = 10; // the radius of a corner

/** An arrow from one box to another: straight, else with the fewest boxes and the least way round them. */
function route(from, to, all) {
  const middle = (box) => [box.left + box.width / 2, box.top + box.height / 2];
  const [fromX, fromY] = middle(from);
  const [toX, toY] = middle(to);
  const sideways = Math.abs(toY - fromY) < 1;
  const way = sideways ? Math.sign(toX - fromX) : Math.sign(toY - fromY);
  const start = sideways ? [fromX + (way * from.width) / 2, fromY] : [fromX, fromY + (way * from.height) / 2];
  const stop = sideways ? [toX - (way * to.width) / 2, toY] : [toX, toY - (way * to.height) / 2];
  const others = all.filter((box) => box !== from && box !== to);
  const [[x0, y0], [x1, y1]] = [start, stop];
  const [low, high] = [y0 + 12 * way, y1 - 18 * way];
  const over = (y) => [start, [x0 + 8 * way, y], [x1 - 12 * way, y], stop];
  const beside = (x) => [start, [x0, low], [x, low], [x, high], [x1, high], stop];
  const rounds = sideways
    ? others.flatMap((box) => [box.top - 12, box.bottom + 12]).map(over)
    : others.flatMap((box) => [box.left - 12, box.right + 12]).map(beside);
  const ways = [[start, stop], ...rounds].map((corners) => ({ corners, points: stations(corners) }));
  const costs = ways.map(({ corners, points }) => {
    const struck = others.filter((box) => points.some(isInside(box, CLEAR)));
    return 1000 * struck.length + points.length + corners.length;
  });
  const best = ways[placeOfLeast(costs)];
  const [beforeX, beforeY] = best.corners.at(-2);
  const angle = Math.atan2(y1 - beforeY, x1 - beforeX);
  return { path: rounded(best.corners), points: best.points, tip: stop, angle };
}

/** Whether a point lies in a box, or so near it. @param {DOMRect} box */
const isInside =
  ({ left, right, top, bottom }, near = 0) =>
  ([x, y]) =>
    x > left - near && x < right + near && y > top - near && y < bottom + near;

/** Points on a way, some pixels apart. */
function stations(corners) {
  return corners.slice(1).flatMap(([x, y], i) => {
    const [x0, y0] = corners[i];
    const count = Math.max(Math.round(Math.hypot(x - x0, y - y0) / 6), 1);
    return times(count, (k) => [x0 + ((k + 0.5) / count) * (x - x0), y0 + ((k + 0.5) / count) * (y - y0)]);
  });
}

/** A path through corners, rounded. */
function rounded(corners) {
  let path = `M${corners[0]}`;
  corners.slice(1, -1).forEach((corner, i) => {
    const [before, after] = [corners[i], corners[i + 2]];
    const toward = (end) => {
      const length = Math.hypot(end[0] - corner[0], end[1] - corner[1]) || 1;
      const part = Math.min(ROUND / length, 0.5);
      return [0, 1].map((axis) => corner[axis] + part * (end[axis] - corner[axis]));
    };
    path += `L${toward(before)}Q${corner} ${toward(after)}`;
  });
  return `${path}L${corners.at(-1)}`;
}

/** Each arrow's label beside it, where it lies on no box, no other label, and no arrow. @returns {any[]} attributes */
function placeLabels(arrows, routes, all, width) {
  const occupied = [];
  return arrows.map((arrow, at) => {
    if (!arrow.label) return null;
    const size = textWidth(arrow.label, WIDE.shape);
    const { points } = routes[at];
    const places = [0.5, 0.35, 0.65, 0.2, 0.8].flatMap((part) => {
      const [x, y] = points[Math.floor(part * (points.length - 1))];
      return [[x + 7, y + 4], [x - 7 - size, y + 4], [x - size / 2, y - 6], [x - size / 2, y + 15]];
    });
    const boxes = places.map(([x, y]) => new DOMRect(x - 2, y - 11, size + 4, 14));
    const costs = boxes.map((box) => {
      const met = [...all, ...occupied].filter((other) => overlap(box, other)).length;
      const crossed = routes.filter((way) => way.points.some(isInside(box))).length;
      return 9 * met + crossed + (box.left < 0 || box.right > width ? 9 : 0);
    });
    const best = placeOfLeast(costs);
    occupied.push(boxes[best]);
    return { x: places[best][0], y: places[best][1] };
  });
}

panelKinds.diagram = diagram;
