// ------------------------------------------------------------------------------------------------ its two homes

/** The explorer and the controls that an address names: "#lookup?temperature=0.05". */
function parseAddress(hash) {
  const [name, query] = hash.replace(/^#/, "").split("?");
  if (!query) return null;
  const pairs = query.split("&").map((pair) => pair.split("=").map((part) => decodeURIComponent(part.replace(/\+/g, " "))));
  return { name: decodeURIComponent(name), labels: Object.fromEntries(pairs) };
}

class AttentionExplorer extends HTMLElement {
  connectedCallback() {
    // A script that runs before the page is read finds the element still empty.
    if (document.readyState !== "loading") this.start();
    else document.addEventListener("DOMContentLoaded", () => this.start(), { once: true });
  }
  start() {
    const data = this.querySelector('script[type="application/json"]');
    if (!data) return;
    const address = (hash) => location.href.split("#")[0] + hash;
    this.explorer = build(this, JSON.parse(data.textContent), {}, { commit: null, address });
    AttentionExplorer.obey(location.hash, this);
  }
  disconnectedCallback() {
    this.explorer?.stop();
  }
  /** Do what an address asks, of one explorer or of whichever it names. */
  static obey(hash, only = null) {
    const asked = parseAddress(hash);
    const found = asked && document.getElementById(asked.name);
    if (found instanceof AttentionExplorer && (!only || only === found)) found.explorer?.obey(asked.labels);
    return found instanceof AttentionExplorer;
  }
}
if (!customElements.get("attention-explorer")) {
  customElements.define("attention-explorer", AttentionExplorer);
  addEventListener("hashchange", () => AttentionExplorer.obey(location.hash));
  // A link whose address the page already has changes nothing there, but the controls may have moved since.
  document.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest?.('a[href*="#"]');
    const hash = link && /** @type {HTMLAnchorElement} */ (link).hash;
    if (hash && hash === location.hash && AttentionExplorer.obey(hash)) event.preventDefault();
  });
}

function render({ model, el }) {
  const commit = (state) => {
    model.set("state", state);
    model.save_changes();
  };
  const explorer = build(el, model.get("payload"), model.get("state"), { commit, address: null });
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
