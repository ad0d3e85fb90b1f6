// ------------------------------------------------------------------------------------------------ bars
// Bars stand on a line at zero, each with its number at its end, which may be a handle.

const SHADES = [1, 0.6, 0.3, 0.8, 0.45, 0.18]; // of a colour, by which the parts of a bar are told apart

function bars(read, hand) {
  const parts = read.first("parts_names") ?? [];
  const caption = make("caption");
  const sides = read.first("labels").map(() => make("th", { scope: "row" }));
  const shadeOf = (i) => ({ style: `filter: opacity(${SHADES[i % SHADES.length]})` });
  const pieces = () => parts.map((name, i) => make("i", { "data-part": name, ...shadeOf(i) }));
  const cells = sides.map(() =>
    make("td", {}, make("span", { class: "bar" }, ...pieces()), make("span", { class: "number" })),
  );
  const table = make(
    "table",
    { class: parts.length ? "bars in-parts" : "bars" },
    caption,
    make("tbody", {}, ...sides.map((side, row) => make("tr", {}, side, cells[row]))),
  );
  const sample = (i) => make("i", { class: "patch", ...shadeOf(i) });
  const named = parts.map((name, i) => make("span", { "data-part": name }, sample(i), name));
  const legend = make("p", { class: "legend" }, ...named);
  const handles = read.first("handles");
  const grips = handles.map(() => make("span", { class: "knob", "aria-hidden": "true" }));
  const hint = hintOf("the end of", handles);
  const element = make("div", { class: "bars-box" }, table, ...(parts.length ? [legend] : []), hint);
  handles.forEach(({ name }, i) => cells[read.first("labels").indexOf(name)].append(grips[i]));
  cells.at(-1)?.append(make("i", { class: "origin", "aria-hidden": "true" }, "0"));
  let now = null;
  let compared = null;

  function update(state) {
    now = read.now(state);
    const [low, high] = now.limits;
    const origin = clamp(0, low, high);
    const part = (value) => clamp((value - low) / (high - low || 1), 0, 1);
    now.part = part;
    setStyle(table, "--origin", part(origin).toFixed(4));
    element.dataset.color = now.color;
    setText(caption, now.caption);
    sides.forEach((side, row) => {
      const value = now.values[row];
      const hidden = isHidden(row);
      const drawn = hidden || Number.isNaN(value) ? origin : now.drawn.values[row];
      const [bar, number] = cells[row].children;
      setText(side, now.labels[row]);
      fill(cells[row], value, hidden, now.digits);
      bar.toggleAttribute("data-below", drawn < origin);
      setStyle(cells[row], "--end", part(drawn).toFixed(4));
      setStyle(bar, "--from", part(Math.min(drawn, origin)).toFixed(4));
      setStyle(bar, "--to", part(Math.max(drawn, origin)).toFixed(4));
      setStyle(number, "--to", part(Math.max(drawn, origin, compared ? compared[row] : origin)).toFixed(4));
      bar.toggleAttribute("data-pinned", Boolean(compared));
      if (compared) {
        setStyle(bar, "--pin-from", part(Math.min(compared[row], origin)).toFixed(4));
        setStyle(bar, "--pin-to", part(Math.max(compared[row], origin)).toFixed(4));
      }
      if (parts.length) stack(bar, row, part, origin);
      setText(number, hidden ? "–" : brief(value, now.digits)); // hatched are maps alone
    });
  }

  const isHidden = (row) => isMasked(now, row);

  /** Lay the parts of a bar end to end: what is above zero to the right of it, what is below to the left. */
  function stack(bar, row, part, origin) {
    let [up, down] = [origin, origin];
    parts.forEach((_, i) => {
      const value = now.drawn.parts[row * parts.length + i];
      const start = value < 0 ? (down += value) : up;
      if (value >= 0) up += value;
      const piece = bar.children[i];
      piece.toggleAttribute("data-below", value < 0);
      setStyle(piece, "--from", part(start).toFixed(4));
      setStyle(piece, "--to", part(start + Math.abs(value)).toFixed(4));
    });
  }

  /** @param {number} row @param {string} [part] of the bar, where a part is pointed at */
  function point(row, part) {
    const value = isHidden(row) ? "masked" : told(now.values[row]);
    const made = parts.map((name, i) => `${name} ${brief(now.parts[row * parts.length + i], now.digits)}`).join(" + ");
    const earlier = compared ? ` (before ${told(compared[row])})` : "";
    mark(row);
    markPart(part);
    hand.tell(`${now.labels[row]}: `, (made ? `${value} = ${made}` : value) + earlier, rectOf(cells[row]));
    hand.highlight({ [now.axis]: now.labels[row], ...(part && { [now.parts_axis]: part }) });
  }

  function mark(row) {
    setClass(table, "reading", row >= 0);
    sides.forEach((side, i) => setClass(side.parentNode, "on", i === row));
  }

  /** Let one part of every bar stand out; null for none. */
  function markPart(name) {
    setClass(element, "parted", parts.includes(name));
    const pieces = element.querySelectorAll("[data-part]");
    pieces.forEach((piece) => setClass(piece, "on", piece.getAttribute("data-part") === name));
  }

  // -------------------------------------------------------------------------------------------- the handles

  handles.forEach(({ name, controls }, i) => {
    const row = read.first("labels").indexOf(name);
    const bar = cells[row].firstChild;
    grab(grips[i], element, hand, {
      controls,
      state: () => now.state,
      place(state) {
        const { left, top, width, height } = rectOf(bar);
        return [left + now.part(read.whole(state).values[row]) * width, top + height / 2];
      },
      said: () => [`${name}: `, told(now.values[row])],
    });
  });

  function readAt(target) {
    const row = sides.findIndex((side) => side.parentNode.contains(target));
    if (row >= 0) point(row, target.getAttribute("data-part"));
    return row >= 0;
  }

  function leave() {
    mark(-1);
    markPart(null);
    hand.hideReadout();
  }

  hand.onStop(follow(table, readAt, leave));
  function highlight(lit) {
    mark(now.labels.indexOf(lit[now.axis]));
    markPart(lit[now.parts_axis]);
  }
  const compare = (state) => (compared = state && read.whole(state).values);
  const written = (i) => (isHidden(i) ? "masked" : brief(now.values[i], now.digits));
  const summary = () => (sides.length > 4 ? "" : now.labels.map((label, i) => `${label} ${written(i)}`).join(", "));
  return { element, update, highlight, compare, summary, legend: parts.length ? legend : null, slim: true };
}

panelKinds.bars = bars;
