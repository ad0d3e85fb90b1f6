// ------------------------------------------------------------------------------------------------ play
// A slider plays itself to its end, and begins anew there.

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** @param {string} label @param {number} last its last state @param {{index: () => number, moved: any}} slider */
function makePlayer(label, last, { index, moved }) {
  const said = { class: "play", "aria-label": `Play ${label}`, "aria-pressed": "false" };
  const button = makeButton(said, () => (timer === null ? start() : stop()));
  const pause = clamp(4000 / (last || 1), 60, 700); // milliseconds from state to state
  let timer = null;

  function start() {
    if (index() === last) moved(0);
    timer = setInterval(step, still.matches ? 700 : pause);
    button.setAttribute("aria-pressed", "true");
  }
  function step() {
    if (index() < last) moved(index() + 1);
    if (index() >= last) stop();
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    button.setAttribute("aria-pressed", "false");
  }
  return { button, stop };
}
