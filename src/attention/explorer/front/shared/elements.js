// ------------------------------------------------------------------------------------------------ elements

const SVG = ["svg", "g", "path", "line", "circle", "rect", "text", "tspan", "polygon", "title", "clipPath"];

/** @returns {any} a new element; attributes that are null are left out, children may be strings */
function make(tag, attributes = {}, ...children) {
  const element = SVG.includes(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  set(element, attributes);
  element.append(...children);
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) if (value != null) element.setAttribute(name, value);
}

/** A text's pieces, with W_q's q below the line; names of functions stay as they are. */
const subscripted = (text) =>
  text.split(/(?<=(?<!\w)\w)_(\w)(?!\w)/).map((part, i) => (i % 2 ? make("sub", {}, part) : part));

/** @param {EventTarget} element @param {string} kind @param {(event: any) => void} act @param {any} [options] */
const listen = (element, kind, act, options) => element.addEventListener(kind, act, options);
const setClass = (element, name, isOn) => element.classList.toggle(name, isOn);
const setStyle = (element, name, value) => element.style.setProperty(name, value);
const rectOf = (element) => element.getBoundingClientRect();
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
/** Where in a list its smallest number stands. @param {number[]} numbers */
const placeOfLeast = (numbers) => numbers.indexOf(Math.min(...numbers));
const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
/** So many things, each built from its number. */
const times = (count, build) => Array.from({ length: count }, (_, i) => build(i));

/** A table of numbers, with a head for each row and each column. @param {any} attributes */
function makeGrid(rows, columns, attributes) {
  const caption = make("caption");
  const corner = make("td");
  const heads = times(columns, () => make("th", { scope: "col" }, make("span")));
  const sides = times(rows, () => make("th", { scope: "row" }));
  const cells = sides.map(() => heads.map(() => make("td", {}, make("span"))));
  const head = make("thead", {}, make("tr", {}, corner, ...heads));
  const body = make("tbody", {}, ...sides.map((side, i) => make("tr", {}, side, ...cells[i])));
  return { table: make("table", attributes, caption, head, body), caption, corner, heads, sides, cells };
}

const textAt = (x, y, anchor, words) => make("text", { x, y, "text-anchor": anchor }, words);

/** Whether the number of this index is not to be seen. @param {{mask?: Uint8Array}} now */
const isMasked = ({ mask }, index) => Boolean(mask && !mask[index]);

/** What is told of a number, at length or in short. */
const toldAt = (now, index) => (isMasked(now, index) ? "masked" : told(now.values[index]));
const briefAt = (now, index) => (isMasked(now, index) ? "masked" : brief(now.values[index], now.digits));

/** Give it the focus, and the page stays where it is. */
const focusOn = (element) => element.focus({ preventScroll: true });

/** A button that acts. @param {any} attributes @param {(button: HTMLElement) => void} act */
function makeButton(attributes, act, ...children) {
  const button = make("button", { type: "button", ...attributes }, ...children);
  listen(button, "click", () => act(button));
  return button;
}

/** Let it be seen for a moment. */
function flash(element) {
  element.classList.add("flash");
  setTimeout(() => element.classList.remove("flash"), 1500);
}

const setText = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

/** How a picture's own numbers lie in the window: one that is presented is larger. @param {SVGSVGElement} svg */
function inWindow(svg) {
  const there = svg.getScreenCTM();
  const through = (matrix) => (x, y) => {
    const point = new DOMPoint(x, y).matrixTransform(matrix);
    return [point.x, point.y];
  };
  return { to: through(there), from: through(there.inverse()) };
}

/** Where a value lies on a panel's scale: its strength from 0 to 1. */
function strength(value, [low, high]) {
  if (!Number.isFinite(value)) return 0;
  const part = low < 0 ? Math.abs(value) / Math.max(-low, high) : (value - low) / (high - low || 1);
  return clamp(part, 0, 1);
}

/** The colours of a cell: none where its number is hidden or not finite, and its own where that is below zero. */
function tint(color, value, limits, { hidden = false, digits = 99, most = 1 } = {}) {
  if (hidden || !Number.isFinite(value)) return { background: "", text: "" };
  return shade(isBelow(value, digits) ? "negative" : color, most * strength(value, limits));
}

/** Give a cell its number; the same for heatmaps and bars. */
function fill(cell, value, hidden, digits) {
  cell.dataset.value = exact(value);
  cell.toggleAttribute("data-masked", hidden);
  cell.toggleAttribute("data-odd", !hidden && !Number.isFinite(value));
  cell.toggleAttribute("data-negative", !hidden && isBelow(value, digits));
}

/** Whether a number is below zero as it is written, with so many decimals. */
const isBelow = (value, digits = 99) => value < 0 && Math.round(-value * 10 ** digits) > 0;

// Colours of cells are mixed here, not by CSS: color-mix() in 256 cells costs half of a frame.
const shades = new Map();

/** The colours of a cell, for a light and a dark page at once, with black or white text, whichever stands out. */
function shade(color, strength) {
  const name = `${color} ${strength.toFixed(2)}`;
  if (!shades.has(name)) shades.set(name, mix(palette(color), palette("paper"), Number(strength.toFixed(2))));
  return shades.get(name);
}

/** A colour of the stylesheet, as red, green and blue in a light and a dark page: asked for once, as that is dear. */
const palette = (name) => (colors[name] ??= colorsOf(name));
const colors = {};
function colorsOf(name) {
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
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = color.map((part) => linear(part / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Call when its size changes: to ask for it costs a layout of the whole page. @param {(changes: any) => void} call */
function watchSize(element, call) {
  const resized = new ResizeObserver(call);
  resized.observe(element);
  return () => resized.disconnect();
}
