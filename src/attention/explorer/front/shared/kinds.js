// ------------------------------------------------------------------------------------------------ kinds of panel

/**
 * What draws each kind; a draw.js enters its own. It takes its fields' readers and what it can do (panels.js), builds
 * its element once and returns { element, update(state) }. Where it can, it also returns
 * - lay(width), which draws it anew at its width, in pixels, where that has changed;
 * - highlight(lit), summary(), and legend, an element that alike panels side by side share;
 * - compare(places), which keeps the state that a question starts from in sight behind the next ones;
 * - how much room it asks for: wide, the whole width; columns, so many of a table; slim, little, as beside a tall one.
 * @type {Object<string, (read: any, hand: any) => any>}
 */
const panelKinds = {};
