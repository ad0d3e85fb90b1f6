/** The attention explorer: draws what Python computed, and computes nothing itself.
 *
 * These files are one program, joined in the order of front.py: a page's classic script, which loads from disk, and the
 * text of a notebook's anywidget. A payload holds the controls and, for every state of them, the panels' numbers.
 *
 * @typedef {{name: string, label: string, kind: "range"|"select"|"checkbox"|"text", states: any[], labels: string[],
 *            initial: number, look?: string, min?: number, max?: number, step?: number}} Control
 * @typedef {{over: number[], items?: any[], shape?: number[], numbers?: string}} Packed
 * @typedef {{kind: string, fields: Object<string, Packed>, group?: number}} PanelData
 * @typedef {{name?: string, title?: string, controls: Control[], panels: PanelData[], predict?: any}} Payload
 * @typedef {Object<string, string>} Lit  axis → label: what is pointed at
 */

/** An array from the name of its type and base64. @param {string} packed such as "f4:AACAPw==" */
function decode(packed) {
  const [type, text] = packed.split(":");
  const { buffer } = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new { f8: Float64Array, f4: Float32Array, u1: Uint8Array }[type](buffer);
}

/** What a field holds in a state. @param {Packed} packed @param {number[]} counts @returns {any} */
function reader(packed, counts) {
  const place = (state) => packed.over.reduce((at, axis) => at * counts[axis] + state[axis], 0);
  if (packed.items) return (state) => packed.items[place(state)];
  const all = decode(packed.numbers);
  const size = packed.shape.reduce((product, length) => product * length, 1);
  return (state) => all.subarray(place(state) * size, (place(state) + 1) * size);
}

/** A float32's shortest decimal form, so that 0.1 reads "0.1". */
function exact(value) {
  if (!Number.isFinite(value) || Math.fround(value) !== value) return String(value);
  const short = Number(value.toPrecision(7));
  return String(Math.fround(short) === value ? short : Number(value.toPrecision(9)));
}

const odd = (value) => (Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞");

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Ten to an integer. */
const power = (exponent) => `10${String(exponent).replace("-", "⁻").replace(/\d/g, (digit) => RAISED[Number(digit)])}`;

/** A number's text with a real minus sign, and 2.5e-3 as 2.5×10⁻³. */
const typeset = (text) =>
  text
    .replace(/(\d)e([+-]\d+)/g, (_, digit, exponent) => `${digit}×${power(Number(exponent))}`)
    .replace(/(?<![\p{L}\d])-(?=[\d.]|inf)/gu, "−") // not the hyphen of GPT-2
    .replace(/(?<![a-z])inf(?![a-z])/g, "∞");

/** A state's label: the thousands of a long number stand apart. */
const labelled = (label) => typeset(/^-?\d{5,}$/.test(label) ? Number(label).toLocaleString("en") : label);

/** With so many decimals, rounded as Python rounds: what lies in the middle between two goes to the even one. */
function fixed(value, digits) {
  const halves = value * 2 ** (digits + 1); // exact, and odd where the value lies in the middle
  if (!Number.isInteger(halves) || halves % 2 === 0) return value.toFixed(digits);
  const below = Math.floor(Math.abs(value) * 10 ** digits);
  return ((Math.sign(value) * (below + (below % 2))) / 10 ** digits).toFixed(digits);
}

/** A number for a cell: so many decimals, or powers of ten where they would not fit, or where there are no `digits`. */
function brief(value, digits) {
  const isFree = !Number.isFinite(value) || digits === undefined;
  if (isFree) return told(Number(value.toPrecision(Math.abs(value) < 0.01 ? 1 : 2)));
  const text = Math.abs(value) >= 1e5 ? value.toExponential(1) : fixed(value, digits);
  return typeset(text.replace(/^-(?=[0.]*$)/, ""));
}

/** A number for the read-out and for axes: three significant digits, and whole ones all of theirs. */
function told(value) {
  if (!Number.isFinite(value)) return odd(value);
  const size = Math.abs(value);
  const isFar = size && (size < 1e-4 || size >= 1e6);
  if (isFar) return typeset(value.toExponential(2).replace(/\.?0+e/, "e")).replace(/^(−?)1×/, "$1");
  return typeset(String(size < 1000 ? Number(value.toPrecision(3)) : Math.round(value)));
}
