// ------------------------------------------------------------------------------------------------ plot
// What drawings in numbers share: where a number lies, the marks of an axis, its grid, lines through numbers, dots.

/** How far along an axis a number lies, as a part of it. */
const along = (value, [low, high], scale) =>
  scale === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low || 1);

/** Where numbers lie in a plot: the two maps from numbers to pixels of its box, and the way back from a height. */
function scales(xLimits, limits, box, xScale = "linear", yScale = "linear") {
  const px = (x) => box.left + along(x, xLimits, xScale) * (box.right - box.left);
  const py = (y) => box.bottom - along(y, limits, yScale) * (box.bottom - box.top);
  const numberAt = (y) => {
    const part = (box.bottom - y) / (box.bottom - box.top);
    return yScale === "log" ? limits[0] * (limits[1] / limits[0]) ** part : limits[0] + part * (limits[1] - limits[0]);
  };
  return { px, py, numberAt };
}

/** A path through the finite values; a gap where there are none. */
function trace(x, y, px, py) {
  let path = "";
  let pen = "M";
  for (let i = 0; i < x.length; i++) {
    const isThere = Number.isFinite(y[i]) && Number.isFinite(x[i]);
    if (isThere) path += `${pen}${px(x[i]).toFixed(2)} ${py(y[i]).toFixed(2)}`;
    pen = isThere ? "L" : "M";
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

/** The marks of an axis. @returns {{value: number, label: string}[]} */
function marksOf([low, high], scale, count) {
  if (scale === "log") return logTicks(low, high, count + 2);
  return ticks(low, high, count).map((value) => ({ value, label: told(value) }));
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

/** Powers of ten between low and high, at most `count`, and what lies between them; few are named. */
function logTicks(low, high, count) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const every = Math.ceil((last - first) / count);
  const named = Math.log10(high / low) < 1.2 ? [1, 2, 5] : [1];
  const isFar = low < 1e-4 || high >= 1e6; // then each power of ten is written as one
  const found = [];
  for (let exponent = first; exponent <= last; exponent++) {
    for (let factor = 1; factor < (every > 1 ? 2 : 10); factor++) {
      const value = Number(`${factor}e${exponent}`);
      const words = isFar && factor < 2 ? power(exponent) : told(value);
      const label = named.includes(factor) && exponent % every === 0 ? words : "";
      if (value >= low * 0.999 && value <= high * 1.001) found.push({ value, label });
    }
  }
  return found;
}

/**
 * The grid of a plot, with the numbers and the names of its axes.
 * @param {Element} frame @param {any} plot its width, box, px and py @param {any[]} across marks, which may have a line
 * @param {any[]} up marks @param {{names: string[], edge: number, under: number}} words the axes' names; in pixels, where
 *   the upper one begins, and how far below the box numbers stand
 */
function drawAxes(frame, { width, box, px, py }, across, up, { names, edge, under }) {
  const look = ({ value, label }) => (value === 0 ? "zero" : label ? "grid" : "grid minor");
  const level = (y) => ({ x1: box.left, x2: box.right, y1: y, y2: y });
  const upright = (x) => ({ x1: x, x2: x, y1: box.top, y2: box.bottom });
  const foot = box.bottom + under;
  frame.replaceChildren(
    ...up.flatMap((mark) => [
      make("line", { ...level(py(mark.value)), class: look(mark) }),
      textAt(box.left - 6, py(mark.value) + 4, "end", mark.label),
    ]),
    ...across.flatMap((mark) => {
      const x = px(mark.value);
      const isCut = x + 3.5 * mark.label.length > width; // about 7 pixels a letter
      const word = textAt(isCut ? width : x, foot, isCut ? "end" : "middle", mark.label);
      return mark.isGrid ? [make("line", { ...upright(x), class: look(mark) }), word] : [word];
    }),
    textAt(box.right, foot + 16, "end", names[0]),
    textAt(edge, 12, "start", names[1]),
  );
}

/** A piece of a line for a legend, with its dashes. */
const sampleOf = (look, dash) =>
  make(
    "svg",
    { class: "sample", viewBox: "0 0 28 8", "aria-hidden": "true" },
    make("path", { d: "M0 4H28", class: look, "stroke-dasharray": dash }),
  );

/** The width of a text in pixels, about. */
const textWidth = (() => {
  const canvas = document.createElement("canvas").getContext("2d");
  return (text, size, weight = 400) => {
    canvas.font = `${weight} ${size}px system-ui, sans-serif`;
    return canvas.measureText(text).width;
  };
})();
