// ------------------------------------------------------------------------------------------------ graph
// Nodes at their places, joined by edges. The parts that no edge joins stand side by side, and break into lines where
// there is no room. A query is chosen, and tints the keys by its weights.

const NODE = { radius: 9, reach: 14 }; // pixels: how large, how far a finger finds it
const UNITS = [22, 20, 18, 17]; // pixels of a step between places
const SIGN = 30; // pixels of a plus or an arrow

function graph(read, hand) {
  const caption = make("figcaption");
  const scroller = make("div", { class: "scroller" }); // its parts, each a picture of its own
  const hint = make("p", { class: "hint" }, `Tap a ${read.first("axes")[0]} to choose it.`);
  const figure = make("figure", { class: "graph", "data-wide": "" }, caption, scroller, hint);
  const S = read.shape("values")[1];
  let now = null;
  let nodes = []; // of the present drawing
  let built = null; // of which drawing, and how wide
  let chosen = null; // by the reader; else as the state has it
  let looked = null; // at which query the pointer is

  function update(state) {
    now = read.whole(state);
    if (built?.drawing !== now.drawing) chosen = looked = null;
    draw();
  }

  const keysOf = () => now.drawing.keys;
  const query = () => looked ?? chosen ?? now.chosen ?? now.drawing.queries.length - 1;
  const nameOf = (node) => now.drawing.names[node];
  const asking = () => nameOf(now.drawing.queries[query()]);
  const weight = (j) => now.values[query() * S + j];

  function draw() {
    if (built?.drawing !== now.drawing || built.wide !== hand.width()) build();
    keysOf().forEach((node, j) => {
      const part = hand.hidesData() ? 0 : strength(weight(j), now.limits);
      const { background, text } = shade(now.color, part);
      nodes[node].dataset.value = exact(weight(j));
      set(nodes[node], { role: "img", "aria-label": `${nameOf(node)}, ${told(weight(j))}` });
      nodes[node].children[1].style.fill = background;
      nodes[node].children[2].style.fill = text;
    });
    showChosen(now.drawing.queries.map((node) => nodes[node]), query());
    const order = keysOf().map((_, j) => j).sort((a, b) => weight(b) - weight(a));
    const most = order.slice(0, 2).map((j) => `${nameOf(keysOf()[j])} (${brief(weight(j), now.digits)})`);
    const found = hand.hidesData() ? "" : `${asking()} → ${most.join(", ")}`;
    setText(caption, [now.caption, found].filter(Boolean).join(": "));
  }

  /** Draw the nodes and edges anew, as large as the parts stand in one line, or as each has room in one of its own. */
  function build() {
    built = { drawing: now.drawing, wide: hand.width() };
    const { labels, places, parts, queries, keys, edges } = now.drawing;
    const boxes = parts.map((part, k) => {
      const [xs, ys] = [0, 1].map((axis) => part.map((node) => places[node][axis]));
      const [left, up] = [Math.min(...xs), Math.max(...ys)];
      return { left, up, across: Math.max(...xs) - left, high: up - Math.min(...ys), before: k ? SIGN : 0 };
    });
    const widths = (unit) => boxes.map(({ across, before }) => before + unit * across + 2 * NODE.reach);
    const sum = (unit) => widths(unit).reduce((all, width) => all + width);
    const isOneLine = (unit) => sum(unit) <= built.wide;
    const isWide = (unit) => Math.max(...widths(unit)) <= built.wide;
    const unit = UNITS.find(isOneLine) ?? UNITS.find(isWide) ?? UNITS.at(-1);
    const zoom = hand.scale() > 1 ? clamp(built.wide / sum(unit), 1, 2) : 1; // presented, it fills its room
    const spots = places.map(([x, y], node) => {
      const { left, up, before } = boxes[parts.findIndex((part) => part.includes(node))];
      return [before + NODE.reach + unit * (x - left), NODE.reach + unit * (up - y)];
    });
    nodes = labels.map((label, node) => {
      const named = { "aria-label": queries.includes(node) ? nameOf(node) : null };
      const rings = [NODE.reach, NODE.radius].map((r) => make("circle", { r }));
      const attributes = { class: "node", transform: `translate(${spots[node]})`, ...named };
      return make("g", attributes, ...rings, make("text", {}, label));
    });
    const isQuery = (node) => queries.includes(node);
    const isApart = !queries.some((node) => keys.includes(node));
    const list = { role: "listbox", "aria-label": `Choose a ${now.axes[0]}` };
    const pictures = parts.map((part, k) => {
      const [width, height] = [widths(unit)[k], unit * boxes[k].high + 2 * NODE.reach];
      const joined = edges.filter(([start]) => part.includes(start));
      const lines = joined.flatMap(([start, end, count]) => linesBetween(spots[start], spots[end], count));
      const leads = isApart && part.some(isQuery) && !parts[k - 1]?.some(isQuery);
      const sign = make("text", { x: SIGN / 2, y: height / 2 }, leads ? "→" : "+");
      const [asking, others] = [part.filter(isQuery), part.filter((node) => !isQuery(node))];
      const svg = make(
        "svg",
        { viewBox: `0 0 ${width} ${height}` },
        make("g", { "aria-hidden": "true" }, ...lines, ...(k ? [sign] : [])),
        make("g", {}, ...others.map((node) => nodes[node])),
        make("g", asking.length ? list : {}, ...asking.map((node) => nodes[node])),
      );
      svg.style.width = `${Math.floor(width * hand.scale() * zoom)}px`;
      return svg;
    });
    scroller.replaceChildren(...pictures);
  }

  function choose(i) {
    [chosen, looked] = [i, null];
    draw();
  }

  function look(i) {
    if (i === looked) return;
    looked = i;
    draw();
  }

  function readAt(target) {
    const node = nodes.findIndex((element) => element.contains(target));
    const [i, j] = [now.drawing.queries.indexOf(node), keysOf().indexOf(node)];
    if (i >= 0 && i !== looked) {
      hand.hideReadout();
      look(i);
      hand.highlight({ [now.axes[0]]: nameOf(node) });
    }
    if (j >= 0) {
      hand.tell(`${asking()} → ${nameOf(node)}: `, told(weight(j)), rectOf(nodes[node]));
      hand.highlight({ [now.axes[0]]: asking(), [now.axes[1]]: nameOf(node) });
    }
    return node >= 0;
  }

  hand.reads(scroller, readAt);
  choosing(scroller, () => now.drawing.queries.map((node) => nodes[node]), choose);

  function highlight(lit) {
    const nodeOf = (axis) => now.drawing.names.indexOf(lit[now.axes[axis]]);
    nodes.forEach((element, node) => setClass(element, "lit", node === nodeOf(1)));
    const i = now.drawing.queries.indexOf(nodeOf(0));
    look(i >= 0 ? i : null);
  }

  return { element: figure, update, lay: draw, highlight, width: 99 };
}

/** One, two or three lines side by side. */
function linesBetween([x0, y0], [x1, y1], count) {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  return times(count, (i) => {
    const off = (5 * (i - (count - 1) / 2)) / length;
    const dx = off * (y0 - y1);
    const dy = off * (x1 - x0);
    return make("line", { x1: x0 + dx, y1: y0 + dy, x2: x1 + dx, y2: y1 + dy });
  });
}

panelKinds.graph = graph;
