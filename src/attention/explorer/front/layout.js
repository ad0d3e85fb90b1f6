// ------------------------------------------------------------------------------------------------ where panels stand

/**
 * The panels in their grid of twelve columns: a group of small ones is one cell, with one legend if they are alike.
 * @param {PanelData[]} data @param {any[]} panels @returns {HTMLElement[]}
 */
function arranged(data, panels) {
  const cells = data.map(({ group }, i) => {
    if (group === undefined) return panels[i].element;
    const members = panels.filter((_, k) => data[k].group === group);
    if (members[0] !== panels[i]) return null;
    const across = members.length < 5 ? members.length : members.length < 7 ? 3 : 4;
    const areAlike = members.every(({ kind }) => kind === members[0].kind);
    const shared = areAlike ? members[0].legend : null;
    members.forEach(({ element, legend }) => legend && (areAlike ? legend.remove() : element.contains(legend) || element.append(legend)));
    return make("div", { class: "multiples", style: `--across: ${across}; --slim: ${areAlike ? 2 : 1}` }, ...members.map(({ element }) => element), ...(shared ? [shared] : []));
  });
  const isMap = (i) => Boolean(panels[i]?.columns) && data[i].group === undefined;
  const isTwin = (i) => [i - 1, i + 1].some((k) => isMap(i) && isMap(k) && String(data[i].fields.values.shape) === String(data[k].fields.values.shape));
  const second = panels[1]?.columns ?? (panels[1]?.tall ? 0 : Infinity);
  const most = panels.length === 2 && second <= 7 ? 9 : 7; // columns beside another
  const isWide = (i) => data[i].group !== undefined || panels[i].wide || (panels[i].columns > most && !isTwin(i));
  for (let first = 0, next; first < data.length; first = next) {
    next = first + 1;
    if (isWide(first)) continue;
    while (next < data.length && !isWide(next)) next++;
    areasOf(panels.slice(first, next)).forEach((place, k) => (cells[first + k].style.gridArea = place));
  }
  return cells.filter(Boolean);
}

/**
 * Where panels stand that share rows: a picture beside its bars, three small ones, or two and two.
 * @param {{tall?: boolean, small?: boolean, slim?: boolean, columns?: number}[]} run @returns {string[]} grid areas
 */
function areasOf(run) {
  const tall = run.findIndex((panel) => panel.tall);
  const isBeside = run.length > 1 && run.every(({ slim }, k) => k === tall || slim);
  if (isBeside && tall === 0) return run.map((_, k) => (k ? "auto / span 4" : `span ${run.length - 1} / span 8`));
  if (isBeside && tall === run.length - 1) return run.map((_, k) => (k < tall ? "auto / 1 / auto / span 4" : `auto / 5 / span ${tall} / -1`));
  if (run[0].columns && tall === 1 && run.length === 2) return ["auto / span 7", "auto / span 5"];
  if (run.length % 3 === 0 && run.every(({ small }) => small)) return run.map(() => "auto / span 4");
  const alone = run.length % 2 ? (tall === 0 ? 0 : run.length - 1) : -1;
  return run.map((_, k) => (k === alone ? "auto / span 12" : "auto / span 6"));
}
