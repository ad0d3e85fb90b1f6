// ------------------------------------------------------------------------------------------------ diagram
// Boxes for tensors, with their shapes; arrows for operations. Python says in which row and column a box stands.

const BOX = { padding: 10, label: 15, shape: 12, gapX: 26, gapY: 40 };

/** The width of a text in pixels, about. */
const textWidth = (() => {
  const canvas = document.createElement("canvas").getContext("2d");
  return (text, size, weight = 400) => {
    canvas.font = `${weight} ${size}px system-ui, sans-serif`;
    return canvas.measureText(text).width;
  };
})();

function diagram(read) {
  const svg = make("svg", { role: "img" });
  const caption = make("figcaption");
  const figure = make("figure", { class: "diagram" }, caption, make("div", { class: "scroller" }, svg));
  const everything = read.all("boxes").flat();
  const grid = layout(everything, read.all("arrows").flat());

  function update(state) {
    const boxes = read("boxes", state);
    const arrows = read("arrows", state);
    setText(caption, read("caption", state));
    set(svg, { "aria-label": read("alt", state), viewBox: `0 0 ${grid.width} ${grid.height}` });
    svg.style.width = `${grid.width}px`;
    svg.style.minWidth = `${0.7 * grid.width}px`;
    const isDim = boxes.some((box) => box.lit) || arrows.some((arrow) => arrow.lit);
    const places = Object.fromEntries(boxes.map((box) => [box.name, grid.place(box)]));
    svg.classList.toggle("dim", isDim);
    svg.replaceChildren(
      ...arrows.map((arrow) => drawArrow(arrow, places)),
      ...boxes.map((box) => drawBox(box, places[box.name])),
    );
  }

  function drawBox(box, at) {
    const middle = at.left + at.width / 2;
    const lines = [make("text", { class: "label", x: middle, y: at.top + BOX.padding + 12, "text-anchor": "middle" }, box.label)];
    if (box.shape) {
      lines.push(make("text", { class: "shape", x: middle, y: at.top + at.height - BOX.padding, "text-anchor": "middle" }, box.shape));
    }
    const frame = make("rect", { x: at.left, y: at.top, width: at.width, height: at.height, rx: 6 });
    return make("g", { class: box.lit ? "box lit" : "box", "data-box": box.name, "data-color": box.color }, frame, ...lines);
  }

  function drawArrow(arrow, places) {
    const [from, to] = [places[arrow.from], places[arrow.to]];
    const { path, labelAt, tip, angle } = route(from, to, Object.values(places));
    const turn = `translate(${tip[0].toFixed(1)} ${tip[1].toFixed(1)}) rotate(${((angle * 180) / Math.PI).toFixed(1)})`;
    const parts = [make("path", { d: path }), make("polygon", { points: "0,0 -9,4.5 -9,-4.5", transform: turn })];
    if (arrow.label) {
      parts.push(make("text", { x: labelAt[0], y: labelAt[1], "text-anchor": labelAt[2] }, arrow.label));
    }
    return make("g", { class: arrow.lit ? "operation lit" : "operation", "data-arrow": `${arrow.from} ${arrow.to}` }, ...parts);
  }

  return { element: figure, update, summary: () => "" };
}

/** Where the rows and columns of a diagram lie, wide enough for every state of it. */
function layout(boxes, arrows) {
  const widthOf = (box) => Math.max(textWidth(box.label, BOX.label, 600), textWidth(box.shape, BOX.shape)) + 2 * BOX.padding;
  const heightOf = (box) => (box.shape ? 52 : 34);
  const spread = (sizes, gaps) => {
    const starts = [0];
    sizes.forEach((size, i) => starts.push(starts[i] + size + (gaps[i] ?? 0)));
    return starts;
  };
  const sizes = (count, key, sizeOf) =>
    Array.from({ length: count }, (_, i) => Math.max(0, ...boxes.filter((box) => box[key] === i).map(sizeOf)));
  const columns = Math.ceil(Math.max(0, ...boxes.map((box) => box.column))) + 1;
  const rows = Math.max(0, ...boxes.map((box) => box.row)) + 1;
  const where = Object.fromEntries(boxes.map((box) => [box.name, box]));
  const besides = arrows.filter((arrow) => where[arrow.from].row === where[arrow.to].row && arrow.label);
  const gapX = Math.max(BOX.gapX, ...besides.map((arrow) => textWidth(arrow.label, BOX.shape) + 24));
  const widths = sizes(columns, "column", widthOf);
  const heights = sizes(rows, "row", heightOf);
  const lefts = spread(widths, widths.map(() => gapX));
  const tops = spread(heights, heights.map(() => BOX.gapY));
  const margin = Math.max(8, ...arrows.filter((arrow) => arrow.label).map((arrow) => textWidth(arrow.label, BOX.shape) / 2));
  const place = (box) => {
    const [width, height] = [widthOf(box), heightOf(box)];
    const low = Math.floor(box.column);
    const center = (column) => lefts[column] + widths[column] / 2;
    const part = box.column - low; // a box may stand between two columns
    const middle = part ? center(low) * (1 - part) + center(low + 1) * part : center(low);
    return { left: margin + middle - width / 2, top: 6 + tops[box.row] + (heights[box.row] - height) / 2, width, height };
  };
  return { place, width: lefts[columns] - gapX + 2 * margin, height: tops[rows] - BOX.gapY + 12 };
}

/** An arrow from one box to another: straight where nothing stands between, else around it. */
function route(from, to, all) {
  const middle = (box) => [box.left + box.width / 2, box.top + box.height / 2];
  const [fromX, fromY] = middle(from);
  const [toX, toY] = middle(to);
  const sideways = Math.abs(toY - fromY) < 1;
  const way = sideways ? Math.sign(toX - fromX) : Math.sign(toY - fromY);
  const start = sideways ? [fromX + (way * from.width) / 2, fromY] : [fromX, fromY + (way * from.height) / 2];
  const stop = sideways ? [toX - (way * to.width) / 2, toY] : [toX, toY - (way * to.height) / 2];
  const isInside = (/** @type {number[]} */ [x, y], box) => x > box.left - 4 && x < box.left + box.width + 4 && y > box.top - 4 && y < box.top + box.height + 4;
  const between = [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => [0, 1].map((axis) => start[axis] + part * (stop[axis] - start[axis])));
  const blocks = all.filter((box) => box !== from && box !== to && between.some((point) => isInside(point, box)));
  if (!blocks.length) {
    const angle = Math.atan2(stop[1] - start[1], stop[0] - start[0]);
    const [x, y] = [(start[0] + stop[0]) / 2, (start[1] + stop[1]) / 2];
    const labelAt = sideways ? [x, y - 6, "middle"] : [x + 7, y + 4, "start"];
    return { path: `M${start}L${stop}`, labelAt, tip: stop, angle };
  }
  const right = Math.max(...blocks.map((box) => box.left + box.width)) + 14;
  const bend = 0.5 * (stop[1] - start[1]);
  const path = `M${start}C${right} ${start[1] + 0.2 * bend} ${right} ${start[1] + 0.2 * bend} ${right} ${start[1] + bend}S${stop[0]} ${stop[1] - 0.5 * bend} ${stop}`;
  return { path, labelAt: [right + 6, start[1] + bend + 4, "start"], tip: stop, angle: (way * Math.PI) / 2 };
}
