// A figure beside its paragraphs (tools/site/figures.py) is kept in sight by beside.css, which needs its height.
for (const cell of document.querySelectorAll(".beside > .cell")) {
  new ResizeObserver(() => cell.parentElement.style.setProperty("--height", `${cell.offsetHeight}px`)).observe(cell);
}
