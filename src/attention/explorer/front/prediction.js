// ------------------------------------------------------------------------------------------------ prediction
// A question before the figure. Until the reader has answered, or says "just show me", the figure has its axes and its
// words but no data; then the truth grows beside the guess. The answer comes with the payload: Python computed it from
// the figure's own numbers. How each kind of question is asked stands in guess.js.

const GROWS = 1200; // milliseconds; as in prediction.css

/**
 * @param {HTMLElement} el the explorer @param {any} spec the question, its kind and its answer
 * @param {{panels: () => any[], controls: HTMLElement, state: Object<string, any>, show: (state: any) => void,
 *   compare: (before: any, asked?: number) => void, commit: () => void, live: boolean}} hand  `show` draws a state that nobody hears of
 *   until `commit`, `compare` keeps one in sight
 */
function buildPrediction(el, spec, hand) {
  const store = `attention-guess:${location.pathname}#${el.id || spec.question}`;
  const question = make("p", { class: "question", tabindex: -1 }, ...subscripted(spec.question));
  const choices = make("div", { class: "choices", role: "group", "aria-label": spec.question });
  const verdict = make("p", { class: "verdict", tabindex: -1 });
  const printed = make("p", { class: "printed" });
  const after = make("div", { class: "after" }, verdict);
  const element = make("div", { class: "prediction" }, question, choices, after, printed);
  const kind = guessKinds[spec.kind](spec, () => hand.panels()[spec.panel]);
  const reason = spec.because ? ` ${spec.because}` : "";
  let guess = recall();
  let standing = guess === null ? "asked" : "guessed"; // or "shown", without a guess; or "aside", still to be asked
  let before = null; // the state that the question took the figure from
  let undo = () => {};
  // A caption that has an option in it, or the answer's number, may tell; and one that a control changes.
  const telling = spec.options ?? spec.said.match(/\d+\.\d+/g) ?? [];

  const quiet = (words, act) => makeButton({ class: "quiet" }, act, words);
  const skip = quiet("just show me", () => answer(null));
  const again = quiet("", () => {
    forget();
    stand("asked");
    question.scrollIntoView({ block: "nearest", behavior: "instant" });
    focusOn(question);
  });

  /** Begin, or draw anew on other panels. */
  function begin() {
    if (standing === "guessed" && !hand.live) leaveFor(spec.state);
    stand(standing);
  }

  function stand(next) {
    standing = next;
    question.hidden = standing === "aside";
    undo();
    standing === "asked" ? ask() : settle();
    el.dataset.prediction = standing;
    el.dispatchEvent(new CustomEvent("attention-predicted", { bubbles: true }));
  }

  function ask() {
    el.dataset.veiled = spec.kind;
    el.toggleAttribute("data-given", Boolean(spec.before)); // where it starts from is no answer
    hand.compare(null);
    leaveFor(spec.before ?? spec.state);
    lock(true);
    setText(printed, spec.said + reason);
    const { parts, stop } = kind.ask(answer);
    choices.replaceChildren(...parts, skip);
    // Unseen, it takes the room that the verdict will: an answer moves nothing.
    verdict.replaceChildren(make("b", {}, spec.said), ...subscripted(reason));
    choices.after(after);
    undo = stop;
  }

  function settle() {
    delete el.dataset.veiled;
    el.toggleAttribute("data-right", guess !== null && kind.say(guess).startsWith("Right"));
    lock(false);
    setText(again, question.hidden ? "ask me first" : "ask me again");
    choices.replaceChildren();
    undo = () => again.remove();
    if (question.hidden) {
      after.remove();
      return el.querySelector(".tools").prepend(again); // in sight with the panels
    }
    hand.compare(spec.before ?? null, spec.panel); // which draws anew, too: names may stand elsewhere now
    setText(printed, "");
    verdict.replaceChildren(make("b", {}, guess === null ? spec.said : kind.say(guess)), ...subscripted(reason));
    const { parts, stop } = guess === null ? { parts: [], stop() {} } : kind.show(guess);
    choices.replaceChildren(...parts);
    choices.after(after);
    after.append(again);
    undo = stop;
  }

  /** @param {any} given the guess, or null where the reader has none */
  function answer(given) {
    guess = given;
    before = null;
    hand.show(spec.state);
    if (guess !== null) keep();
    stand(guess === null ? "shown" : "guessed");
    hand.commit();
    el.dataset.grows = "";
    setTimeout(() => delete el.dataset.grows, GROWS);
    focusOn(verdict);
    const { element: panel } = hand.panels()[spec.panel];
    const isRoom = rectOf(panel).bottom - rectOf(verdict).top < innerHeight - 90; // without the page's bar and the margins
    panel.scrollIntoView({ block: "nearest", behavior: "instant" });
    verdict.scrollIntoView({ block: isRoom ? "nearest" : "start", behavior: "instant" }); // seen in any case
  }

  function leaveFor(state) {
    before ??= { ...hand.state };
    hand.show(state);
  }

  function lock(locked) {
    hand.controls.inert = locked;
    hand.panels().forEach(({ element }, i) => {
      element.inert = locked && (spec.kind === "option" || i !== spec.panel);
      const caption = element.querySelector("caption, figcaption");
      const isHidden = locked && (element.matches('[data-varies~="caption"]') || telling.some((words) => caption?.textContent.includes(words)));
      caption?.toggleAttribute("data-tells", isHidden);
      const named = caption?.closest("table, figure");
      if (isHidden) named.setAttribute("aria-label", spec.question); // its caption, though hidden, would name it
      else named?.removeAttribute("aria-label");
    });
  }

  /** The guess belongs to the state that was asked about, and is seen there alone. */
  function moved() {
    el.toggleAttribute("data-elsewhere", Object.keys(spec.state).some((name) => spec.state[name] !== hand.state[name]));
  }

  /** A link that leads to a state lifts the veil, as its text has told what to look at; its question waits. */
  function lift() {
    if (before) hand.show(before);
    before = null;
    if (standing === "asked") stand("aside");
  }

  /** Ask what a link has set aside. */
  const resume = () => standing === "aside" && stand("asked");

  // What a reader guessed stays in the reader's browser, where that keeps anything, for as long as the question stays.
  function kept(act) {
    try {
      return act(localStorage);
    } catch {
      return null; // a browser that keeps nothing
    }
  }
  function recall() {
    return kept((all) => {
      const { question, guess } = JSON.parse(all.getItem(store));
      return question === spec.question && kind.fits(guess) ? guess : null;
    });
  }
  function keep() {
    kept((all) => all.setItem(store, JSON.stringify({ question: spec.question, guess })));
  }
  function forget() {
    guess = null;
    kept((all) => all.removeItem(store));
  }

  // A hand on what is locked is told why: the question flashes.
  listen(el, "click", ({ target }) => {
    if (standing !== "asked" || !el.contains(target) || target.closest(".prediction, .tools, .tap, .drag, .sketch, .commit")) return;
    question.classList.add("flash");
    setTimeout(() => question.classList.remove("flash"), 1500);
  });

  /** Answer the question, or ask it again. */
  const turn = () => (standing === "asked" ? skip : again).click();

  return { element, begin, moved, lift, resume, turn };
}
