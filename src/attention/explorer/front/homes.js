// ------------------------------------------------------------------------------------------------ its two homes

/** The explorer and the controls that an address names: "#lookup?temperature=0.05". */
function parseAddress(hash) {
  const [name, query] = hash.replace(/^#/, "").split("?");
  if (!query) return null;
  return { name: decodeURIComponent(name), labels: Object.fromEntries(new URLSearchParams(query)) };
}

class AttentionExplorer extends HTMLElement {
  connectedCallback() {
    // A script that runs before the page is read finds the element still empty.
    if (document.readyState !== "loading") this.start();
    else listen(document, "DOMContentLoaded", () => this.start(), { once: true });
  }
  start() {
    const data = this.querySelector('script[type="application/json"]');
    if (!data) return;
    this.explorer = build(this, JSON.parse(data.textContent), {}, null);
    // A page that is opened in a state shows it; one that was reloaded, or returned to, is left where its reader was.
    if (AttentionExplorer.asked(location.hash) !== this) return;
    this.obey(location.hash);
    if (history.state?.followed) this.explorer.resume?.();
    else keepInSightWhilePageGrows(this);
  }
  disconnectedCallback() {
    this.explorer?.stop();
  }
  /** Set the controls as an address says. */
  obey(hash) {
    this.explorer.obey(parseAddress(hash).labels);
  }
  /** The explorer of this page that an address names, once it is built. @returns {AttentionExplorer | null} */
  static asked(hash) {
    const address = parseAddress(hash);
    const found = address && /** @type {any} */ (document.getElementById(address.name));
    return found?.explorer ? found : null;
  }
}
if (!customElements.get("attention-explorer")) {
  addEventListener("load", () => {
    if (new URLSearchParams(location.search).has("present")) presentPage();
  });
  customElements.define("attention-explorer", AttentionExplorer);
  addEventListener("hashchange", () => {
    const el = AttentionExplorer.asked(location.hash);
    el?.obey(location.hash);
    if (el && !history.state?.followed && !isInSight(el)) bring(el);
  });
  listen(document, "click", (event) => {
    const link = /** @type {HTMLAnchorElement} */ (/** @type {Element} */ (event.target).closest?.('a[href^="#"]'));
    const el = link && AttentionExplorer.asked(link.hash);
    if (!el || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.hash !== location.hash) history.pushState({ followed: true }, "", link.hash);
    const { top } = rectOf(link);
    el.obey(link.hash);
    scrollBy({ top: rectOf(link).top - top, behavior: "instant" }); // the figure above may have grown
    showBoth(el, link);
  });
}

function render({ model, el }) {
  const commit = (state) => {
    model.set("state", state);
    model.save_changes();
  };
  const explorer = build(el, model.get("payload"), model.get("state"), commit);
  // JupyterLab takes the arrow keys for itself unless the element that has the focus says no.
  listen(el, "focusin", (event) => (event.target.dataset.lmSuppressShortcuts = "true"));
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
