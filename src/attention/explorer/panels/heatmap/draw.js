// ------------------------------------------------------------------------------------------------ heatmap
// Coloured cells with their numbers.

// With more columns than this there is no room for numbers: cells have them as labels, and the read-out says them.
const MOST_WRITTEN = 12;
const LEAST_WRITTEN = 28; // pixels of a column that has numbers; presented, for each its own width

function heatmap(read, hand) {
  const [rows, columns] = read.shape("values");
  const attributes = { class: "heatmap", "data-columns": columns > MOST_WRITTEN ? "many" : "few" };
  const { table, caption, corner, heads, sides, cells } = makeGrid(rows, columns, attributes);
  const scroller = make("div", { class: "scroller" }, table);
  const choosers = read.first("control"); // the controls that a row and a column set
  const chosen = choosers.every(Boolean) ? "cell" : choosers[0] ? "row" : "column";
  const hint = make("p", { class: "hint" }, choosers.some(Boolean) ? `Tap a ${chosen} to choose it.` : "");
  const between = make("span", { class: "axis" }); // small ones share it
  const scale = make("span", { class: "scale" }, make("span"), make("i", { "aria-hidden": "true" }), make("span"));
  const legend = make("p", { class: "legend" }, between, scale);
  const parts = read.small ? [] : [legend];
  const element = make("div", { class: choosers.some(Boolean) ? "choosing" : null }, scroller, ...parts, hint);
  corner.className = "corner";
  cells.flat().forEach((cell, i) => (cell.tabIndex = i ? -1 : 0));
  let now = null;
  let at = null; // the cell that is read
  let room = 0; // in pixels, once it is known
  let words = null; // above the columns: each state's are kept, so that the same ones are the same list

  function update(state) {
    now = read.now(state);
    const { limits, color, row, column } = now;
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
      side.parentNode.toggleAttribute("data-chosen", i === row && column == null);
    });
    cells.forEach((line, i) =>
      line.forEach((cell, j) => {
        const index = i * columns + j;
        const value = now.values[index];
        const hidden = isHidden(index);
        cell.toggleAttribute("data-chosen", isChosen(i, j));
        const drawn = now.drawn.values[index];
        const isSame = Object.is(cell.seen, value) && Object.is(cell.drawn, drawn);
        if (isSame && cell.hid === hidden && cell.colored === color) return;
        Object.assign(cell, { seen: value, drawn, hid: hidden, colored: color });
        fill(cell, value, hidden, now.digits);
        const { background, text } = tint(color, drawn, limits, { hidden, digits: now.digits });
        cell.style.backgroundColor = background;
        cell.style.color = text;
        const word = hidden ? "masked" : brief(value, now.digits);
        if (columns > MOST_WRITTEN) cell.setAttribute("aria-label", word);
        else setText(cell.firstChild, word);
      }),
    );
    if (at) tell();
  }

  /** Whether a cell is marked: as one that the state names, or of its column. */
  function isChosen(i, j) {
    const { row, column, ringed = [] } = now;
    if (column != null) return j === column && (row == null || i === row);
    return ringed.some(([r, c]) => r === i && c === j);
  }

  /** Words wider than their column stand upright, 10 pixels a letter at most; numbers wider than it go unwritten. */
  function fitWords() {
    if (!room) return;
    const width = (room / hand.scale() - 90) / columns;
    const least = hand.scale() > 1 ? 6.5 * ((now.digits ?? 2) + 2) : LEAST_WRITTEN;
    const isNumberless = read.small || width < least;
    setClass(table, "numberless", isNumberless);
    scale.hidden = !isNumberless;
    const longest = Math.max(...now.columns.map((word) => [...word].length));
    const isLong = 10 * longest > width;
    heads.forEach((head) => head.toggleAttribute("data-long", isLong && longest > 2));
  }

  const isHidden = (index) => isMasked(now, index);

  function tell() {
    const [row, column] = at;
    const index = row * columns + column;
    const [rowAxis, columnAxis] = [now.axes[0] || "row", now.axes[1] || "column"];
    const value = isHidden(index) ? "masked" : told(now.values[index]);
    const where = `${rowAxis} ${now.rows[row]} → ${columnAxis} ${now.columns[column]}: `;
    hand.tell(where, value, rectOf(cells[row][column]));
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

  function leave() {
    at = null;
    mark(-1, -1);
    hand.hideReadout();
  }

  function highlight(lit) {
    at = null;
    mark(now.rows.indexOf(lit[now.axes[0]]), now.columns.indexOf(lit[now.axes[1]]));
  }

  const find = (target) => {
    const cell = target.closest?.("tbody td");
    return cell && table.contains(cell) ? [cell.parentNode.rowIndex - 1, cell.cellIndex - 1] : null;
  };
  function lay(found = room) {
    room = found;
    if (now) fitWords();
  }
  const readAt = (target) => {
    const place = find(target);
    if (place) point(...place);
    return place !== null;
  };
  hand.onStop(follow(table, readAt, leave));
  listen(table, "focusin", ({ target }) => readAt(target));
  listen(table, "focusout", leave);
  function choose(place) {
    const chosen = choosers.map((name, axis) => [name, place[axis]]).filter(([name]) => name);
    if (chosen.length) hand.move(Object.fromEntries(chosen));
  }
  listen(table, "click", (event) => {
    const place = find(event.target);
    if (place) choose(place);
  });
  listen(table, "keydown", (event) => {
    const place = find(event.target);
    if (!place) return;
    const [row, column] = place;
    if (event.key === "Enter") choose(place);
    const next = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [row, 0],
      End: [row, columns - 1],
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const cell = cells[next[0]]?.[next[1]];
    if (!cell) return;
    event.target.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  });

  /** A sentence for those who hear the figure: the numbers of a small one. */
  function summary() {
    const number = (i, j) => brief(now.values[i * columns + j], now.digits);
    const said = (row, i) => `${row} ${now.columns.map((name, j) => `${name} ${number(i, j)}`).join(", ")}`;
    return rows * columns > 4 ? "" : now.rows.map(said).join("; ");
  }
  return { element, update, lay, highlight, summary, legend, columns };
}

panelKinds.heatmap = heatmap;
