// ------------------------------------------------------------------------------------------------ graph
// Nodes at their places, joined by edges. The parts that no edge joins stand side by side, and break into lines where
// there is no room. A query is chosen, and tints the keys by its weights.

const NODE = { radius: 9, reach: 14, gap: 5 }; // pixels: how large, how far a finger finds it, from line to line
const UNITS = [22, 20, 18, 17]; // pixels of a step between places; the largest at which all parts stand in one line
const SIGN = 30; // pixels of a plus or an arrow

function graph(read, hand) {
  const caption = make("figcaption");
  const edges = make("g", { "aria-hidden": "true" });
  const others = make("g"); // nodes that are no queries
  const queries = make("g", { role: "listbox" });
  const svg = make("svg", {}, edges, others, queries);
  const hint = make("p", { class: "hint" }, `Tap a ${read.first("axes")[0]} to choose it.`);
  const scroller = make("div", { class: "scroller" }, svg);
  const figure = make("figure", { class: "graph", "data-wide": "" }, caption, scroller, hint);
  const S = read.shape("values")[1];
  let now = null;
  let nodes = []; // of the present drawing
  let built = null; // of which drawing, and how wide
  let wide = 600; // until it is known
  let chosen = null; // by the reader; else as the state has it
  let looked = null; // at which query the pointer is

  function update(state) {
    now = read.now(state);
    if (built?.drawing !== now.drawing) chosen = looked = null;
    draw();
  }

  const keysOf = () => now.drawing.keys;
  const query = () => looked ?? chosen ?? now.chosen ?? now.drawing.queries.length - 1;
  const nameOf = (node) => now.drawing.names[node];
  const asking = () => nameOf(now.drawing.queries[query()]);
  const weight = (j, values = now.values) => values[query() * S + j];

  function draw() {
    if (built?.drawing !== now.drawing || built.wide !== wide) build();
    keysOf().forEach((node, j) => {
      const part = hand.hidesData() ? 0 : strength(weight(j, now.drawn.values), now.limits);
      const { background, text } = shade(now.color, part);
      nodes[node].dataset.value = exact(weight(j));
      set(nodes[node], { role: "img", "aria-label": `${nameOf(node)}, ${told(weight(j))}` });
      nodes[node].children[1].style.fill = background;
      nodes[node].children[2].style.fill = text;
    });
    showChosen(now.drawing.queries.map((node) => nodes[node]), query());
    const order = keysOf().map((_, j) => j).sort((a, b) => weight(b) - weight(a));
    const most = order.slice(0, 2).map((j) => `${nameOf(keysOf()[j])} (${brief(weight(j), now.digits)})`);
    const isHidden = hand.hidesData() || !order.length;
    const found = isHidden ? "" : `${asking()} → ${most.join(", ")}`;
    setText(caption, [now.caption, found].filter(Boolean).join(": "));
  }

  /** Draw the nodes and edges anew. */
  function build() {
    built = { drawing: now.drawing, wide };
    const { labels, queries: askers, edges: joined } = now.drawing;
    const { spots, signs, width, height } = placed(now.drawing, wide);
    set(svg, { viewBox: `0 0 ${width} ${height}` });
    svg.style.width = `${width}px`;
    nodes = labels.map((label, node) => {
      const named = { "aria-label": askers.includes(node) ? nameOf(node) : null };
      const rings = [NODE.reach, NODE.radius].map((r) => make("circle", { r }));
      const attributes = { class: "node", transform: `translate(${spots[node]})`, ...named };
      return make("g", attributes, ...rings, make("text", {}, label));
    });
    edges.replaceChildren(
      ...joined.flatMap(([start, end, count]) => linesBetween(spots[start], spots[end], count)),
      ...signs.map(({ sign, x, y }) => make("text", { x, y }, sign)),
    );
    others.replaceChildren(...nodes.filter((_, node) => !askers.includes(node)));
    queries.replaceChildren(...askers.map((node) => nodes[node]));
    set(queries, { "aria-label": `Choose a ${now.axes[0]}` });
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

  function leave() {
    look(null);
    hand.hideReadout();
  }

  hand.onStop(follow(svg, readAt, leave));
  choosing(queries, () => [...queries.children], choose);

  function highlight(lit) {
    const nodeOf = (axis) => now.drawing.names.indexOf(lit[now.axes[axis]]);
    nodes.forEach((element, node) => setClass(element, "lit", node === nodeOf(1)));
    const i = now.drawing.queries.indexOf(nodeOf(0));
    look(i >= 0 ? i : null);
  }

  function lay(found) {
    if (found) wide = Math.round(found / hand.scale());
    if (now) draw();
  }

  return { element: figure, update, lay, highlight, wide: true };
}

/** Where the nodes and the signs between the parts lie, in so many pixels. */
function placed(drawing, wide) {
  const lay = (unit) => {
    const { places, parts, queries, keys } = drawing;
    const isApart = !queries.some((node) => keys.includes(node));
    const asks = (part) => part?.some((node) => queries.includes(node));
    const spots = [];
    const signs = [];
    const margin = NODE.reach;
    let [x, top, deep, width] = [0, 0, 0, 0];
    let line = []; // parts of the present line, to be set in its middle
    const breakLine = () => {
      line.forEach(({ high, move }) => move(top + (deep - high) / 2));
      top += deep + NODE.gap;
      [x, deep, line] = [0, 0, []];
    };
    parts.forEach((part, k) => {
      const [xs, ys] = [0, 1].map((axis) => part.map((node) => unit * places[node][axis]));
      const [left, up] = [Math.min(...xs), Math.max(...ys)];
      const [across, high] = [Math.max(...xs) - left + 2 * margin, up - Math.min(...ys) + 2 * margin];
      const before = k ? SIGN : 0;
      if (x && x + before + across > wide) breakLine();
      const start = x + before;
      const sign = { sign: isApart && asks(part) && !asks(parts[k - 1]) ? "→" : "+", x: x + before / 2, y: 0 };
      if (k) signs.push(sign);
      const move = (y) => {
        sign.y = y + high / 2;
        const spot = (i) => [start + margin + xs[i] - left, y + margin + up - ys[i]];
        part.forEach((node, i) => (spots[node] = spot(i).map((number) => Number(number.toFixed(1)))));
      };
      line.push({ high, move });
      [x, deep, width] = [start + across, Math.max(deep, high), Math.max(width, start + across)];
    });
    const isOneLine = !top;
    breakLine();
    return { spots, signs, isOneLine, width, height: top };
  };
  const all = UNITS.map(lay);
  const fitting = all.filter(({ width }) => width <= wide);
  return fitting.find(({ isOneLine }) => isOneLine) ?? fitting[0] ?? all.at(-1);
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
