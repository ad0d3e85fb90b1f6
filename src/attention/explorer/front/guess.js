// ------------------------------------------------------------------------------------------------ guess
// How each kind of question is asked, and how the guess is drawn beside the truth. Each kind has fits(guess), whether a
// kept guess is one; ask(answer) and show(guess), which return { parts, stop }, what stands below the question and how
// to take everything away again; and say(guess), the verdict.

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const guessKinds = { option: guessOption, cell: guessCell, marker: guessMarker, sketch: guessSketch };

/** Write "your guess" beside the name of a row. */
function nameRow(panel, row) {
  const side = panel.cells?.[row]?.[0].parentNode.firstChild;
  side?.setAttribute("data-guess", "your guess");
  return () => side?.removeAttribute("data-guess");
}

/** A button below the panel that waits until there is something to commit to. */
function commitBelow(panel, act) {
  const button = makeButton({ class: "pill", disabled: "" }, act, "this is my guess");
  const element = make("p", { class: "commit" }, button);
  panel.element.append(element);
  return { ready: () => (button.disabled = false), remove: () => element.remove() };
}

function guessOption(spec, panel) {
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
      return { parts: pills, stop: nameRow(panel(), spec.rows.indexOf(guess)) };
    },
    say: (guess) => (guess === spec.answer ? `Right: “${guess}”.` : `You said “${guess}”. ${spec.said}`),
  };
}

/** A button on each cell; arrow keys go from one to the next. */
function guessCell(spec, panel) {
  return {
    fits: (guess) => Array.isArray(guess) && guess.length === 2 && spec.cells[guess[0]]?.[guess[1]] !== undefined,
    ask(answer) {
      const { cells } = panel();
      const labels = cells.map((line) => line.map((cell) => cell.getAttribute("aria-label")));
      const taps = cells.map((line, row) => line.map((cell, column) => tap(cell, row, column)));
      function tap(cell, row, column) {
        const named = { class: "tap", tabindex: row || column ? -1 : 0, "aria-label": spec.cells[row][column] };
        const button = makeButton(named, () => answer([row, column]));
        listen(button, "keydown", (event) => {
          if (!(event.key in ARROWS)) return;
          const [down, right] = ARROWS[event.key];
          event.preventDefault();
          event.stopPropagation(); // a heatmap has arrow keys of its own
          taps[row + down]?.[column + right]?.focus();
        });
        cell.removeAttribute("aria-label"); // it tells the number
        cell.append(button);
        return button;
      }
      const stop = () => {
        taps.flat().forEach((button) => button.remove());
        cells.forEach((line, row) => line.forEach((cell, column) => set(cell, { "aria-label": labels[row][column] })));
      };
      return { parts: [panel().wholeRows ? "Tap a bar." : "Tap a cell."], stop };
    },
    show([row, column]) {
      if (panel().wholeRows) return { parts: [], stop: nameRow(panel(), row) };
      const cell = panel().cells[row][column];
      const legend = make("p", { class: "legend guessed" }, make("i", { class: "patch" }), "your guess");
      cell.setAttribute("data-guess", "");
      panel().element.append(legend);
      const stop = () => {
        cell.removeAttribute("data-guess");
        legend.remove();
      };
      return { parts: [], stop };
    },
    say([row, column]) {
      const isRight = spec.answer.some((place) => place[0] === row && place[1] === column);
      return isRight ? `Right. ${spec.said}` : `You tapped ${spec.cells[row][column]}. ${spec.said}`;
    },
  };
}

/** The reader drags the bar's end: a native slider lies on the track. */
function guessMarker(spec, panel) {
  const [low, high] = spec.limits;
  const origin = clamp(0, low, high);
  const part = (value) => (value - low) / (high - low);
  const shown = (value) => brief(value, spec.digits);
  const cell = () => panel().cells[spec.row][0];

  function drawn(guess) {
    const bar = make("span", { class: "guess" });
    const reach = (value) => {
      setStyle(bar, "--from", String(part(Math.min(value, origin))));
      setStyle(bar, "--to", String(part(Math.max(value, origin))));
      bar.toggleAttribute("data-far", part(value) > 0.6);
    };
    reach(guess);
    cell().querySelector(".bar").append(bar);
    return { bar, reach };
  }

  return {
    fits: (guess) => Number.isFinite(guess) && guess >= low && guess <= high,
    ask(answer) {
      const { bar, reach } = drawn(origin);
      const input = make("input", { type: "range", class: "drag", min: low, max: high, step: (high - low) / 100 });
      input.ariaLabel = spec.question;
      const output = make("output");
      const commit = commitBelow(panel(), () => answer(Number(input.value)));
      input.value = String(origin);
      listen(input, "input", () => {
        const value = Number(input.value);
        input.setAttribute("aria-valuetext", shown(value));
        reach(value);
        setText(output, shown(value));
        commit.ready();
      });
      bar.after(input);
      cell().append(output);
      const stop = () => [bar, input, output, commit].forEach((each) => each.remove());
      return { parts: ["Drag the end of the bar."], stop };
    },
    show(guess) {
      const { bar } = drawn(guess);
      bar.append(make("small", {}, `your guess: ${shown(guess)}`));
      cell().setAttribute("data-guess", "");
      const stop = () => {
        bar.remove();
        cell().removeAttribute("data-guess");
      };
      return { parts: [], stop };
    },
    say(guess) {
      const [own, right] = [shown(guess), shown(spec.answer)];
      if (own === right) return `Right. ${spec.said}`;
      const gap = Math.abs(part(guess) - part(spec.answer));
      const far = guess < spec.answer ? "which is too low" : "which is too high";
      return `You said ${own}, ${gap < 0.05 ? "very near" : gap < 0.15 ? "not far off" : far}. ${spec.said}`;
    },
  };
}
