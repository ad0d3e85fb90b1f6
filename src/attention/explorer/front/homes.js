// ------------------------------------------------------------------------------------------------ its two homes

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
    if (explorerAt(location.hash) !== this) return;
    this.explorer.obey(parseAddress(location.hash).labels);
    if (history.state?.followed) this.explorer.resume?.();
    else keepInSightWhilePageGrows(this);
  }
  disconnectedCallback() {
    this.explorer?.stop();
  }
}
if (!customElements.get("attention-explorer")) {
  addEventListener("load", () => {
    if (new URLSearchParams(location.search).has("present")) presentPage();
  });
  customElements.define("attention-explorer", AttentionExplorer);
  followLinks();
}

function render({ model, el }) {
  const commit = (state) => {
    model.set("state", state);
    model.save_changes();
  };
  const explorer = build(el, model.get("payload"), model.get("state"), commit);
  // JupyterLab takes the arrow keys for itself unless the element that has the focus says no.
  listen(el, "focusin", (event) => (event.target.dataset.lmSuppressShortcuts = "true"));
  const heard = {
    "change:state": () => explorer.setState(model.get("state")),
    "change:payload": () => explorer.setPanels(model.get("payload")),
    "change:error": () => explorer.setError(model.get("error")),
  };
  Object.entries(heard).forEach(([change, hear]) => model.on(change, hear));
  heard["change:error"]();
  return () => {
    Object.entries(heard).forEach(([change, hear]) => model.off(change, hear));
    explorer.stop();
  };
}
