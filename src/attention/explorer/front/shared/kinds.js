// ------------------------------------------------------------------------------------------------ kinds of panel

/**
 * What draws each kind; a draw.js enters its own. It takes its fields' readers and the explorer's hand (frame.js), builds
 * its element once and returns { element, update(state) }. Where it can, it also returns
 * - highlight(lit), lay(), summary(), stop(), and legend, an element that alike panels side by side share;
 * - compare(places, isAsked), which keeps the state that a question starts from in sight behind the next ones;
 * - cells, rows of elements in which a guess is drawn; wholeRows where a row is guessed, not a cell;
 * - where it stands: wide, over the whole width; tall, a picture with room for small ones beside it; small, such a one;
 *   slim, such a one that does not set how wide its neighbour is; columns, so many of a table, which is wide with many.
 * @type {Object<string, (read: any, hand: any) => any>}
 */
const panelKinds = {};
