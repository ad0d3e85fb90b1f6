// ------------------------------------------------------------------------------------------------ prediction
// A question before the figure. Until the reader has answered, or says "just show me", the figure has its axes and its
// words but no data; then the truth stands beside the guess. The answer comes with the payload: Python computed it from
// the figure's own numbers. How each kind of question is asked stands in guess.js.

/**
 * @param {HTMLElement} el the explorer @param {any} spec the question, its kind and its answer
 * @param {{store: any, panels: any, controls: HTMLElement, compare: (state: any) => void}} figure
 *   `compare` keeps a state in sight
 */
function buildPrediction(el, spec, { store, panels, controls, compare }) {
  const asked = () => panels.all()[spec.panel];
  const kind = guessKinds[spec.kind](spec, asked);
  const memory = makeMemory(`attention-guess:${location.pathname}#${el.id || spec.question}`, spec.question, kind.fits);
  const question = make("p", { class: "question", tabindex: -1 }, ...subscripted(spec.question));
  const choices = make("div", { class: "choices", role: "group", "aria-label": spec.question });
  const verdict = make("p", { class: "verdict", tabindex: -1 });
  const after = make("div", { class: "after" }, verdict);
  const element = make("div", { class: "prediction" }, question, choices, after);
  const reason = spec.because ? ` ${spec.because}` : "";
  let guess = memory.recall();
  let standing = guess === null ? "asked" : "guessed"; // or "shown", without a guess; or "aside", still to be asked
  let before = null; // the state that the question took the figure from
  let undo = () => {};

  const skip = makeButton({ class: "quiet" }, () => answer(null), "just show me");
  const again = makeButton({ class: "quiet" }, () => {
    guess = null;
    memory.forget();
    stand("asked");
    question.scrollIntoView({ block: "nearest", behavior: "instant" });
    focusOn(question);
  }, "ask me again");

  /** Begin, or draw anew on other panels. */
  function begin() {
    asked().element.dataset.asked = "";
    if (standing === "guessed" && !store.live) leaveFor(spec.state);
    stand(standing);
  }

  function stand(next) {
    standing = next;
    element.hidden = standing === "aside";
    undo();
    standing === "asked" ? ask() : settle();
    el.dataset.prediction = standing;
    el.dispatchEvent(new CustomEvent("attention-predicted", { bubbles: true }));
  }

  function ask() {
    reserve(() => "0");
    el.dataset.veiled = spec.kind;
    el.toggleAttribute("data-given", Boolean(spec.before)); // where it starts from is no answer
    el.toggleAttribute("data-compared", Boolean(spec.before) && panels.canCompare());
    compare(null);
    leaveFor(spec.before ?? spec.state);
    lock(true);
    const { parts, stop } = kind.ask(answer);
    choices.replaceChildren(...parts, skip);
    say(kind.longest); // unseen, it takes the room that the verdict will: an answer moves nothing
    undo = stop;
    const others = el.querySelectorAll(`.stage .line[data-name]:not([data-name="${CSS.escape(spec.line ?? "")}"])`);
    others.forEach((line) => setClass(line, "given", Boolean(spec.line))); // drawn although the figure is veiled
  }

  function settle() {
    delete el.dataset.veiled;
    el.toggleAttribute("data-right", guess !== null && kind.say(guess).startsWith("Right"));
    lock(false);
    choices.replaceChildren();
    undo = () => setText(again, "ask me again");
    if (element.hidden) {
      setText(again, "ask me first");
      return el.querySelector(".tools").prepend(again); // in sight with the panels
    }
    compare(spec.before ?? null); // which draws anew, too: names may stand elsewhere now
    say(guess === null ? spec.said : kind.say(guess));
    const { parts, stop } = kind.show(guess);
    choices.replaceChildren(...parts);
    undo = stop;
  }

  function say(words) {
    verdict.replaceChildren(make("b", {}, words), ...subscripted(reason));
    after.append(again);
  }

  /** Give question, verdict and panel at least these heights. @param {(part: HTMLElement) => string} heightOf */
  function reserve(heightOf) {
    [element, after, asked().element].forEach((part) => setStyle(part, "min-height", heightOf(part)));
  }

  /** @param {any} given the guess, or null where the reader has none */
  function answer(given) {
    guess = given;
    before = null;
    reserve((part) => `${rectOf(part).height}px`); // nor does a short verdict
    store.set(spec.state);
    if (guess !== null) memory.keep(guess);
    stand(guess === null ? "shown" : "guessed");
    store.save();
    focusOn(verdict);
    after.scrollIntoView({ block: "nearest" }); // it stands where the choices stood: the page seldom moves
  }

  function leaveFor(state) {
    before ??= { ...store.state };
    store.set(state);
  }

  function lock(locked) {
    controls.inert = locked;
    panels.all().forEach(({ element }, i) => {
      element.inert = locked && (spec.kind === "option" || i !== spec.panel);
      const caption = element.querySelector("caption, figcaption");
      const isHidden = locked && tells(element, caption);
      caption?.toggleAttribute("data-tells", isHidden);
      const named = caption?.closest("table, figure");
      if (isHidden) named.setAttribute("aria-label", spec.question); // its caption, though hidden, would name it
      else named?.removeAttribute("aria-label");
    });
  }

  /** A caption may tell that a control changes, unless the state is given; or an option's, or the answer's. */
  function tells(panel, caption) {
    const words = spec.options ?? spec.said.match(/\d+\.\d+/g) ?? [];
    const spaced = (text) => ` ${text.replace(/[^\p{L}\d.]+|\.(?!\d)/gu, " ").trim()} `; // the answer c is not in “each”
    const isMoved = !spec.before && panel.matches('[data-varies~="caption"]');
    return isMoved || words.some((word) => spaced(caption?.textContent ?? "").includes(spaced(word)));
  }

  /** The guess belongs to the state that was asked about, and is seen there alone. */
  function moved() {
    const isElsewhere = Object.entries(spec.state).some(([name, value]) => value !== store.state[name]);
    el.toggleAttribute("data-elsewhere", isElsewhere);
  }

  /** A link that leads to a state lifts the veil, as its text has told what to look at; its question waits. */
  function lift() {
    if (before) store.set(before);
    before = null;
    if (standing === "asked") stand("aside");
  }

  // A hand on what is locked is told why: the question flashes.
  listen(el, "click", ({ target }) => {
    const isFree = !el.contains(target) || target.closest(".prediction, .tools, .sketch, .commit");
    if (standing !== "asked" || isFree) return;
    question.scrollIntoView({ block: "nearest" });
    flash(question);
  });

  return {
    element,
    begin,
    moved,
    lift,
    /** Ask what a link has set aside. */
    resume: () => standing === "aside" && stand("asked"),
    /** Answer the question, or ask it again. */
    turn: () => (standing === "asked" ? skip : again).click(),
  };
}

/** What a reader guessed stays in the browser, where that keeps anything, for as long as the question stays. */
function makeMemory(place, question, fits) {
  function attempt(act) {
    try {
      return act();
    } catch {
      return null; // a browser that keeps nothing
    }
  }
  return {
    recall: () =>
      attempt(() => {
        const kept = JSON.parse(localStorage.getItem(place));
        return kept.question === question && fits(kept.guess) ? kept.guess : null;
      }),
    keep: (guess) => attempt(() => localStorage.setItem(place, JSON.stringify({ question, guess }))),
    forget: () => attempt(() => localStorage.removeItem(place)),
  };
}
