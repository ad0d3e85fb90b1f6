// ------------------------------------------------------------------------------------------------ prediction
// A question before the figure. Until the reader has answered, or says "just show me", a veil lies on it; then the
// guess stays drawn on the truth. The answer comes with the payload: Python computed it from the figure's own numbers.

/**
 * @param {HTMLElement} el the explorer @param {any} spec the question, its kind and its answer
 * @param {{panels: () => any[], moveTo: (state: Object<string, any>) => void}} hand
 */
function buildPrediction(el, spec, hand) {
  const store = `attention-guess:${location.pathname}#${el.id || spec.question}`;
  const question = make("p", { class: "question" }, spec.question);
  const choices = make("p", { class: "choices" });
  const verdict = make("p", { class: "verdict", role: "status" });
  const element = make("div", { class: "prediction" }, question, choices, verdict);
  const skip = make("button", { type: "button", class: "skip" }, "just show me");
  let guess = recall();
  let cell = null; // a listener on the panel, while a cell is to be clicked

  skip.addEventListener("click", () => {
    hand.moveTo(spec.state);
    reveal();
  });

  function begin() {
    if (guess !== null) {
      reveal();
      return;
    }
    el.dataset.veiled = spec.kind;
    const panel = panelElement();
    if (spec.kind !== "cell") panels().forEach((each) => each.toggleAttribute("inert", true));
    if (spec.kind === "option") choices.append(...spec.options.map(optionButton));
    if (spec.kind === "marker") choices.append(...marker());
    if (spec.kind === "cell") {
      choices.append("Click the cell. ");
      cell = (event) => {
        const at = placeOf(event.target);
        if (at) answer(at);
      };
      panel.addEventListener("click", cell);
      panel.addEventListener("keydown", onEnter);
    }
    choices.append(skip);
  }

  const panels = () => hand.panels().map((panel) => panel.element);
  const panelElement = () => panels()[spec.panel];
  const onEnter = (event) => event.key === "Enter" && cell?.(event);

  function optionButton(option) {
    const button = make("button", { type: "button" }, option);
    button.addEventListener("click", () => answer(option));
    return button;
  }

  function marker() {
    const [low, high] = spec.limits;
    const input = make("input", { type: "range", min: low, max: high, step: (high - low) / 100, "aria-label": spec.question });
    const output = make("output");
    const commit = make("button", { type: "button" }, "this is my guess");
    const show = () => {
      setText(output, brief(Number(input.value), 2));
      input.style.setProperty("--at", String((Number(input.value) - low) / (high - low)));
    };
    input.value = String((low + high) / 2);
    input.addEventListener("input", show);
    show();
    commit.addEventListener("click", () => answer(Number(input.value)));
    return [input, output, commit];
  }

  function placeOf(target) {
    const cells = hand.panels()[spec.panel].cells;
    for (let row = 0; row < cells.length; row++) {
      const column = cells[row].findIndex((each) => each.contains(target));
      if (column >= 0) return [row, column];
    }
    return null;
  }

  function answer(given) {
    guess = given;
    keep(given);
    hand.moveTo(spec.state);
    reveal();
  }

  function reveal() {
    delete el.dataset.veiled;
    panels().forEach((each) => each.toggleAttribute("inert", false));
    if (cell) {
      panelElement().removeEventListener("click", cell);
      panelElement().removeEventListener("keydown", onEnter);
      cell = null;
    }
    choices.replaceChildren();
    if (guess === null) {
      setText(verdict, `Answer: ${spec.said}`);
      return;
    }
    setText(verdict, say());
    draw();
    const again = make("button", { type: "button" }, "ask me again");
    again.addEventListener("click", () => {
      forget();
      setText(verdict, "");
      choices.replaceChildren();
      begin();
    });
    choices.append(again);
  }

  function say() {
    const right = JSON.stringify(guess) === JSON.stringify(spec.answer);
    if (spec.kind === "marker") return `Your guess: ${brief(guess, 2)}. It is ${spec.said}.`;
    const own = spec.kind === "cell" ? spec.cells[guess[0]][guess[1]] : guess;
    return right ? `Your guess: ${own}. Right.` : `Your guess: ${own}. It is ${spec.said}.`;
  }

  /** The guess, drawn on the truth. */
  function draw() {
    clear();
    if (spec.kind === "cell") cellAt(guess)?.setAttribute("data-guess", "your guess");
    if (spec.kind === "option" && spec.rows) {
      const row = spec.rows.indexOf(guess);
      if (row >= 0) cellAt([row, 0])?.setAttribute("data-guess", "your guess");
    }
    if (spec.kind === "marker") {
      const bar = cellAt([spec.row, 0])?.querySelector(".bar");
      const [low, high] = spec.limits;
      bar?.style.setProperty("--guess", String(Math.min(Math.max((guess - low) / (high - low), 0), 1)));
      bar?.toggleAttribute("data-guess", true);
    }
  }

  const cellAt = ([row, column]) => hand.panels()[spec.panel].cells?.[row]?.[column];
  const clear = () => el.querySelectorAll("[data-guess]").forEach((each) => each.removeAttribute("data-guess"));

  // What a reader guessed stays in the reader's browser, where that keeps anything.
  function recall() {
    try {
      return JSON.parse(localStorage.getItem(store) ?? "null");
    } catch {
      return null;
    }
  }
  function keep(given) {
    try {
      localStorage.setItem(store, JSON.stringify(given));
    } catch {
      /* a browser that keeps nothing */
    }
  }
  function forget() {
    guess = null;
    clear();
    try {
      localStorage.removeItem(store);
    } catch {
      /* a browser that keeps nothing */
    }
  }

  return { element, begin };
}
