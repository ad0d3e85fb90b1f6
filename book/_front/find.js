// The search page: ranks the sections of PAGES (tools/site/sections.py) by the words that they have in common with a query
// (Okapi BM25, a word of the title counting for more), and shows the best, each with its place in the book.
const SHOWN = 25;
const OFTEN = 1.6; // how much a word's further occurrences in a section count
const LONG = 0.5; // how much a section's length counts against it
const IN_TITLE = 1.2; // what a word of the title counts for, and a word of the chapter's title
const IN_CHAPTER = 0.3;
const TOGETHER = 1; // what it counts that the words stand together
const NEAR = 60; // characters
const PAGE = 0.1; // what the page's best sections count
const ASIDE = 0.7; // what a note counts, an exercise, the instructors' page, the package and the bibliography
const EXCERPT = 220; // characters

// What questions are made of says little of what they ask.
const COMMON = new Set("a an and are as at be by can did do does for from has have i if in is it its my not of on or our so than that the then there they this to was we were will with you your".split(" "));
const ASKING = new Set(["how", "what", "when", "wher", "which", "who", "why"]); // as stems
const LITTLE = 0.25;

// Other words for what the book says, or for where it says it.
const SYNONYMS = {
  attn: "attention",
  gqa: "grouped query",
  mqa: "grouped query",
  enable_gqa: "grouped query",
  kv: "key value",
  rope: "rotary",
  license: "licence",
  slides: "lecture view",
  transformers: "transformer",
  ffn: "feed forward",
  mlp: "feed forward",
};

/** A word without its ending: divide, divides, divided and dividing are one. */
const stem = (word) => word.replace(/ies$/, "y").replace(/(?<=...)(?:ing|ed|es|s|e)$/, "").replace(/(.)\1$/, "$1");
/** The words of a text, each with its place; a name in code is also each of its words, and √ is a root. */
const wordsOf = (text) =>
  [...text.toLowerCase().matchAll(/√|[\p{L}\p{N}_]+/gu)].flatMap(({ 0: word, index }) =>
    (word === "√" ? ["root"] : [...new Set([word, ...word.split("_")])]).filter(Boolean).map((part) => ({ term: stem(part), index, length: word.length })),
  );

const sections = PAGES.flatMap(([page, chapter, all]) => all.map(([anchor, title, text]) => ({ page, chapter, anchor, title, text })));
const isAside = ({ page, title, anchor }) => /more\/|teaching|api|bibliography/.test(page) || (anchor && /^\d+\. /.test(title));
const index = new Map(); // term → section → how often
for (const section of sections) {
  const words = wordsOf(section.text).map(({ term }) => term);
  section.size = words.length;
  section.titled = new Set(wordsOf([section.title, ...section.text.match(/[^.?!:]*[?]/g) ?? []].join(" ")).map(({ term }) => term));
  section.under = new Set(wordsOf(section.chapter).map(({ term }) => term));
  for (const term of [...words, ...section.titled]) {
    const places = index.get(term) ?? index.set(term, new Map()).get(term);
    places.set(section, (places.get(section) ?? 0) + 1);
  }
}
const usual = sections.reduce((sum, { size }) => sum + size, 0) / sections.length;

/** Do two words differ by one letter too many, too few or wrong, or by two that changed places? */
function near(one, other) {
  let i = 0;
  while (i < one.length && one[i] === other[i]) i++;
  const [a, b] = [one.slice(i), other.slice(i)];
  return a.slice(1) === b.slice(1) || a === b.slice(1) || a.slice(1) === b || (a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2));
}

/** The book's words that a reader may mean by a word, and how surely. */
function meant(term, last) {
  const found = new Map(index.has(term) ? [[term, 1]] : []);
  if (term.length > 2 && (last || !found.size)) for (const other of index.keys()) if (other !== term && other.startsWith(term)) found.set(other, 0.5);
  if (term.length > 3 && !found.size) for (const other of index.keys()) if (other[0] === term[0] && near(term, other)) found.set(other, 0.4);
  return found;
}

/** The words of a query that say what it asks, or all it has. */
function asked(query) {
  const all = (query.toLowerCase().match(/[\p{L}\p{N}_√]+/gu) ?? []).flatMap((word) => [word, ...(SYNONYMS[word]?.split(" ") ?? [])]);
  const telling = all.filter((word) => !COMMON.has(word));
  return new Set(wordsOf((telling.length ? telling : all).join(" ")).map(({ term }) => term));
}

