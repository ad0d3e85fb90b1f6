// ------------------------------------------------------------------------------------------------ kinds of panel

/**
 * What draws each kind; a draw.js enters its own. It takes its fields' readers and what it can do (panels.js), builds
 * its element once, with a caption or figcaption, and returns { element, update(state) }. Where it can, it also returns
 * - lay(), which draws it anew where its width (hand.width) has changed;
 * - highlight(lit), and legend, an element that alike panels side by side share;
 * - compare(places), which keeps the state that a question starts from in sight behind the next ones;
 * - width, in rem, for which it asks, 16 where it says nothing and all there is from 99; tall, slim: where the first
 *   panel is tall, slim ones stand beside it.
 * @type {Object<string, (read: any, hand: any) => any>}
 */
const panelKinds = {};
