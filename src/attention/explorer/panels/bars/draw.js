// ------------------------------------------------------------------------------------------------ bars
// Bars stand on a line at zero, each with its number at its end. How far along its room each of them ends is said here;
// the stylesheet draws it from zero to there.

const SHADES = [1, 0.6, 0.3, 0.8, 0.45, 0.18]; // of a colour, by which the parts of a bar are told apart

function bars(read, hand) {
  const labels = read.first("labels");
  const parts = read.first("parts_names") ?? [];
  const caption = make("caption");
  const sides = labels.map(() => make("th", { scope: "row" }));
  const shadeOf = (i) => ({ style: `filter: opacity(${SHADES[i % SHADES.length]})` });
  const pieces = () => parts.map((name, i) => make("i", { "data-part": name, ...shadeOf(i) }));
  const cells = sides.map(() =>
    make("td", {}, make("span", { class: "bar" }, ...pieces()), make("span", { class: "number" })),
  );
  const rows = sides.map((side, row) => make("tr", {}, side, cells[row]));
  const look = parts.length ? "bars in-parts" : "bars";
  const table = make("table", { class: look }, caption, make("tbody", {}, ...rows));
  const sample = (i) => make("i", { class: "patch", ...shadeOf(i) });
  const named = parts.map((name, i) => make("span", { "data-part": name }, sample(i), name));
  const legend = parts.length ? make("p", { class: "legend" }, ...named) : null;
  const element = make("div", { class: "bars-box" }, table, legend ?? "");
  cells.at(-1)?.append(make("i", { class: "origin", "aria-hidden": "true" }, "0"));
  let now = null;
  let compared = null;

  /** How far along its room a number lies, from 0 to 1. */
  function part(value) {
    const [low, high] = now.limits;
    return clamp((value - low) / (high - low || 1), 0, 1);
  }

  function update(state) {
    now = read.whole(state);
    setStyle(table, "--origin", part(0));
    element.dataset.color = now.color;
    setText(caption, now.caption);
    cells.forEach((cell, row) => {
      const value = now.values[row];
      const hidden = isMasked(now, row);
      const drawn = hidden || Number.isNaN(value) ? 0 : value;
      const [bar, number] = cell.children;
      setText(sides[row], now.labels[row]);
      fill(cell, value, hidden, now.digits);
      bar.toggleAttribute("data-below", drawn < 0);
      bar.toggleAttribute("data-pinned", Boolean(compared?.[row])); // nothing, if it was 0
      setStyle(cell, "--end", part(drawn));
      setStyle(cell, "--pin", compared ? part(compared[row]) : "");
      if (parts.length) stack(bar, row);
      setText(number, hidden ? "–" : brief(value, now.digits)); // hatched are maps alone
    });
  }

  /** Lay the parts of a bar end to end: what is above zero to the right of it, what is below to the left. */
  function stack(bar, row) {
    let [up, down] = [0, 0];
    parts.forEach((_, i) => {
      const value = now.parts[row * parts.length + i];
      const start = value < 0 ? (down += value) : up;
      if (value >= 0) up += value;
      const piece = bar.children[i];
      piece.toggleAttribute("data-below", value < 0);
      setStyle(piece, "--from", part(start));
      setStyle(piece, "--to", part(start + Math.abs(value)));
    });
  }

  /** @param {number} row @param {string} [part] of the bar, where a part is pointed at */
  function point(row, part) {
    const made = parts.map((name, i) => `${name} ${brief(now.parts[row * parts.length + i], now.digits)}`).join(" + ");
    const earlier = compared ? ` (before ${told(compared[row])})` : "";
    mark(row, part);
    const value = toldAt(now, row) + (made && ` = ${made}`) + earlier;
    hand.tell(`${now.labels[row]}: `, value, rectOf(cells[row]));
    hand.highlight({ [now.axis]: now.labels[row], ...(part && { [now.parts_axis]: part }) });
  }

  /** Let a bar stand out, and one part of every bar; −1 and null for none. */
  function mark(row, part) {
    setClass(table, "reading", row >= 0);
    rows.forEach((line, i) => setClass(line, "on", i === row));
    setClass(element, "parted", parts.includes(part));
    const pieces = element.querySelectorAll("[data-part]");
    pieces.forEach((piece) => setClass(piece, "on", piece.getAttribute("data-part") === part));
  }

  function readAt(target) {
    const row = rows.findIndex((line) => line.contains(target));
    if (row >= 0) point(row, target.getAttribute("data-part"));
    return row >= 0;
  }
  hand.reads(table, readAt);
  const highlight = (lit) => mark(now.labels.indexOf(lit[now.axis]), lit[now.parts_axis]);
  const compare = (state) => (compared = state && read.whole(state).values);
  return { element, update, highlight, compare, legend, width: 13, slim: true };
}

panelKinds.bars = bars;
