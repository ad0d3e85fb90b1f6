// ------------------------------------------------------------------------------------------------ guess
// How each kind of question is asked, and how the guess is drawn beside the truth. Each kind has fits(guess), whether a
// kept guess is one; ask(answer) and show(guess, or null), which return { parts, stop }, what stands below the question
// and how to take everything away again; say(guess), the verdict; and longest, one that takes as much room as any.

const guessKinds = { option: guessOption, sketch: guessSketch };

function guessOption(spec) {
  const say = (guess) => (guess === spec.answer ? `Right: “${guess}”.` : `You said “${guess}”. ${spec.said}`);
  return {
    fits: (guess) => spec.options.includes(guess),
    ask(answer) {
      const pills = spec.options.map((option) => makeButton({ class: "pill" }, () => answer(option), option));
      return { parts: pills, stop() {} };
    },
    show(guess) {
      const pills = spec.options.map((option) => {
        const own = option === guess;
        const pill = make("span", { class: "pill" }, option, ...(own ? [make("small", {}, "your guess")] : []));
        pill.toggleAttribute("data-guess", own);
        pill.toggleAttribute("data-right", option === spec.answer);
        return pill;
      });
      return { parts: pills, stop() {} };
    },
    say,
    longest: spec.options.map(say).reduce((longest, words) => (words.length > longest.length ? words : longest)),
  };
}
