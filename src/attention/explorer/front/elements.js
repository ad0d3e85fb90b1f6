// ------------------------------------------------------------------------------------------------ elements

const SVG = ["svg", "g", "path", "line", "circle", "rect", "text", "tspan", "polygon", "title"];

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

const setText = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

/** Where a value lies on a panel's scale: its strength from 0 to 1. */
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
  cell.toggleAttribute("data-negative", !hidden && value < 0);
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
