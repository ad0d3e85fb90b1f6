// ------------------------------------------------------------------------------------------------ glide
// The picture goes from one stored state to the next through what lies between them; its numbers are there at once.

const GLIDE = 160; // milliseconds

/** @param {HTMLElement} el the explorer @param {Places} at where its controls stand @param {() => void} draw */
function makeGlide(el, at, draw) {
  let frame = 0;

  /** Draw the way from `from` to where the controls stand now, its first step at once. */
  function start(from, time) {
    stop();
    if (still.matches || from.every((place, i) => place === at[i])) return settle();
    el.classList.add("gliding");
    const began = performance.now() - 16;
    const eased = time === GLIDE ? (part) => 1 - (1 - part) ** 3 : (part) => part; // a player goes evenly
    const step = () => {
      const part = Math.min((performance.now() - began) / time, 1);
      if (part === 1) return settle();
      at.drawn = at.map((place, i) => from[i] + eased(part) * (place - from[i]));
      draw();
      frame = requestAnimationFrame(step);
    };
    step();
  }

  /** Draw where a hand holds the controls. */
  function hold(places) {
    stop();
    at.drawn = [...places];
    draw();
  }

  function stop() {
    cancelAnimationFrame(frame);
    el.classList.remove("gliding");
  }

  function settle() {
    stop();
    delete at.drawn;
    draw();
  }

  return { start, hold, stop };
}
