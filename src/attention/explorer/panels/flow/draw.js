// ------------------------------------------------------------------------------------------------ flow
// Matrices, each made from those before it. A step lights those that it computes and what they are made of. Lines of
// matrices break where there is no room; arrows are laid after the breaks.

const FLOW = { letter: 0.6, gap: 1.5, wide: 55, widest: 75, least: 13, most: 1.1 }; // em; pixels; of what is inherited

function flow(read, hand) {
  const specs = read.first("stations");
  const caption = make("figcaption");
  const svg = make("svg", { class: "ways", "aria-hidden": "true" });
  const stations = specs.map(build);
  const lines = specs.reduce((all, spec, k) => ((all[spec.line] ??= []).push(stations[k]), all), []);
  const stage = make("div", { class: "stations" });
  const figure = make("figure", { class: "flow" }, caption, stage);
  const ways = specs.flatMap((spec, to) => spec.sources.map(([from]) => ({ from, to, element: arrowFrom(from) })));
  svg.append(...ways.map(({ element }) => element));
  let laid = []; // the lines as they stand
  let now = null;
  const isNarrow = () => Boolean(figure.closest(".narrow"));
  const isShown = ({ element }) => !element.classList.contains("unlit");

  function arrowFrom(k) {
    const head = make("polygon", { points: "0,0 -8,4 -8,-4" });
    return make("g", { "data-color": specs[k].color }, make("path"), head);
  }

  function build(spec, k) {
    const [L, S] = read.shape(`${k}_values`);
    const words = make("p", { "aria-hidden": "true" }); // may be wider than its matrix
    const spoken = make("span", { class: "spoken" });
    const { table, caption, heads, sides, cells } = makeGrid(L, S, {});
    const rows = sides.map((side) => side.parentNode);
    caption.append(spoken);
    const element = make("div", { class: "station", "data-color": spec.color }, words, table);
    const lengths = Array.from(read.first(`${k}_values`), (value) => brief(value, spec.digits).length);
    const longest = Math.max(...lengths) - (spec.digits ? 0.5 : 0); // a point is narrow
    const wide = (words) => FLOW.letter * Math.max(...words.map((word) => [...word].length));
    const cell = Math.max(FLOW.letter * longest + 0.5, 1.75);
    const label = wide(spec.rows) + 0.7;
    const isUpright = wide(spec.columns) + 0.3 > cell;
    setStyle(element, "--own", `${cell * S}em`);
    setStyle(element, "--label", `${label}em`);
    table.toggleAttribute("data-upright", isUpright);
    const high = isUpright ? 0.87 * wide(spec.columns) + 0.5 : spec.columns.some(Boolean) ? 1.5 : 0;
    const width = Math.max(cell * S, 0.52 * `${spec.name} = ${spec.operation}`.length + 0.5); // of its caption, too
    setStyle(element, "--width", `${width}em`);
    return { element, words, spoken, heads, sides, cells, rows, names: spec.rows.join("\n"), width, label, head: high };
  }

  function update(state) {
    now = { query: null, mask: [], ...read.whole(state) };
    caption.replaceChildren(...subscripted(now.caption));
    stations.forEach((station, k) => draw(station, k, now.stations[k], now.limits[k]));
    lightUp();
    if (isNarrow()) lay(); // another step has other matrices
  }

  function draw({ element, words, spoken, heads, sides, cells, rows }, k, spec, limits) {
    const operation = spec.operation ? [" = ", ...subscripted(spec.operation)] : [];
    words.replaceChildren(make("b", {}, ...subscripted(spec.name)), ...operation);
    setText(spoken, words.textContent);
    element.dataset.when = spec.step < now.step ? "done" : spec.step > now.step ? "ahead" : "now";
    heads.forEach((head, j) => setText(head.firstChild, spec.columns[j]));
    rows.forEach((row, i) => {
      setText(sides[i], spec.rows[i]);
      row.toggleAttribute("data-off", !spec.whole && now.query !== null && i !== now.query);
      cells[i].forEach((cell, j) => {
        const index = i * heads.length + j;
        const [value, hidden] = [now.values[k][index], isHidden(k, i, j)];
        fill(cell, value, hidden, spec.digits);
        const color = spec.color === "ink" ? "muted" : spec.color;
        const { background, text } = tint(color, value, limits, { hidden, digits: spec.digits, most: 0.85 });
        setStyle(cell, "--fill", background);
        cell.style.color = text;
        setText(cell.firstChild, hidden ? "" : brief(value, spec.digits));
      });
    });
  }

  const isHidden = (k, i, j) => isMasked({ mask: now.mask[k] }, i * stations[k].heads.length + j);

  // ---------------------------------------------------------------------------------------------- what is made of what

  /** The cells of a station that are a part of it, as a block: seen from row i, column j of another. */
  function block(k, part, i, j) {
    const { cells } = stations[k];
    const row = { "i:": i, "ij": i, "j:": j }[part];
    const column = { ":j": j, "ij": j }[part];
    const some = part === "≤i:" ? cells.slice(0, i + 1) : row === undefined ? cells : [cells[row]];
    return column === undefined ? some : some.map((line) => [line[column]]);
  }

  function mark(name, some) {
    stage.querySelectorAll(`.${name}`).forEach((cell) => cell.classList.remove(name));
    some.forEach((cell) => cell.classList.add(name));
  }

  /** Light what the step's numbers are made of, of the rows that it is about. */
  function lightUp() {
    const used = new Set();
    now.stations.forEach(({ step, whole, sources }, k) => {
      if (step !== now.step) return;
      stations[k].cells.forEach((row, i) => {
        if (!whole && now.query !== null && i !== now.query) return;
        row.forEach((_, j) => {
          if (isHidden(k, i, j)) return;
          sources.forEach(([from, part]) => block(from, part, i, j).flat().forEach((cell) => used.add(cell)));
        });
      });
    });
    mark("used", used);
    ways.forEach(({ to, element }) => setClass(element, "on", now.stations[to].step === now.step));
  }

  // ---------------------------------------------------------------------------------------------- places

  const joined = lines.filter((_, k) => k % 2 === 0).map((some, k) => some.concat(lines[2 * k + 1] ?? []));
  const widthAfter = (station, before) => station.width + (station.names === before?.names ? 0 : station.label);
  const widthOf = (some) =>
    some.reduce((sum, station, i) => sum + FLOW.gap + widthAfter(station, some[i - 1]), -FLOW.gap);
  const widest = (places) => Math.max(...places.map(widthOf));
  const across = lines.length > 2 && widest(joined) < FLOW.widest ? joined : lines; // where it is presented
  figure.toggleAttribute("data-wide", widest(across) > FLOW.wide);

  function arrange(places) {
    laid = places;
    const line = (some) => make("div", { class: "line" }, ...some.map((station) => station.element));
    stage.replaceChildren(svg, ...laid.map(line));
  }

  // Set the size so that the widest line fits; else break it. Labels stand where a line begins, or they change.
  // On a narrow page only what the step lights is there, without arrows: all would not fit beside their control.
  function lay() {
    const places = figure.closest(".wide") ? across : lines;
    if (places !== laid) arrange(places);
    const most = FLOW.most * parseFloat(getComputedStyle(figure).fontSize);
    const size = clamp((stage.clientWidth - 2) / widest(laid), FLOW.least, most);
    stage.style.fontSize = `${size.toFixed(2)}px`;
    const room = (stage.clientWidth - 1) / size;
    const isLit = ({ element }) => element.dataset.when === "now" || element.querySelector(".used");
    stations.forEach((station) => setClass(station.element, "unlit", isNarrow() && !isLit(station)));
    svg.toggleAttribute("hidden", isNarrow());
    let line = 0;
    for (const all of laid) {
      const some = all.filter(isShown);
      let used = 0;
      some.forEach((station, i) => {
        const next = used + FLOW.gap + widthAfter(station, some[i - 1]);
        const isFirst = !used || next > room;
        station.element.toggleAttribute("data-labels", isFirst || station.names !== some[i - 1].names);
        used = isFirst ? widthAfter(station) : next;
        station.line = isFirst ? ++line : line;
      });
    }
    stations.forEach((station) => {
      const beside = stations.filter((other) => isShown(other) && other.line === station.line);
      setStyle(station.element, "--head", `${Math.max(...beside.map(({ head }) => head))}em`);
    });
    if (!isNarrow()) drawWays(size);
  }

  /**
   * Arrows within a line and to the next one; over others' heads where these stand between, at a height for each that
   * they lead to. One that passes a line by does so beside all matrices, if no line is broken.
   */
  function drawWays(em) {
    const frame = rectOf(stage);
    const box = ({ words, cells }) => {
      const [first, last, head] = [rectOf(cells[0][0]), rectOf(cells.at(-1).at(-1)), rectOf(words)];
      const [left, right] = [first.left - frame.left, last.right - frame.left];
      const middle = (first.top + last.bottom) / 2 - frame.top;
      return { left, right, middle, top: head.top - frame.top, bottom: last.bottom - frame.top };
    };
    const boxes = stations.map(box);
    const edge = Math.max(...boxes.map(({ right }) => right));
    const heights = []; // of each line, by what shares one
    const isWhole = stations.at(-1).line === laid.length;
    for (const { from, to, element } of ways) {
      const [a, b] = [boxes[from], boxes[to]];
      const within = stations[from].line === stations[to].line;
      const fan = ways.filter((way) => way.from === from && stations[way.to].line === stations[from].line).length > 1;
      const straight = within && to === from + 1 && !fan;
      const isNext = stations[to].line === stations[from].line + 1;
      element.toggleAttribute("hidden", !within && !isNext && !isWhole);
      const shared = (heights[stations[to].line] ??= []);
      const key = fan ? -from : to;
      if (within && !straight && !shared.includes(key)) shared.push(key);
      const [x0, x1] = [(a.left + a.right) / 2, (b.left + b.right) / 2];
      const over = a.top - (0.6 + 0.5 * shared.indexOf(key)) * em;
      const beside = isNext ? "" : `V${a.bottom + 0.35 * em}H${x0 < edge / 2 ? -6 : edge + 6}`;
      const path = straight
        ? `M${a.right + 4} ${a.middle}H${b.left - 5}`
        : within
          ? `M${a.right - 0.8 * em} ${a.top - 2}V${over}H${x1}V${b.top - 1}`
          : `M${x0} ${a.bottom + 3}${beside}V${b.top - 1.55 * em}H${x1}V${b.top - 1}`;
      const [tip, angle] = straight ? [[b.left - 3, a.middle], 0] : [[x1, b.top + 1], 90];
      element.firstChild.setAttribute("d", path);
      element.lastChild.setAttribute("transform", `translate(${tip}) rotate(${angle})`);
    }
  }

  // ---------------------------------------------------------------------------------------------- the hand

  /** Which number lies there: station, row, column. */
  function find(target) {
    const k = stations.findIndex((station) => station.element.contains(target));
    const row = k < 0 ? -1 : stations[k].rows.findIndex((line) => line.contains(target));
    return [k, row, row < 0 ? -1 : stations[k].cells[row].findIndex((cell) => cell.contains(target))];
  }

  function readAt(target) {
    const [k, i, j] = find(target);
    const spec = now.stations[k];
    if (j < 0 || spec.step > now.step) return false;
    const made = spec.sources.map(([from, part]) => block(from, part, i, j).flat());
    mark("at", [stations[k].cells[i][j], ...made.flat()]);
    figure.classList.add("reading");
    const where = [spec.name, spec.rows[i], spec.columns[j]].filter(Boolean).join(", ");
    const value = now.values[k][i * spec.columns.length + j];
    caption.replaceChildren(`${where}: `, make("b", {}, isHidden(k, i, j) ? "masked" : sumOf(made, value) + told(value)));
    return true;
  }

  /** The products whose sum it is, if it is the sum of two sources' products, number by number. */
  function sumOf(made, value) {
    const [one, other] = made.map((cells) => cells.map((cell) => Number(cell.dataset.value)));
    if (made.length !== 2 || one.length !== other.length) return "";
    const sum = one.reduce((total, number, n) => total + number * other[n], 0);
    const products = one.map((number, n) => `${told(number)} · ${told(other[n])}`).join(" + ");
    return Math.abs(sum - value) < 1e-4 ? `${products} = ` : "";
  }

  hand.reads(stage, readAt, () => {
    mark("at", []);
    figure.classList.remove("reading");
    if (now) caption.replaceChildren(...subscripted(now.caption));
  });
  listen(stage, "click", (event) => {
    const [k, i] = find(event.target);
    if (k < 0) return;
    const { step, whole } = now.stations[k];
    const [control, chooser] = [read.first("control"), read.first("query_control")];
    if (control && step !== now.step) hand.move(control, step);
    if (chooser && i >= 0 && !whole && i !== now.query) hand.move(chooser, i);
  });
  arrange(lines);
  return { element: figure, lay, update, width: 99 };
}

panelKinds.flow = flow;
