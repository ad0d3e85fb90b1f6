// ------------------------------------------------------------------------------------------------ links
// A link sets the controls of a figure: "#lookup?temperature=0.05". It brings the figure into sight, and offers the way
// back where that leads the reader away.

/** The explorer and the controls that an address names. */
function parseAddress(hash) {
  const [name, query] = hash.replace(/^#/, "").split("?");
  if (!query) return null;
  return { name: decodeURIComponent(name), labels: Object.fromEntries(new URLSearchParams(query)) };
}

/** The explorer of this page that an address names, once it is built. @returns {any} */
function explorerAt(hash) {
  const address = parseAddress(hash);
  const found = address && /** @type {any} */ (document.getElementById(address.name));
  return found?.explorer ? found : null;
}

function followLinks() {
  listen(window, "hashchange", () => {
    const el = explorerAt(location.hash);
    el?.explorer.obey(parseAddress(location.hash).labels);
    if (el && !history.state?.followed) bring(el);
  });
  listen(document, "click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    const el = link && explorerAt(link.hash);
    if (!el || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.hash !== location.hash) history.pushState({ followed: true }, "", link.hash);
    const { top } = rectOf(link);
    el.explorer.obey(parseAddress(link.hash).labels);
    scrollBy({ top: rectOf(link).top - top, behavior: "instant" }); // the figure above may have grown
    showBoth(el, link);
  });
}

const WAY = 64; // pixels at the lower edge that the way back takes

/** How high the page's own bar is, below which figures are seen. */
const ceilingOf = (el) => parseFloat(getComputedStyle(el).getPropertyValue("--al-top")) || 0;

/** Scroll it to the middle of the screen, or its head to the top, so far below. @param {ScrollBehavior} behavior */
function bring(el, behavior = "auto", below = 0) {
  const { top, height } = rectOf(el);
  const ceiling = ceilingOf(el) + below;
  scrollBy({ top: Math.floor(top - ceiling - Math.max(0, (innerHeight - WAY - ceiling - height) / 2)), behavior });
}

/** Bring it, and again whenever the page around it has grown (formulas, fonts), until the reader does something. */
function keepInSightWhilePageGrows(el) {
  const grown = new ResizeObserver(() => bring(el, "instant"));
  grown.observe(document.body);
  const stop = () => grown.disconnect();
  for (const act of ["wheel", "touchstart", "pointerdown", "keydown"]) listen(window, act, stop, { once: true });
}

let removeWayBack = () => {};

/** Scroll the least at which the link is seen together with its figure, or with all below its controls; or visit it. */
function showBoth(el, link) {
  removeWayBack();
  const line = rectOf(link);
  const panels = el.querySelector(".panels");
  const bar = el.matches(".tall") ? el.querySelector(".controls").offsetHeight : 0; // stays above the panels
  const least = Math.max(rectOf(el).bottom, line.bottom) - innerHeight;
  for (const [first, above] of [[el, 0], [panels, bar]]) {
    const most = Math.min(rectOf(first).top - above, line.top) - ceilingOf(el);
    const by = clamp(0, least, most);
    if (most - least > 8) return scrollBy({ top: by + 8 * Math.sign(by) });
  }
  visit(el, link, bar);
}

/** Bring it, and while the link that asked for it is out of sight offer the way back. @param {HTMLElement} link */
function visit(el, link, bar) {
  const goBack = () => {
    el.explorer.resume?.();
    link.scrollIntoView({ block: "center" });
    focusOn(link);
  };
  const back = makeButton({ class: "al-back screen", hidden: "" }, goBack, "↩ back to the text");
  const watch = new IntersectionObserver(([{ isIntersecting }]) => {
    if (isIntersecting && !back.hidden) removeWayBack();
    else back.hidden = isIntersecting;
  });
  removeWayBack = () => {
    watch.disconnect();
    back.remove();
  };
  link.after(back);
  watch.observe(link);
  const isWhole = rectOf(el).height <= innerHeight - ceilingOf(el) - WAY;
  bring(isWhole ? el : el.querySelector(".panels"), "auto", bar);
}
