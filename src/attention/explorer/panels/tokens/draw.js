// ------------------------------------------------------------------------------------------------ tokens
// A sentence that attends: the words of one row tinted by the weight that the chosen query gives them, or two rows
// joined by lines: from the chosen query, or to the key that is pointed at. Colours tell heads apart; the numbers
// stand under the words while there is room.

const MOST_NUMBERED = 16;
const STEPS = 10; // of a line's strength: lines of one strength are one path, so that 4,096 of them are drawn at once

function tokens(read, hand) {
  const [heads, L, S] = read.shape("values");
  const two = read.first("rows") === 2;
  const small = Math.max(L, S) > 24;
  const shownHeads = read.first("heads").map(() => true);
  const caption = make("figcaption");
  const toggles = read.first("heads").map((name, head) => toggle(name, head));
  const keys = times(S, () => word());
  const chips = read.first("look") === "chips"; // words that a control asks
  const queries = two ? times(L, () => word()) : chips ? [] : keys;
  const lines = times(heads, (head) =>
    times(STEPS, (step) =>
      make("path", { class: "join", style: `stroke: ${ink(head)}; stroke-opacity: ${(step + 1) / STEPS}; stroke-width: ${1 + (2.5 * step) / STEPS}` }),
    ),
  );
  const svg = make("svg", { class: "joins", "aria-hidden": "true" }, ...lines.flat());
  const box = (items, role, name) => make("div", { class: `words ${name}`, role: "listbox", "aria-label": role }, ...items.map((item) => item.element));
  const line = chips ? make("div", { class: "words line" }, ...keys.map((item) => item.element)) : null;
  const asking = line ?? (two ? box(queries, "Choose a query", "queries") : box(keys, "Choose a query", "line"));
  const stage = make("div", { class: two ? "stage two" : "stage" }, asking);
  const spoken = makeSpoken();
  if (two) stage.append(svg, make("div", { class: "words keys" }, ...keys.map((item) => item.element)));
  const size = small ? "small" : chips ? "large" : null;
  const figure = make("figure", { class: "tokens", "data-size": size, style: `--heads: ${heads}` }, caption);
  if (heads > 1) figure.append(make("p", { class: "heads", role: "group", "aria-label": "heads" }, ...toggles));
  figure.append(stage, spoken.element);
  let now = null;
  let chosen = null; // by the reader; else as the state has it
  let looked = null; // at which query the pointer is
  let compared = null;
  let faced = null; // at which key, in two rows: the lines show who attends to it

  function ink(head) {
    return heads > 1 ? `oklch(0.62 0.13 ${45 * head + 20})` : "var(--mine)"; // eight hues, seen on white and on black
  }

  function toggle(name, head) {
    const title = "Double-click: this head alone, or all";
    const button = makeButton({ "aria-pressed": "true", title, style: `--head: ${ink(head)}` }, () => show((shown, at) => (at === head ? !shown : shown)), name);
    listen(button, "dblclick", () => {
      const isAlone = shownHeads.every((shown, at) => shown === (at === head));
      show((_, at) => isAlone || at === head);
    });
    return button;
  }

  /** Switch the heads on for which ``choose`` says so. */
  function show(choose) {
    shownHeads.forEach((shown, head) => (shownHeads[head] = choose(shown, head)));
    toggles.forEach((button, head) => set(button, { "aria-pressed": shownHeads[head] }));
    draw();
  }

  function word() {
    const text = make("span", { class: "word" });
    const stripes = times(heads > 1 ? heads : 0, () => make("i"));
    const number = make("small");
    const element = make("span", { class: "token" }, text, make("span", { class: "stripes" }, ...stripes), number);
    return { element, text, stripes, number };
  }

  function update(state) {
    now = {
      ...read.now(state),
      drawn: read.blend("values", state),
      all: read("lines", state) === "all",
    };
    setText(caption, now.caption);
    figure.dataset.color = now.color;
    keys.forEach((item, j) => setText(item.text, now.keys[j]));
    if (two) queries.forEach((item, i) => setText(item.text, now.queries[i]));
    draw();
  }

  const query = () => looked ?? chosen ?? now.chosen ?? L - 1;
  const weight = (head, i, j, values = now.values) => values[(head * L + i) * S + j];
  const isHidden = (i, j, there = now) => isMasked(there, i * S + j);
  const numberOf = (there, i, j) => (isHidden(i, j, there) ? "masked" : brief(mean(i, j, there.values), now.digits));
  const isShown = (head) => shownHeads[head] ?? true;

  /** The mean of the heads that are on. */
  function mean(i, j, values = now.values) {
    let [sum, count] = [0, 0];
    for (let head = 0; head < heads; head++) {
      if (!isShown(head)) continue;
      sum += weight(head, i, j, values);
      count++;
    }
    return count ? sum / count : 0;
  }

  function draw() {
    const i = query();
    showChosen(queries.map((item) => item.element), i);
    keys.forEach((item, j) => {
      const hidden = isHidden(i, j);
      const value = mean(i, j);
      item.element.dataset.value = exact(value);
      item.element.toggleAttribute("data-masked", hidden);
      const { background, text } = heads > 1 || hidden ? { background: "", text: "" } : shade(now.color, strength(mean(i, j, now.drawn), now.limits));
      item.text.style.background = background;
      item.text.style.color = text;
      item.stripes.forEach((stripe, head) => {
        const part = hidden || !isShown(head) ? 0 : strength(weight(head, i, j, now.drawn), now.limits);
        stripe.style.background = ink(head);
        stripe.style.opacity = part.toFixed(2);
      });
      const isCompared = compared && (compared.chosen ?? i) === i; // the query that was compared, where one was
      setText(item.number, S > MOST_NUMBERED ? "" : (isCompared ? `${numberOf(compared, i, j)} → ` : "") + numberOf(now, i, j));
    });
    if (two) drawLines(i);
    spoken.speak(() => now.keys.map((key, j) => `${now.queries[i]} → ${key}, ${isHidden(i, j) ? "masked" : told(mean(i, j))}`));
  }

  function drawLines(chosenQuery) {
    const gap = queries[0].element.offsetHeight || 32; // from word to word
    const rows = Math.max(...[now.queries, now.keys].map((words) => words.filter(Boolean).length));
    const [width, height] = [svg.clientWidth || 120, gap * rows];
    set(svg, { viewBox: `0 0 ${width} ${height}` });
    svg.style.height = `${height}px`;
    setClass(svg, "all", now.all);
    const every = now.all || faced !== null; // the lines of every query
    const [from, until] = faced === null ? [0, S] : [faced, faced + 1];
    lines.forEach((steps, head) => {
      const paths = steps.map(() => "");
      for (let i = every ? 0 : chosenQuery; i < (every ? L : chosenQuery + 1); i++) {
        for (let j = from; j < until; j++) {
          if (!isShown(head) || isHidden(i, j)) continue;
          const step = Math.round(strength(weight(head, i, j, now.drawn), now.limits) * STEPS) - 1;
          const faint = faced === null && i !== chosenQuery ? Math.floor(step / 3) : step;
          if (step < 0 || faint < 0) continue;
          const [y0, y1] = [(i + 0.5) * gap, (j + 0.5) * gap].map((y) => y.toFixed(1));
          paths[faint] += `M0 ${y0}C${width / 2} ${y0} ${width / 2} ${y1} ${width} ${y1}`;
        }
      }
      steps.forEach((path, step) => set(path, { d: paths[step] }));
    });
  }

  function tell(j) {
    const i = query();
    const each = read.first("heads").flatMap((name, head) => (isShown(head) ? [`${name} ${told(weight(head, i, j))}`] : []));
    const value = isHidden(i, j) ? "masked" : told(mean(i, j));
    const where = `${now.axes[0]} ${now.queries[i]} → ${now.axes[1]} ${now.keys[j]}: `;
    hand.tell(where, heads > 1 && !isHidden(i, j) ? `mean ${value} (${each.join(", ")})` : value, rectOf(keys[j].element));
    hand.highlight({ [now.axes[0]]: now.queries[i], [now.axes[1]]: now.keys[j] });
  }

  function choose(i) {
    chosen = i;
    looked = null;
    if (now.control) hand.move({ [now.control]: i });
    else draw();
  }

  /** Show who attends to key j, or (−1) to whom the chosen query attends. */
  function face(j) {
    const next = j >= 0 ? j : null;
    if (next === faced) return;
    faced = next;
    drawLines(query());
  }

  const place = (items, target) => items.findIndex((item) => item.element.contains(target));
  const stop = follow(
    stage,
    (target) => {
      const [i, j] = [two ? place(queries, target) : -1, place(keys, target)];
      if (i >= 0 && i !== looked) {
        looked = i;
        draw();
        hand.highlight({ [now.axes[0]]: now.queries[i] });
      }
      if (j >= 0) tell(j);
      if (two) face(j);
      return i >= 0 || j >= 0;
    },
    () => {
      if (looked !== null) {
        looked = null;
        draw();
      }
      face(-1);
      hand.hideReadout();
    },
  );
  choosing(asking, () => queries.map((item) => item.element), choose);
  const resized = new ResizeObserver(() => now && two && drawLines(query()));
  resized.observe(stage);

  function highlight(lit) {
    const [i, j] = [now.queries.indexOf(lit[now.axes[0]]), now.keys.indexOf(lit[now.axes[1]])];
    if (two) queries.forEach((item, at) => setClass(item.element, "lit", at === i));
    keys.forEach((item, at) => setClass(item.element, "lit", at === j || (queries === keys && at === i)));
    const next = i >= 0 ? i : null;
    if (next !== looked) {
      looked = next;
      draw();
    }
  }

  const stopAll = () => {
    stop();
    resized.disconnect();
    spoken.stop();
  };
  const summary = () => `query ${now.queries[query()]}`;
  const compare = (state) => (compared = state && read.now(state));
  return { element: figure, update, highlight, compare, summary, stop: stopAll, wide: true };
}

panelKinds.tokens = tokens;
