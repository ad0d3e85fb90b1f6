// ------------------------------------------------------------------------------------------------ speech
// What those hear who do not see the figure, once the hand rests: what was set, and what came out.

const SPOKEN_AFTER = 600; // milliseconds without a further step

/** @param {any} store @param {() => any[]} panels */
function makeSpeech(store, panels) {
  const element = make("p", { class: "spoken", role: "status" });
  let waiting = 0;

  /** @param {string[]} names the controls that were set */
  function say(names) {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const moved = names.map(store.axis).map((i) => `${store.controls[i].label} ${store.text(i)}`);
      const found = panels().map((panel) => {
        const caption = panel.element.querySelector("caption, figcaption")?.textContent ?? "";
        return [caption, panel.summary?.()].filter(Boolean).join(": ");
      });
      setText(element, typeset([moved.join(", "), ...found].filter(Boolean).join(". ")));
    }, SPOKEN_AFTER);
  }

  return { element, say, stop: () => clearTimeout(waiting) };
}
