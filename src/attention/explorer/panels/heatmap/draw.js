// ------------------------------------------------------------------------------------------------ heatmap
// Coloured cells with their numbers.

// With more columns than this there is no room for numbers: cells have them as labels, and the read-out says them.
const MOST_WRITTEN = 12;
const LEAST_WRITTEN = 28; // pixels of a column that has numbers; presented, for each its own width
const MOVES = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

function heatmap(read, hand) {
  const [rows, columns] = read.shape("values");
  const attributes = { class: "heatmap", "data-columns": columns > MOST_WRITTEN ? "many" : "few" };
  const { table, caption, corner, heads, sides, cells } = makeGrid(rows, columns, attributes);
  const scroller = make("div", { class: "scroller" }, table);
  const between = make("span", { class: "axis" }); // small ones share it
  const scale = make("span", { class: "scale" }, make("span"), make("i", { "aria-hidden": "true" }), make("span"));
  const legend = make("p", { class: "legend" }, between, scale);
  const element = make("div", {}, scroller, read.small ? "" : legend);
  corner.className = "corner";
  cells.flat().forEach((cell, i) => (cell.tabIndex = i ? -1 : 0));
  let now = null;
  let at = null; // the cell that is read
  let words = null; // above the columns: each state's are kept, so that the same ones are the same list

  function update(state) {
    now = read.whole(state);
    const { limits, color, row, ringed = [] } = now;
    setText(caption, now.caption);
    const axes = now.axes.map((axis, i) => (axis ? `${axis} ${"↓→"[i]}` : ""));
    setText(read.small ? between : corner, axes.join(" ").trim());
    setText(scale.firstChild, told(limits[0]));
    setText(scale.lastChild, told(limits[1]));
    const ramp = [...(limits[0] < 0 ? ["negative"] : []), "paper", color];
    setStyle(scale, "--ramp", ramp.map((name) => `var(--al-${name})`).join());
    if (words !== now.columns) {
      words = now.columns;
      const isCropped = words.some(Boolean); // then a column without a word is one that this state does not have
      heads.forEach((head, j) => {
        setText(head.firstChild, words[j]);
        const whole = [head, ...cells.map((line) => line[j])];
        whole.forEach((cell) => cell.toggleAttribute("hidden", isCropped && !words[j]));
      });
      fitWords();
    }
    sides.forEach((side, i) => {
      setText(side, now.rows[i]);
      side.parentNode.toggleAttribute("data-chosen", i === row);
    });
    cells.forEach((line, i) =>
      line.forEach((cell, j) => {
        const index = i * columns + j;
        const value = now.values[index];
        const hidden = isMasked(now, index);
        cell.toggleAttribute("data-chosen", ringed.some(([r, c]) => r === i && c === j));
        const shown = [value, hidden, color].join();
        if (cell.shown === shown) return;
        cell.shown = shown;
        fill(cell, value, hidden, now.digits);
        const { background, text } = tint(color, value, limits, { hidden, digits: now.digits });
        cell.style.backgroundColor = background;
        cell.style.color = text;
        if (columns > MOST_WRITTEN) cell.setAttribute("aria-label", briefAt(now, index));
        else setText(cell.firstChild, briefAt(now, index));
      }),
    );
    if (at) tell();
  }

  /** Words wider than their column stand upright, 10 pixels a letter at most; numbers wider than it go unwritten. */
  function fitWords() {
    const width = (hand.width() - 90) / columns;
    const least = hand.scale() > 1 ? 6.5 * ((now.digits ?? 2) + 2) : LEAST_WRITTEN;
    const isNumberless = read.small || width < least;
    setClass(table, "numberless", isNumberless);
    scale.hidden = !isNumberless && columns <= MOST_WRITTEN;
    const longest = Math.max(...now.columns.map((word) => [...word].length));
    const isLong = 10 * longest > width;
    heads.forEach((head) => head.toggleAttribute("data-long", isLong && longest > 2));
  }

  function tell() {
    const [row, column] = at;
    const where = `${now.axes[0] || "row"} ${now.rows[row]} → ${now.axes[1] || "column"} ${now.columns[column]}: `;
    const [{ top }, { left, width, bottom }] = [corner, cells[row][column]].map(rectOf); // above both
    hand.tell(where, toldAt(now, row * columns + column), new DOMRect(left, top + 8, width, bottom - top - 8));
  }

  /** Let a row and a column stand out; −1 for none. */
  function mark(row, column) {
    setClass(table, "reading", row >= 0 || column >= 0);
    heads.forEach((head, j) => setClass(head, "on", j === column));
    sides.forEach((side, i) => setClass(side, "on", i === row));
    cells.forEach((line, i) =>
      line.forEach((cell, j) => {
        setClass(cell, "on", i === row || j === column);
        setClass(cell, "at", i === row && j === column);
      }),
    );
  }

  function point(row, column) {
    if (at && at[0] === row && at[1] === column) return;
    at = [row, column];
    mark(row, column);
    tell();
    hand.highlight({ [now.axes[0]]: now.rows[row], [now.axes[1]]: now.columns[column] });
  }

  function highlight(lit) {
    at = null;
    mark(now.rows.indexOf(lit[now.axes[0]]), now.columns.indexOf(lit[now.axes[1]]));
  }

  const find = (target) => {
    const cell = target.closest?.("tbody td");
    return cell && table.contains(cell) ? [cell.parentNode.rowIndex - 1, cell.cellIndex - 1] : null;
  };
  const readAt = (target) => {
    const place = find(target);
    if (place) point(...place);
    return place !== null;
  };
  const leave = hand.reads(table, readAt);
  listen(table, "focusin", ({ target }) => readAt(target));
  listen(table, "focusout", leave);
  listen(table, "keydown", (event) => {
    const place = find(event.target);
    if (!place || !(event.key in MOVES)) return;
    event.preventDefault();
    const [down, across] = MOVES[event.key];
    const cell = cells[place[0] + down]?.[clamp(place[1] + across, 0, columns - 1)];
    if (!cell) return;
    event.target.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  });

  const width = columns > 9 ? 99 : Math.max(4.5 + 2 * columns, 13);
  return { element, update, lay: fitWords, highlight, legend, width };
}

panelKinds.heatmap = heatmap;
