// ------------------------------------------------------------------------------------------------ sketch
// A guess that is drawn: a line over the horizontal axis of curves, by a finger or a mouse, or by keys at some of its
// points. What is not drawn yet goes on level, so that any stroke is a whole guess.

const SUPPORTS = 6; // points that keys can move
const NEAR = 0.05; // of the axis: so far off a line is still right

function guessSketch(spec, panel) {
  const [low, high] = spec.limits;
  const last = spec.x.length - 1;
  const supports = [...new Set(times(SUPPORTS, (k) => Math.round((k * last) / (SUPPORTS - 1))))];
  const within = (value) => Number(clamp(value, low, high).toPrecision(4));

  /** A layer over the plot, which holds the guess; its words stand at one of its points, above it or below. */
  function layer(heights, words, at = last, isBelow = false) {
    const stage = panel().element.querySelector(".stage");
    const path = make("path", { class: "guess-line" });
    const name = make("text", { class: "guess-name" }, words);
    const svg = make("svg", { class: "sketch", "aria-hidden": "true" }, path, name);
    const draw = () => {
      const { box, px, py } = panel().plot();
      set(svg, { viewBox: stage.querySelector("svg").getAttribute("viewBox") });
      set(path, { d: trace(spec.x, heights(), px, py) });
      const height = heights()[at];
      const isEmpty = height === undefined;
      const over = clamp(px(spec.x[at]), box.left + 40, box.right - 40);
      const x = isEmpty ? (box.left + box.right) / 2 : over;
      const beside = clamp(py(height) + (isBelow ? 20 : -9), box.top + 12, box.bottom - 4);
      const y = isEmpty ? (box.top + box.bottom) / 2 : beside;
      set(name, { x, y, "text-anchor": "middle" });
      return svg.viewBox.baseVal;
    };
    stage.append(svg);
    const stop = watchSize(stage, draw);
    draw();
    const remove = () => {
      stop();
      svg.remove();
    };
    return { stage, svg, name, draw, remove };
  }

  const numberAt = (y) => within(panel().plot().numberAt(y));

  /** All heights, where some are drawn: straight between them, level beyond. @param {number[]} drawn with gaps */
  function filled(drawn) {
    const known = Object.keys(drawn).map(Number);
    return spec.x.map((_, i) => {
      if (i in drawn) return drawn[i];
      const [left, right] = [known.findLast((at) => at < i), known.find((at) => at > i)];
      if (left === undefined || right === undefined) return drawn[left ?? right];
      return within(drawn[left] + ((i - left) / (right - left)) * (drawn[right] - drawn[left]));
    });
  }

  function ask(answer) {
    const drawn = []; // by the pointer; with gaps
    let heights = [];
    let from = null; // where the stroke was last
    let began = null; // where a finger lies that may yet scroll
    const button = makeButton({ class: "pill", disabled: "" }, () => answer(heights), "this is my guess");
    const commit = make("p", { class: "commit" }, button);
    panel().element.querySelector(".commit")?.remove();
    panel().element.append(commit);
    const canvas = layer(() => heights, "draw the line here");
    const sliders = supports.map(slider);
    const hidden = [...canvas.stage.children].filter((each) => each !== canvas.svg); // a drawing knows no `inert`
    hidden.forEach((each) => set(each, { inert: "", "aria-hidden": true }));
    canvas.stage.append(...sliders);

    function changed() {
      heights = filled(drawn);
      setText(canvas.name, "your guess");
      canvas.draw();
      placeSliders();
      button.disabled = false;
    }

    function stroke(event) {
      const [x, y] = inWindow(canvas.svg).from(event.clientX, event.clientY);
      const { px } = panel().plot();
      const to = { at: placeOfLeast(spec.x.map((place) => Math.abs(px(place) - x))), height: numberAt(y) };
      from ??= to;
      const [first, end] = [Math.min(from.at, to.at), Math.max(from.at, to.at)];
      for (let i = first; i <= end; i++) {
        const part = to.at === from.at ? 1 : (i - from.at) / (to.at - from.at);
        drawn[i] = within(from.height + part * (to.height - from.height));
      }
      from = to;
      changed();
    }
    listen(canvas.svg, "pointerdown", (event) => {
      event.preventDefault();
      canvas.svg.setPointerCapture(event.pointerId);
      from = null;
      began = event.pointerType === "touch" ? event : null;
      if (!began) stroke(event);
    });
    listen(canvas.svg, "pointermove", (event) => {
      if (!canvas.svg.hasPointerCapture(event.pointerId)) return;
      const isUpright = began && Math.abs(event.clientX - began.clientX) <= Math.abs(event.clientY - began.clientY);
      if (isUpright) return; // a finger that goes up or down scrolls
      if (began) stroke(began);
      began = null;
      stroke(event);
    });

    // ------------------------------------------------------------------------------------------ keys

    /** A native slider, upright, for one point of the line, which then leads straight to the next ones. */
    function slider(at, k) {
      const label = `${spec.line} at ${spec.axis} = ${told(spec.x[at])}`;
      const input = make("input", { type: "range", class: "support", min: 0, max: 100, "aria-label": label });
      input.ariaOrientation = "vertical";
      listen(input, "input", () => {
        const { box } = panel().plot();
        const [left, right] = [supports[k - 1] ?? at, supports[k + 1] ?? at];
        for (let i = left; i <= right; i++) delete drawn[i];
        if (heights.length) [drawn[left], drawn[right]] = [heights[left], heights[right]];
        drawn[at] = numberAt(box.bottom - (Number(input.value) / 100) * (box.bottom - box.top));
        changed();
      });
      return input;
    }

    function placeSliders() {
      const { box, px, py } = panel().plot();
      const { width, height } = canvas.svg.viewBox.baseVal;
      supports.forEach((at, k) => {
        const [input, known] = [sliders[k], heights.length > 0];
        input.style.inset = `${(100 * box.top) / height}% auto auto ${(100 * px(spec.x[at])) / width}%`;
        input.style.height = `${(100 * (box.bottom - box.top)) / height}%`;
        if (!known) return;
        const share = Math.round((100 * (box.bottom - py(heights[at]))) / (box.bottom - box.top));
        if (Number(input.value) !== share) input.value = String(share);
        set(input, { "aria-valuetext": told(heights[at]) });
      });
    }
    const unwatch = watchSize(canvas.stage, placeSliders);

    const stop = () => {
      unwatch();
      [canvas, ...sliders].forEach((each) => each.remove());
      commit.style.visibility = "hidden"; // so that the plot stays as it is
      hidden.forEach((each) => ["inert", "aria-hidden"].forEach((name) => each.removeAttribute(name)));
    };
    return { parts: ["Draw the line from left to right. What you leave out goes on level."], stop };
  }

  /** Where a guess is furthest off, and by how much of the axis. */
  function worst(guess) {
    const { py, box } = panel().plot();
    const gaps = guess.map((height, i) => (spec.answer[i] === null ? 0 : Math.abs(py(height) - py(spec.answer[i]))));
    const most = Math.max(...gaps);
    return { at: gaps.indexOf(most), share: most / (box.bottom - box.top) };
  }

  return {
    fits: (guess) => Array.isArray(guess) && guess.length === spec.x.length && guess.every(Number.isFinite),
    ask,
    show(guess) {
      if (guess === null) return { parts: [], stop() {} };
      const { at } = worst(guess); // where the truth leaves room
      const { remove } = layer(() => guess, "your guess", at, guess[at] < spec.answer[at]);
      return { parts: [], stop: remove };
    },
    say(guess) {
      const { at, share } = worst(guess);
      const [own, right] = [brief(guess[at], spec.digits), brief(spec.answer[at], spec.digits)];
      if (share <= NEAR) return "Right: your line is nearly everywhere where it should be.";
      return `Your line is furthest off at ${spec.axis} = ${told(spec.x[at])}: it has ${own} there, and right is ${right}.`;
    },
    get longest() {
      return this.say(spec.x.map(() => 0));
    },
  };
}
