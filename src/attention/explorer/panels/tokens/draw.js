// ------------------------------------------------------------------------------------------------ tokens
// A sentence that attends: the words of one row tinted by the weight that the chosen query gives them, or two rows with
// arcs from the chosen query to the keys. Letters stand in lines, words in columns; the numbers stand beside the words
// while there is room.

const MOST_NUMBERED = 16;

function tokens(read, hand) {
  const [L, S] = read.shape("values");
  const two = read.first("rows") === 2;
  const flat = two && [...read.first("queries"), ...read.first("keys")].every((word) => [...word].length < 2);
  const caption = make("figcaption");
  const keys = times(S, () => word());
  const chips = !two && String(read.first("keys")) !== String(read.first("queries")); // words that a control asks
  const queries = two ? times(L, () => word()) : chips ? [] : keys;
  const arcs = times(two ? S : 0, () => make("path", { class: "join" }));
  const svg = make("svg", { class: "joins", "aria-hidden": "true" }, ...arcs);
  const listed = chips ? {} : { role: "listbox", "aria-label": "Choose a query" };
  const row = (items, attributes) => make("div", attributes, ...items.map((item) => item.element));
  const asking = row(two ? queries : keys, { class: `words ${two ? "queries" : "line"}`, ...listed });
  const beside = two ? [svg, row(keys, { class: "words keys" })] : [];
  const stage = make("div", { class: `stage${two ? " two" : ""}${flat ? " flat" : ""}` }, asking, ...beside);
  const attributes = { class: "tokens", "data-color": "weights", "data-size": chips ? "large" : null };
  const figure = make("figure", attributes, caption, stage);
  if (queries !== keys) keys.forEach(({ element }) => set(element, { role: "img" }));
  let now = null;
  let chosen = null; // by the reader; else as the state has it
  let looked = null; // at which query the pointer is
  let compared = null;

  function word() {
    const text = make("span", { class: "word" });
    const number = make("small");
    return { element: make("span", { class: "token" }, text, number), text, number };
  }

  function update(state) {
    now = read.whole(state);
    setText(caption, now.caption);
    keys.forEach((item, j) => setText(item.text, now.keys[j]));
    if (two) queries.forEach((item, i) => setText(item.text, now.queries[i]));
    draw();
  }

  const query = () => looked ?? (now.control ? null : chosen) ?? now.chosen ?? L - 1;
  const isHidden = (i, j) => isMasked(now, i * S + j);

  function draw() {
    const i = query();
    showChosen(queries.map((item) => item.element), i);
    keys.forEach((item, j) => {
      const hidden = isHidden(i, j);
      item.element.dataset.value = exact(now.values[i * S + j]);
      set(item.element, { "aria-label": `${now.keys[j]}, ${toldAt(now, i * S + j)}` });
      item.element.toggleAttribute("data-masked", hidden);
      const { background, text } = tint("weights", now.values[i * S + j], now.limits, { hidden });
      item.text.style.background = background;
      item.text.style.color = text;
      const isCompared = compared && (compared.chosen ?? i) === i; // the query that was compared, where one was
      const before = isCompared ? `${briefAt(compared, i * S + j)} → ` : "";
      setText(item.number, S > MOST_NUMBERED ? "" : before + briefAt(now, i * S + j));
    });
    if (two) drawArcs();
  }

  function drawArcs() {
    const [width, high] = flat ? [stage.clientWidth, svg.clientHeight] : [svg.clientWidth, stage.clientHeight];
    const height = flat ? high : Math.max(asking.offsetHeight, stage.lastChild.offsetHeight);
    set(svg, { viewBox: `0 0 ${width || 1} ${height || 1}` });
    if (!flat) svg.style.height = `${height}px`;
    const middle = ({ element }) =>
      flat ? element.offsetLeft + element.offsetWidth / 2 : element.offsetTop + element.offsetHeight / 2;
    const i = query();
    arcs.forEach((arc, j) => {
      const part = isHidden(i, j) ? 0 : strength(now.values[i * S + j], now.limits);
      if (part < 0.02) return set(arc, { d: "" });
      const [from, to] = [middle(queries[i]), middle(keys[j])];
      const way = flat
        ? `M${from} ${height}C${from} ${height / 2} ${to} ${height / 2} ${to} 0`
        : `M0 ${from}C${width / 2} ${from} ${width / 2} ${to} ${width} ${to}`;
      set(arc, { d: way, "stroke-width": 1 + 7 * part, "stroke-opacity": 0.25 + 0.75 * part });
    });
  }

  function tell(j) {
    const i = query();
    const where = `${now.axes[0]} ${now.queries[i]} → ${now.axes[1]} ${now.keys[j]}: `;
    hand.tell(where, toldAt(now, i * S + j), rectOf(keys[j].element));
    hand.highlight({ [now.axes[0]]: now.queries[i], [now.axes[1]]: now.keys[j] });
  }

  function choose(i) {
    chosen = i;
    looked = null;
    if (now.control) hand.move(now.control, i);
    else draw();
  }

  /** Ask the question that finds word j, if one gives it more than an equal share. */
  function askFor(j) {
    const found = now.queries.map((name, i) => now.values[i * S + j]);
    const most = Math.max(...found);
    if (most > 1 / S) choose(found.indexOf(most));
  }

  const place = (items, target) => items.findIndex((item) => item.element.contains(target));
  function look(i) {
    if (i === looked) return;
    looked = i;
    draw();
  }

  function readAt(target) {
    const [i, j] = [two ? place(queries, target) : -1, place(keys, target)];
    if (i >= 0 && i !== looked) {
      hand.hideReadout(); // which told of another query
      look(i);
      hand.highlight({ [now.axes[0]]: now.queries[i] });
    }
    if (j >= 0) tell(j);
    return i >= 0 || j >= 0;
  }

  if (!chips) hand.reads(stage, readAt, () => look(null)); // words that a control asks have their number below them
  const [items, act] = chips && read.first("control") ? [keys, askFor] : [queries, choose];
  choosing(asking, () => items.map((item) => item.element), act);
  hand.onStop(watchSize(stage, () => now && two && drawArcs()));

  function highlight(lit) {
    const [i, j] = [now.queries.indexOf(lit[now.axes[0]]), now.keys.indexOf(lit[now.axes[1]])];
    if (two) queries.forEach((item, at) => setClass(item.element, "lit", at === i));
    keys.forEach((item, at) => setClass(item.element, "lit", at === j || (queries === keys && at === i)));
    look(i >= 0 ? i : null);
  }

  const compare = (state) => (compared = state && read.whole(state));
  return { element: figure, update, highlight, compare, width: 99 };
}

panelKinds.tokens = tokens;
