// A citation shows its work on a card: to a pointer that rests on it, to the keyboard's focus, and to a finger's first
// tap; the second follows the link. The build puts the cards of a page into its template (tools/site/citations.py).
const RESTS = 150; // milliseconds
const LEAVES = 300;

let cited = null; // the citation whose card is shown
let card = null;
let waiting = 0;

function showWork(citation) {
  clearTimeout(waiting);
  if (citation === cited) return;
  hideWork();
  cited = citation;
  card = document.querySelector(`#works`).content.querySelector(`[data-key="${citation.hash.slice(1)}"]`).cloneNode(true);
  card.id = "work";
  card.popover = "manual";
  citation.after(card);
  citation.setAttribute("aria-describedby", card.id);
  card.showPopover();
  const { left, top, bottom } = [...citation.getClientRects()].at(-1);
  const below = bottom + 6 + card.offsetHeight < innerHeight;
  card.style.left = `${scrollX + Math.max(8, Math.min(left, document.documentElement.clientWidth - card.offsetWidth - 8))}px`;
  card.style.top = `${scrollY + (below ? bottom + 6 : top - 6 - card.offsetHeight)}px`;
}

function hideWork() {
  clearTimeout(waiting);
  if (!cited) return;
  cited.removeAttribute("aria-describedby");
  card.remove();
  cited = card = null;
}

if ("showPopover" in HTMLElement.prototype) {
  const citationAt = (event) => event.target.closest?.("a.cites");
  const isOurs = (part) => part === cited || card?.contains(part);
  let touched = null; // the citation that a finger lies on, unless its card was there already

  addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    clearTimeout(waiting);
    const citation = citationAt(event);
    if (citation && citation !== cited) waiting = setTimeout(showWork, RESTS, citation);
    else if (cited && !isOurs(event.target)) waiting = setTimeout(hideWork, LEAVES);
  });
  addEventListener("pointerdown", (event) => {
    const citation = citationAt(event);
    touched = event.pointerType === "touch" && citation !== cited ? citation : null;
    if (!isOurs(event.target)) hideWork();
  });
  addEventListener("click", (event) => {
    if (!touched || touched !== citationAt(event)) return;
    event.preventDefault();
    showWork(touched);
  });
  addEventListener("focusin", (event) => {
    const citation = citationAt(event);
    if (citation?.matches(":focus-visible")) showWork(citation);
    else if (!isOurs(event.target)) hideWork();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !cited) return;
    if (card.contains(document.activeElement)) cited.focus();
    hideWork();
  });
}
