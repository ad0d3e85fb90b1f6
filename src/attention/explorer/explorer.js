/* The attention explorer: draws what Python computed, and computes nothing itself.
 *
 * A payload holds the controls and, for every state of them, the panels' numbers. Two homes share this file: the custom
 * element <attention-explorer> of a static page (a classic script, so that it loads from disk), and anywidget's
 * render({ model, el }) in JupyterLab and Colab (the Python side appends the export).
 *
 * @typedef {{name: string, label: string, kind: "range"|"select"|"checkbox"|"text", states: any[], labels: string[],
 *            initial: number, min?: number, max?: number, step?: number}} Control
 * @typedef {{over: number[], items?: any[], shape?: number[], numbers?: string, zeros?: string, bits?: string}} Packed
 * @typedef {{kind: "heatmap"|"bars"|"curves", fields: Object<string, Packed>}} Panel
 * @typedef {{controls: Control[], panels: Panel[]}} Payload
 */
const attentionExplorer = (() => {
  "use strict";

  // ---------------------------------------------------------------------------------------------- numbers

  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

  const bit = (packed, index) => (packed[index >> 3] >> (index & 7)) & 1;

  /** The numbers of a packed field: float32 ("f4:…") or float64 ("f8:…"), its zeros kept apart as bits. */
  function decodeNumbers({ numbers, zeros }) {
    const raw = bytes(numbers.slice(3)).buffer;
    const dense = numbers.startsWith("f4:") ? new Float32Array(raw) : new Float64Array(raw);
    if (!zeros) return dense;
    const isZero = bytes(zeros);
    const all = new dense.constructor(zeros.length * 6); // at least as many as there are bits
    let next = 0;
    for (let i = 0; next < dense.length; i++) if (!bit(isZero, i)) all[i] = dense[next++];
    return all;
  }

  /** @param {Packed} packed @param {number[]} counts @returns {(state: number[]) => any} what the field holds there */
  function reader(packed, counts) {
    const place = (state) => packed.over.reduce((at, axis) => at * counts[axis] + state[axis], 0);
    if (packed.items) return (state) => packed.items[place(state)];
    const size = packed.shape.reduce((product, length) => product * length, 1);
    if (packed.bits) {
      const all = bytes(packed.bits);
      return (state) => {
        const start = place(state) * size;
        return (index) => bit(all, start + index) === 1;
      };
    }
    const all = decodeNumbers(packed);
    return (state) => all.subarray(place(state) * size, (place(state) + 1) * size);
  }

  /** A float32's shortest decimal form, so that 0.1 reads "0.1". */
  function exact(value) {
    if (!Number.isFinite(value) || Math.fround(value) !== value) return String(value);
    const short = Number(value.toPrecision(7));
    return String(Math.fround(short) === value ? short : Number(value.toPrecision(9)));
  }

  const odd = (value) => (Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞");

  const typeset = (text) => text.replace(/-/g, "−");

  /** A number for a cell: so many decimals, or powers of ten where they would not fit. */
  function brief(value, digits) {
    if (!Number.isFinite(value)) return odd(value);
    const text = Math.abs(value) >= 1e5 ? value.toExponential(1) : value.toFixed(digits);
    return typeset(text.replace(/^-(?=[0.]*$)/, ""));
  }

  /** A number for the read-out: four significant digits. */
  function told(value) {
    if (!Number.isFinite(value)) return odd(value);
    return typeset(String(Number(value.toPrecision(4))));
  }

  // ---------------------------------------------------------------------------------------------- elements

  /** @returns {HTMLElement} a new element; attributes that are null are left out, children may be strings */
  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "g", "path", "line", "circle", "text"].includes(tag);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value != null) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const setText = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  /** Where a value lies on a panel's scale: its strength from 0 to 1, and whether it is below zero. */
  function strength(value, [low, high]) {
    if (!Number.isFinite(value)) return 0;
    const part = low < 0 ? Math.abs(value) / Math.max(-low, high) : (value - low) / (high - low || 1);
    return Math.min(Math.max(part, 0), 1);
  }

  /** Give a cell its number; the same for heatmaps and bars. */
  function fill(cell, value, hidden) {
    cell.dataset.value = exact(value);
    cell.toggleAttribute("data-masked", hidden);
    cell.toggleAttribute("data-odd", !hidden && !Number.isFinite(value));
  }

  // Colours of cells are mixed here, not by CSS: color-mix() in 256 cells costs half of a frame.
  const shades = new Map();

  /** The colours of a cell, for a light and a dark page at once, with black or white text, whichever stands out. */
  function shade(color, strength) {
    const name = `${color} ${strength.toFixed(2)}`;
    if (!shades.has(name)) shades.set(name, mix(palette(color), palette("paper"), Number(strength.toFixed(2))));
    return shades.get(name);
  }

  /** A colour of the stylesheet, as red, green and blue in a light and in a dark page. */
  function palette(name) {
    const both = getComputedStyle(document.documentElement).getPropertyValue(`--al-${name}`);
    return both.match(/#\w{6}/g).map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  }

  function mix(colors, papers, strength) {
    const mixed = colors.map((color, theme) =>
      color.map((part, i) => Math.round(papers[theme][i] + strength * (part - papers[theme][i]))),
    );
    const texts = mixed.map((color) => (luminance(color) > 0.179 ? "#000" : "#fff"));
    return { background: `light-dark(${mixed.map((color) => `rgb(${color})`)})`, text: `light-dark(${texts})` };
  }

  /** Relative luminance, as WCAG 2 defines it; black and white stand out alike at 0.179. */
  function luminance(color) {
    const linear = color.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }

  // ---------------------------------------------------------------------------------------------- panels
  // Each takes its fields' readers and a function that says something to the reader, builds its element once, and
  // returns { element, update(state) }.

  // With more columns than this there is no room for numbers: cells have them as labels, and the read-out says them.
  const MOST_WRITTEN = 12;

  function heatmap(read, say) {
    const first = read.first;
    const [, columns] = first("values_shape");
    const caption = make("caption");
    const corner = make("td", { class: "corner" });
    const heads = first("columns").map(() => make("th", { scope: "col" }, make("span")));
    const sides = first("rows").map(() => make("th", { scope: "row" }));
    const cells = sides.map(() => heads.map(() => make("td", { tabindex: -1 }, make("span"))));
    const table = make(
      "table",
      { class: "heatmap", "data-columns": columns > MOST_WRITTEN ? "many" : columns > 7 ? "some" : "few" },
      caption,
      make("thead", {}, make("tr", {}, corner, ...heads)),
      make("tbody", {}, ...sides.map((side, row) => make("tr", {}, side, ...cells[row]))),
    );
    if (cells.length && columns) cells[0][0].tabIndex = 0;
    let now = null;

    function update(state) {
      now = {
        values: read("values", state),
        masked: read("mask", state),
        rows: read("rows", state),
        columns: read("columns", state),
        axes: read("axes", state),
      };
      const limits = read("limits", state);
      const digits = read("digits", state);
      const color = read("color", state);
      setText(caption, read("caption", state));
      setText(corner, now.axes.length ? `${now.axes[0]} ↓ ${now.axes[1]} →` : "");
      heads.forEach((head, column) => {
        setText(head.firstChild, now.columns[column]);
        head.toggleAttribute("data-long", [...now.columns[column]].length > (columns > 7 ? 2 : 3));
      });
      sides.forEach((side, row) => setText(side, now.rows[row]));
      cells.forEach((line, row) =>
        line.forEach((cell, column) => {
          const index = row * columns + column;
          const value = now.values[index];
          const hidden = Boolean(now.masked && !now.masked(index));
          if (Object.is(cell.seen, value) && cell.hid === hidden && cell.colored === color) return;
          Object.assign(cell, { seen: value, hid: hidden, colored: color });
          fill(cell, value, hidden);
          const plain = hidden || !Number.isFinite(value);
          const { background, text } = plain ? {} : shade(value < 0 ? "muted" : color, strength(value, limits));
          cell.style.backgroundColor = background ?? "";
          cell.style.color = text ?? "";
          const word = hidden ? "masked" : brief(value, digits);
          if (columns > MOST_WRITTEN) cell.setAttribute("aria-label", word);
          else setText(cell.firstChild, word);
        }),
      );
      if (table.classList.contains("reading")) tell();
    }

    let at = null;
    function tell() {
      const [row, column] = at;
      const { rows, columns: names, axes, values, masked } = now;
      const [rowAxis, columnAxis] = axes.length ? axes : ["row", "column"];
      const index = row * columns + column;
      const value = masked && !masked(index) ? "masked" : told(values[index]);
      say(`${rowAxis} ${rows[row]} → ${columnAxis} ${names[column]}: `, value);
    }

    function point(row, column) {
      at = [row, column];
      table.classList.add("reading");
      heads.forEach((head, j) => head.classList.toggle("on", j === column));
      sides.forEach((side, i) => side.classList.toggle("on", i === row));
      cells.forEach((line, i) =>
        line.forEach((cell, j) => {
          cell.classList.toggle("on", i === row || j === column);
          cell.classList.toggle("at", i === row && j === column);
        }),
      );
      tell();
    }

    function leave() {
      table.classList.remove("reading");
      say();
    }

    const find = (target) => {
      const cell = target.closest?.("tbody td");
      return cell && [cell.parentNode.rowIndex - 1, cell.cellIndex - 1];
    };
    table.addEventListener("pointerover", (event) => {
      const place = find(event.target);
      if (place) point(...place);
    });
    table.addEventListener("pointerleave", leave);
    table.addEventListener("focusin", (event) => {
      const place = find(event.target);
      if (place) point(...place);
    });
    table.addEventListener("focusout", leave);
    table.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const place = find(event.target);
      if (!step || !place) return;
      event.preventDefault();
      const next = cells[place[0] + step[0]]?.[place[1] + step[1]];
      if (!next) return;
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    return { element: table, update };
  }

  function bars(read, say) {
    const first = read.first;
    const caption = make("caption");
    const sides = first("labels").map(() => make("th", { scope: "row" }));
    const cells = sides.map(() => make("td", {}, make("span", { class: "bar" }), make("span", { class: "number" })));
    const table = make(
      "table",
      { class: "bars" },
      caption,
      make("tbody", {}, ...sides.map((side, row) => make("tr", {}, side, cells[row]))),
    );

    function update(state) {
      const values = read("values", state);
      const labels = read("labels", state);
      const masked = read("mask", state);
      const [low, high] = read("limits", state);
      const digits = read("digits", state);
      const origin = Math.min(Math.max(0, low), high);
      const part = (value) => Math.min(Math.max((value - low) / (high - low || 1), 0), 1);
      table.dataset.color = read("color", state);
      setText(caption, read("caption", state));
      sides.forEach((side, row) => {
        const value = values[row];
        const hidden = Boolean(masked && !masked(row));
        const drawn = hidden || Number.isNaN(value) ? origin : value;
        const [bar, number] = cells[row].children;
        setText(side, labels[row]);
        fill(cells[row], value, hidden);
        bar.style.setProperty("--from", part(Math.min(drawn, origin)).toFixed(4));
        bar.style.setProperty("--to", part(Math.max(drawn, origin)).toFixed(4));
        setText(number, hidden ? "masked" : brief(value, digits));
      });
    }

    table.addEventListener("pointerover", (event) => {
      const line = event.target.closest("tbody tr");
      if (!line) return;
      const cell = line.lastChild;
      say(`${line.firstChild.textContent}: `, "masked" in cell.dataset ? "masked" : told(Number(cell.dataset.value)));
    });
    table.addEventListener("pointerleave", () => say());
    return { element: table, update };
  }

  /** Round numbers between low and high, about `count` of them. */
  function ticks(low, high, count) {
    const rough = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
      found.push(Number((i * step).toPrecision(12)));
    }
    return found;
  }

  function curves(read, say) {
    const names = read.first("names");
    const pointNames = read.first("point_names");
    const frame = make("g", { class: "frame" });
    const lines = names.map((name) => make("path", { "data-name": name, class: "line" }));
    const clouds = pointNames.map((name) => make("path", { "data-points": name, class: "points" }));
    const tags = pointNames.map((name) => make("text", { class: "tag" }, name)); // of points that are alone
    const hair = make("line", { class: "hair", visibility: "hidden" });
    const svg = make("svg", { role: "img", tabindex: 0 }, frame, ...lines, ...clouds, ...tags, hair);
    const key = make("p", { class: "legend" });
    const caption = make("figcaption");
    const figure = make("figure", { class: "curves" }, caption, svg, key);
    let now = null;
    let at = null;

    function update(state) {
      now = {
        caption: read("caption", state),
        x: read("x", state),
        y: read("y", state),
        points: pointNames.map((_, i) => [read(`points_x_${i}`, state), read(`points_y_${i}`, state)]),
        labels: read("axes", state),
        colors: read("colors", state),
        xLimits: read("x_limits", state),
        limits: read("limits", state),
      };
      now.lines = names.map((_, i) => now.y.subarray(i * now.x.length, (i + 1) * now.x.length));
      setText(caption, now.caption);
      svg.setAttribute("aria-label", sentence());
      draw();
    }

    /** What the picture shows, for those who do not see it. */
    function sentence() {
      const count = now.x.length;
      const said = names.map((name, i) => {
        const line = now.lines[i];
        return `${name} goes from ${told(line[0])} at ${told(now.x[0])} to ${told(line[count - 1])} at ${told(now.x[count - 1])}`;
      });
      const dots = pointNames.map((name, i) => `${now.points[i][0].length} points, ${name}`);
      return `${now.caption || "Curves"}: ${[...said, ...dots].join("; ")}.`;
    }

    function draw() {
      const width = figure.clientWidth || 480;
      const height = Math.round(Math.min(Math.max(width * 0.5, 180), 280));
      const [x0, x1] = now.xLimits;
      const [y0, y1] = now.limits;
      const box = { left: 46, right: width - 12, top: 10, bottom: height - 38 };
      const px = (x) => box.left + ((x - x0) / (x1 - x0 || 1)) * (box.right - box.left);
      const py = (y) => box.bottom - ((y - y0) / (y1 - y0 || 1)) * (box.bottom - box.top);
      now.px = px;
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const signature = [width, x0, x1, y0, y1, ...now.labels, ...now.colors].join();
      if (signature !== svg.signature) {
        svg.signature = signature;
        drawFrame(box, px, py, [x0, x1], [y0, y1]);
      }
      lines.forEach((path, i) => path.setAttribute("d", trace(now.x, now.lines[i], px, py)));
      clouds.forEach((path, i) => path.setAttribute("d", dots(...now.points[i], px, py)));
      tags.forEach((tag, i) => {
        const [[x, ...more], [y]] = now.points[i];
        tag.setAttribute("visibility", Number.isFinite(x) && Number.isFinite(y) && !more.length ? "visible" : "hidden");
        const cut = px(x) + 8 + 7 * tag.textContent.length > width; // about 7 pixels a letter
        tag.setAttribute("text-anchor", cut ? "end" : "start");
        if (Number.isFinite(x)) tag.setAttribute("x", px(x) + (cut ? -8 : 8));
        if (Number.isFinite(y)) tag.setAttribute("y", py(y) - 6);
      });
      hair.setAttribute("y1", box.top);
      hair.setAttribute("y2", box.bottom);
      if (at !== null) point(at);
    }

    function drawFrame(box, px, py, xs, ys) {
      const text = (x, y, anchor, words) => make("text", { x, y, "text-anchor": anchor }, words);
      frame.replaceChildren(
        ...ticks(...ys, 4).flatMap((y) => [
          make("line", { x1: box.left, x2: box.right, y1: py(y), y2: py(y), class: y === 0 ? "zero" : "grid" }),
          text(box.left - 6, py(y) + 4, "end", told(y)),
        ]),
        ...ticks(...xs, Math.min(8, (box.right - box.left) / 60)).map((x) =>
          text(px(x), box.bottom + 16, "middle", told(x)),
        ),
        text(box.right, box.bottom + 33, "end", now.labels[0]),
      );
      lines.forEach((path, i) => {
        path.dataset.color = now.colors[i];
        path.dataset.dash = dash(i);
      });
      clouds.forEach((path, i) => (path.dataset.color = now.colors[names.length + i]));
      const entry = (name, i, kind) =>
        make(
          "span",
          { "data-color": now.colors[i] },
          make("i", { class: kind, "data-dash": kind === "stroke" ? dash(i) : null, "aria-hidden": "true" }),
          name,
        );
      key.replaceChildren(
        ...names.map((name, i) => entry(name, i, "stroke")),
        ...pointNames.map((name, i) => entry(name, names.length + i, "dot")),
      );
      if (now.labels[1]) key.prepend(make("span", { class: "axis" }, `${now.labels[1]} ↑`));
    }

    /** Which line of its colour a line is, the first being 0: lines of one colour differ by their dashes. */
    const dash = (i) => now.colors.slice(0, i).filter((color) => color === now.colors[i]).length;

    /** A path through the finite values; a gap where there are none. */
    function trace(x, y, px, py) {
      let path = "";
      let pen = "M";
      for (let i = 0; i < x.length; i++) {
        if (!Number.isFinite(y[i]) || !Number.isFinite(x[i])) {
          pen = "M";
          continue;
        }
        path += `${pen}${px(x[i]).toFixed(2)} ${py(y[i]).toFixed(2)}`;
        pen = "L";
      }
      return path;
    }

    /** Dots as strokes of no length with round ends. */
    function dots(x, y, px, py) {
      let path = "";
      for (let i = 0; i < x.length; i++) {
        if (Number.isFinite(x[i]) && Number.isFinite(y[i])) path += `M${px(x[i]).toFixed(2)} ${py(y[i]).toFixed(2)}h0`;
      }
      return path;
    }

    function point(index) {
      at = index;
      const x = now.px(now.x[index]);
      hair.setAttribute("x1", x);
      hair.setAttribute("x2", x);
      hair.setAttribute("visibility", "visible");
      const values = names.map((name, i) => `${name} ${told(now.lines[i][index])}`);
      say(`${now.labels[0] || "x"} = ${told(now.x[index])}: `, values.join(", "));
    }

    function leave() {
      at = null;
      hair.setAttribute("visibility", "hidden");
      say();
    }

    const middle = () => Math.floor(now.x.length / 2);
    svg.addEventListener("pointermove", (event) => {
      if (!names.length) return;
      const x = event.clientX - svg.getBoundingClientRect().left;
      let nearest = 0;
      now.x.forEach((value, i) => {
        if (Math.abs(now.px(value) - x) < Math.abs(now.px(now.x[nearest]) - x)) nearest = i;
      });
      point(nearest);
    });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("focus", () => names.length && point(at ?? middle()));
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !names.length) return;
      event.preventDefault();
      point(Math.min(Math.max((at ?? middle()) + step, 0), now.x.length - 1));
    });
    const resized = new ResizeObserver(() => now && draw());
    resized.observe(figure);
    return { element: figure, update, stop: () => resized.disconnect() };
  }

  const panelKinds = { heatmap, bars, curves };

  /** @param {Panel} panel @param {number[]} counts @param {number[]} state @param {Function} say */
  function buildPanel(panel, counts, state, say) {
    const readers = Object.fromEntries(
      Object.entries(panel.fields).map(([name, packed]) => [name, reader(packed, counts)]),
    );
    const read = (name, at) => readers[name]?.(at);
    read.first = (name) => (name === "values_shape" ? panel.fields.values.shape : read(name, state));
    const built = panelKinds[panel.kind](read, say);
    const element = make("div", { class: `panel panel-${panel.kind}` }, built.element);
    return { ...built, element };
  }

  // ---------------------------------------------------------------------------------------------- controls
  // Each returns { element, show(index or text) }; `moved` is called with the new index, `typed` with the new text.

  let serial = 0;

  function rangeControl(spec, moved) {
    const input = make("input", { type: "range", min: spec.min, max: spec.max, step: spec.step });
    const output = make("output");
    const play = make("button", { type: "button", class: "play", "aria-label": `Play ${spec.label}`, "aria-pressed": "false" });
    const last = spec.states.length - 1;
    const index = () => Math.min(Math.max(Math.round((Number(input.value) - spec.min) / spec.step), 0), last);
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    let timer = null;

    function show(at) {
      const value = String(Number((spec.min + at * spec.step).toPrecision(10)));
      if (input.value !== value) input.value = value;
      input.setAttribute("aria-valuetext", spec.labels[at]);
      setText(output, spec.labels[at]);
      input.style.setProperty("--at", last ? at / last : 0);
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      play.setAttribute("aria-pressed", "false");
    }
    function start() {
      if (index() === last) moved(0);
      const pause = Math.min(Math.max(4000 / (last || 1), 60), 700);
      timer = setInterval(() => {
        if (index() < last) moved(index() + 1);
        if (index() >= last) stop();
      }, still.matches ? Math.max(pause, 700) : pause);
      play.setAttribute("aria-pressed", "true");
    }
    input.addEventListener("input", () => {
      stop();
      moved(index());
    });
    play.addEventListener("click", () => (timer === null ? start() : stop()));
    const label = make("label", {}, make("span", { class: "name" }, spec.label), input, output);
    return { element: make("div", { class: "control" }, label, play), show, stop };
  }

  function selectControl(spec, moved) {
    const select = make("select", {}, ...spec.labels.map((label, at) => make("option", { value: at }, label)));
    select.addEventListener("change", () => moved(select.selectedIndex));
    const label = make("label", {}, make("span", { class: "name" }, spec.label), select);
    return { element: make("div", { class: "control" }, label), show: (at) => (select.selectedIndex = at) };
  }

  function checkboxControl(spec, moved) {
    const input = make("input", { type: "checkbox" });
    const on = spec.states.indexOf(true);
    input.addEventListener("change", () => moved(input.checked ? on : 1 - on));
    const label = make("label", {}, input, make("span", { class: "name" }, spec.label));
    return { element: make("div", { class: "control" }, label), show: (at) => (input.checked = at === on) };
  }

  function textControl(spec, typed, live) {
    const note = make("small", { id: `attention-note-${++serial}` }, "works in a running notebook");
    const input = make("input", { type: "text", disabled: live ? null : "", "aria-describedby": live ? null : note.id });
    let timer = null;
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => typed(input.value), 250);
    });
    const label = make("label", {}, make("span", { class: "name" }, spec.label), input);
    const show = (text) => {
      if (document.activeElement !== input && input.value !== String(text)) input.value = text;
    };
    return { element: make("div", { class: "control" }, label, ...(live ? [] : [note])), show, stop: () => clearTimeout(timer) };
  }

  const controlKinds = { range: rangeControl, select: selectControl, checkbox: checkboxControl, text: textControl };

  // ---------------------------------------------------------------------------------------------- the explorer

  const NARROW = 416; // pixels

  /**
   * Build an explorer into `el`.
   * @param {HTMLElement} el
   * @param {Payload} payload
   * @param {Object<string, any>} given the state to begin with
   * @param {((state: Object<string, any>) => void) | null} commit called with each new state; null in a static page
   */
  function build(el, payload, given, commit) {
    let { controls } = payload;
    const finite = () => controls.filter((spec) => spec.kind !== "text");
    const state = {};
    let panels = [];

    const readout = make("p", { class: "readout", role: "status" });
    const say = (where = "", what = "") => readout.replaceChildren(where, what && make("b", {}, what));
    const error = make("p", { class: "error", role: "alert", hidden: "" });
    const panelBox = make("div", { class: "panels" });

    const indices = () => finite().map((spec) => indexOf(spec, state[spec.name]));
    const update = () => {
      const at = indices();
      panels.forEach((panel) => panel.update(at));
      controls.forEach((spec, i) => shown[i].show(spec.kind === "text" ? state[spec.name] : indexOf(spec, state[spec.name])));
    };
    const change = (name, to) => {
      state[name] = to;
      update();
      commit?.({ ...state });
    };

    const shown = controls.map((spec) => {
      state[spec.name] = spec.states[spec.initial];
      const moved = spec.kind === "text" ? (text) => change(spec.name, text) : (at) => change(spec.name, spec.states[at]);
      return controlKinds[spec.kind](spec, moved, commit !== null);
    });

    function setPanels(next) {
      panels.forEach((panel) => panel.stop?.());
      controls = next.controls;
      const counts = finite().map((spec) => spec.states.length);
      panels = next.panels.map((panel) => buildPanel(panel, counts, indices(), say));
      panelBox.replaceChildren(...panels.map((panel) => panel.element));
      update();
    }
    function setState(next) {
      Object.assign(state, next);
      update();
    }
    function setError(message) {
      error.hidden = !message;
      setText(error, message);
    }

    el.classList.add("attention-explorer");
    const resized = new ResizeObserver(() => el.classList.toggle("narrow", el.clientWidth < NARROW));
    resized.observe(el);
    el.replaceChildren(make("div", { class: "controls" }, ...shown.map((control) => control.element)), panelBox, readout, error);
    Object.assign(state, given);
    setPanels(payload);
    const stop = () => {
      resized.disconnect();
      [...shown, ...panels].forEach((part) => part.stop?.());
    };
    return { setPanels, setState, setError, stop };
  }

  /** The state nearest to a value: a number may come back from JSON a rounding away. */
  function indexOf(spec, value) {
    const found = spec.states.indexOf(value);
    if (found >= 0 || typeof value !== "number") return Math.max(found, 0);
    const distance = spec.states.map((state) => Math.abs(state - value));
    return distance.indexOf(Math.min(...distance));
  }

  // ---------------------------------------------------------------------------------------------- its two homes

  class AttentionExplorer extends HTMLElement {
    connectedCallback() {
      // A script that runs before the page is read finds the element still empty.
      if (document.readyState !== "loading") this.start();
      else document.addEventListener("DOMContentLoaded", () => this.start(), { once: true });
    }
    start() {
      const data = this.querySelector('script[type="application/json"]');
      if (data) this.explorer = build(this, JSON.parse(data.textContent), {}, null);
    }
    disconnectedCallback() {
      this.explorer?.stop();
    }
  }
  if (!customElements.get("attention-explorer")) customElements.define("attention-explorer", AttentionExplorer);

  function render({ model, el }) {
    const commit = (state) => {
      model.set("state", state);
      model.save_changes();
    };
    const explorer = build(el, model.get("payload"), model.get("state"), commit);
    // JupyterLab takes the arrow keys for itself unless the element that has the focus says no.
    el.addEventListener("focusin", (event) => (event.target.dataset.lmSuppressShortcuts = "true"));
    const onState = () => explorer.setState(model.get("state"));
    const onPayload = () => explorer.setPanels(model.get("payload"));
    const onError = () => explorer.setError(model.get("error"));
    model.on("change:state", onState);
    model.on("change:payload", onPayload);
    model.on("change:error", onError);
    onError();
    return () => {
      model.off("change:state", onState);
      model.off("change:payload", onPayload);
      model.off("change:error", onError);
      explorer.stop();
    };
  }

  return { render };
})();