/** A section of a chapter that says much of what is asked counts for more. */
function addPages(scores) {
  const pages = new Map();
  for (const [{ page }, score] of scores) pages.set(page, [...(pages.get(page) ?? []), score]);
  for (const [section, score] of scores) {
    const best = pages.get(section.page).sort((one, other) => other - one).slice(0, 5);
    scores.set(section, score + PAGE * best.reduce((sum, one) => sum + one, 0));
  }
}

function search(query) {
  const terms = [...asked(query)];
  const scores = new Map();
  const marked = new Set();
  terms.forEach((term, i) => {
    const best = new Map();
    for (const [word, surely] of meant(term, i === terms.length - 1)) {
      if (!ASKING.has(word)) marked.add(word);
      const places = index.get(word);
      const rare = Math.log(1 + (sections.length - places.size + 0.5) / (places.size + 0.5)) * (ASKING.has(word) ? LITTLE : 1);
      for (const [section, often] of places) {
        const count = often / (1 - LONG + (LONG * section.size) / usual);
        const titled = IN_TITLE * section.titled.has(word) + IN_CHAPTER * section.under.has(word);
        best.set(section, Math.max(best.get(section) ?? 0, surely * rare * ((count * (OFTEN + 1)) / (count + OFTEN) + titled)));
      }
    }
    for (const [section, score] of best) scores.set(section, (scores.get(section) ?? 0) + score * (isAside(section) ? ASIDE : 1));
  });
  addPages(scores);
  const ranked = () => [...scores].sort(([, one], [, other]) => other - one).map(([section]) => section);
  for (const section of ranked().slice(0, 2 * SHOWN)) {
    section.hits = wordsOf(section.text).filter(({ term }) => marked.has(term));
    section.best = section.hits.reduce((best, { index }) => (inside(section, index) > inside(section, best) ? index : best), section.hits[0]?.index ?? 0);
    scores.set(section, scores.get(section) * (1 + (TOGETHER * inside(section, section.best)) / terms.length));
  }
  return ranked().slice(0, SHOWN);
}

/** How many of the words stand together from a place of a section's text on. */
const inside = ({ hits }, from) => new Set(hits.filter(({ index }) => index >= from && index < from + NEAR).map(({ term }) => term)).size;

/** That part of a section's text, with the words marked. */
function excerpt({ text, hits, best }) {
  const start = best < EXCERPT / 3 ? 0 : text.lastIndexOf(" ", best - EXCERPT / 4) + 1;
  const end = start + EXCERPT < text.length ? text.lastIndexOf(" ", start + EXCERPT) : text.length;
  const line = document.createElement("p");
  let at = start;
  if (start) line.append("… ");
  for (const { index, length } of hits) {
    if (index < at || index + length > end) continue;
    const mark = document.createElement("mark");
    mark.append(text.slice(index, index + length));
    line.append(text.slice(at, index), mark);
    at = index + length;
  }
  line.append(text.slice(at, end), end < text.length ? " …" : "");
  return line;
}

function show(query) {
  const found = search(query);
  const items = found.map((section) => {
    const { page, chapter, anchor, title } = section;
    const link = document.createElement("a");
    link.href = document.documentElement.dataset.content_root + page + (anchor && `#${anchor}`);
    link.append(title === chapter ? chapter : `${chapter} › ${title}`);
    const item = document.createElement("li");
    item.append(link, excerpt(section));
    return item;
  });
  list.replaceChildren(...items);
  const count = found.length === SHOWN ? `The best ${SHOWN} sections` : found.length === 1 ? "1 section" : `${found.length} sections`;
  status.textContent = !query.trim() ? "" : found.length ? count : "No section has these words. Try fewer, or another word for it.";
}

const status = document.createElement("p");
status.setAttribute("role", "status");
const list = document.createElement("ol");
document.getElementById("search-results").append(status, list);
const field = document.querySelector(".bd-search-container input");
field.value = new URLSearchParams(location.search).get("q") ?? "";
field.addEventListener("input", () => show(field.value));
show(field.value);
