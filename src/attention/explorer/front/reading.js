// ------------------------------------------------------------------------------------------------ reading
// One way for all panels to be read by a finger, a mouse or keys: what is pointed at is told beside it, and lights up
// wherever another panel names the same axis.

/**
 * Follow a pointer over an element. A mouse reads while it is there; a finger reads where it taps and drags, and what
 * it read stays until the next tap elsewhere.
 * @param {Element} element
 * @param {(target: Element, event: PointerEvent) => boolean} point reads what lies there; false where nothing does
 * @param {() => void} leave
 */
function follow(element, point, leave) {
  let held = false; // a finger's reading stays
  const under = (event) => document.elementFromPoint(event.clientX, event.clientY) ?? event.target;
  const onDown = (event) => {
    if (event.pointerType === "mouse") return;
    held = point(event.target, event);
    if (!held) leave();
  };
  const onMove = (event) => {
    const target = event.pointerType === "mouse" ? event.target : under(event);
    if (event.pointerType === "mouse") held = false;
    else if (!held || !element.contains(target)) return;
    if (!point(target, event) && event.pointerType === "mouse") leave();
  };
  const onLeave = (event) => event.pointerType === "mouse" && leave();
  const onElsewhere = (event) => {
    if (!held || element.contains(event.target)) return;
    held = false;
    leave();
  };
  element.classList.add("readable");
  element.addEventListener("pointerdown", onDown);
  element.addEventListener("pointermove", onMove);
  element.addEventListener("pointerleave", onLeave);
  document.addEventListener("pointerdown", onElsewhere, true); // before another panel is read
  return () => document.removeEventListener("pointerdown", onElsewhere, true);
}

/** The words beside the finger: one for an explorer. They stay within it and move nothing. */
function makeReadout(el) {
  const element = make("p", { class: "readout", role: "status" });

  /**
   * @param {string} where what is pointed at @param {string} what the number there
   * @param {DOMRect} at the place pointed at: the words stand above it, or below where there is no room
   */
  function tell(where, what, at) {
    element.replaceChildren(where, make("b", {}, what));
    const frame = el.getBoundingClientRect();
    const own = element.getBoundingClientRect();
    const middle = (at.left + at.right) / 2 - frame.left;
    const left = Math.min(Math.max(middle - own.width / 2, 4), Math.max(frame.width - own.width - 4, 4));
    const above = at.top - frame.top - own.height - 8;
    const top = above >= 0 && at.top - own.height - 8 >= 0 ? above : at.bottom - frame.top + 8;
    element.style.transform = `translate(${left.toFixed(0)}px, ${top.toFixed(0)}px)`;
  }

  return { element, tell, hush: () => element.replaceChildren() };
}

/** A rectangle around a point, for the read-out. */
const around = (x, y, reach = 6) => new DOMRect(x - reach, y - reach, 2 * reach, 2 * reach);
