// ------------------------------------------------------------------------------------------------ reading
// One way for all panels to be read by a finger, a mouse or keys: what is pointed at is told beside it, and lights up
// wherever another panel names the same axis.

/**
 * Follow a pointer over an element. A mouse reads while it is there; a finger reads where it taps, and what it read
 * stays until the next tap elsewhere. While a part is dragged (grab.js), or a question hides it, nothing is.
 * @param {Element} element
 * @param {(target: Element, event: PointerEvent) => boolean} read what lies there; false where nothing does
 * @param {() => void} forget
 */
function readByPointer(element, read, forget) {
  const isMouse = (event) => event.pointerType === "mouse";
  const isShut = () => element.closest(".dragging, [data-veiled]") !== null;
  const leave = () => isShut() || forget();
  let held = false; // a finger's reading stays
  const pointOrLeave = (event) => {
    const isRead = isShut() || read(event.target, event);
    held = isRead && !isMouse(event);
    if (!isRead) leave();
  };
  const onElsewhere = (event) => {
    if (!held || element.contains(event.target)) return;
    held = false;
    leave();
  };
  listen(element, "pointerdown", (event) => isMouse(event) || pointOrLeave(event));
  listen(element, "pointermove", (event) => isMouse(event) && pointOrLeave(event));
  listen(element, "pointerleave", (event) => isMouse(event) && leave());
  listen(document, "pointerdown", onElsewhere, true); // before another panel is read
  return () => document.removeEventListener("pointerdown", onElsewhere, true);
}

/**
 * Things of which one is chosen, by a tap or by keys.
 * @param {Element} box that holds them @param {() => any[]} items @param {(index: number) => void} choose
 */
function choosing(box, items, choose) {
  const find = (target) => items().findIndex((item) => item.contains(target));
  listen(box, "click", ({ target }) => find(target) >= 0 && choose(find(target)));
  listen(box, "keydown", (event) => {
    const from = find(event.target);
    const last = items().length - 1;
    const [before, after] = [from - 1, from + 1];
    const keys = { ArrowLeft: before, ArrowUp: before, ArrowRight: after, ArrowDown: after, Home: 0, End: last };
    const to = keys[event.key];
    if (to === undefined || from < 0) return;
    event.preventDefault();
    const next = clamp(to, 0, last);
    choose(next);
    items()[next].focus();
  });
}

/** Show which of them is chosen. */
const showChosen = (items, chosen) =>
  items.forEach((item, i) => {
    set(item, { role: "option", "aria-selected": i === chosen, tabindex: i === chosen ? 0 : -1 });
    setClass(item, "chosen", i === chosen);
  });

/** The words beside the finger: one for an explorer. They stay within it and move nothing. */
function makeReadout(el) {
  const element = make("p", { class: "readout", role: "status" });

  /**
   * @param {string} where what is pointed at @param {string} what the number there
   * @param {DOMRect} at the place pointed at: the words stand above it, or below where there is no room
   */
  function tell(where, what, at) {
    element.replaceChildren(where, make("b", {}, what));
    const frame = rectOf(el);
    const own = rectOf(element);
    const middle = (at.left + at.right) / 2 - frame.left;
    const left = clamp(middle - own.width / 2, 4, Math.max(frame.width - own.width - 4, 4));
    const above = at.top - frame.top - own.height - 8;
    const top = above >= 0 && at.top - own.height - 8 >= 0 ? above : at.bottom - frame.top + 8;
    element.style.transform = `translate(${left.toFixed(0)}px, ${top.toFixed(0)}px)`;
  }

  return { element, tell, hideReadout: () => element.replaceChildren() };
}

/** A rectangle around a point, for the read-out. */
const around = (x, y, reach = 6) => new DOMRect(x - reach, y - reach, 2 * reach, 2 * reach);
