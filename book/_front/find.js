// The search page: ranks the sections of PAGES (tools/site/sections.py) by the words that they share with a query
// (Okapi BM25, a word of the title counting for more), and shows the best, each with its place in the book.
const SHOWN = 25;
const OFTEN = 1.6; // how much a word's further occurrences in a section count
const LONG = 0.5; // how much a section's length counts against it
const IN_TITLE = 1.2; // what a word of the title counts for, and a word of the chapter's title
const IN_CHAPTER = 0.3;
const BEGUN = 0.5; // what a word counts for that begins with a word of the query
const ASIDE = 0.5; // what a note counts, an exercise, the instructors' page, the package and the bibliography
const EXCERPT = 220; // characters

// What questions are made of says little of what they ask.
const COMMON = new Set(
  ("a an and are as at be by can did do does for from has have how i if in is it its my not of on or our so than " +
    "that the then there they this to was we were what when where which who why will with you your").split(" "),
);

// Other words for what the book says, or for where it says it.
const SYNONYMS = {
  attn: "attention",
  gqa: "grouped query",
  mqa: "grouped query",
  enable_gqa: "grouped query",
  kv: "key value",
  rope: "rotary",
  license: "licence",
  slides: "lecture",
  ffn: "feed forward",
  mlp: "feed forward",
};

/** A word without its ending: divide, divides, divided and dividing are one. */
const stem = (word) => word.replace(/ies$/, "y").replace(/(?<=...)(?:ing|ed|es|s|e)$/, "").replace(/(.)\1$/, "$1");

/** The words of a text, each with its place; a name in code is also each of its words, and √ is a root. */
function wordsOf(text) {
  return [...text.toLowerCase().matchAll(/√|[\p{L}\p{N}_]+/gu)].flatMap(({ 0: word, index }) => {
    const parts = word === "√" ? ["root"] : new Set([word, ...word.split("_")].filter(Boolean));
    return [...parts].map((part) => ({ term: stem(part), index, length: word.length }));
  });
}
const termsOf = (text) => wordsOf(text).map(({ term }) => term);

const index = new Map(); // term → section → how often
const sections = PAGES.flatMap(([page, chapter, all]) =>
  all.map(([anchor, title, text]) => {
    const terms = termsOf(text);
    const isAside = /more\/|teaching|api|figures|bibliography/.test(page) || (anchor && /^\d+\. /.test(title));
    const titled = new Set(termsOf(`${title} ${text.match(/[^.?!:]*[?]/g) ?? ""}`)); // its questions are titles, too
    const under = new Set(termsOf(chapter));
    const worth = isAside ? ASIDE : 1;
    const section = { page, chapter, anchor, title, text, titled, under, worth, size: terms.length };
    for (const term of [...terms, ...titled]) {
      if (!index.has(term)) index.set(term, new Map());
      index.get(term).set(section, (index.get(term).get(section) ?? 0) + 1);
    }
    return section;
  }),
);
const usual = sections.reduce((sum, { size }) => sum + size, 0) / sections.length;

/** The book's words that a reader may mean by a word, and how surely: it, and those of which it is the beginning. */
function meant(term, isLast) {
  const isBegun = term.length > 2 && (isLast || !index.has(term));
  const words = [...index.keys()].filter((word) => word === term || (isBegun && word.startsWith(term)));
  return words.map((word) => [word, word === term ? 1 : BEGUN]);
}

/** The terms of a query that say what it asks, or all it has. */
function asked(query) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_√]+/gu) ?? [];
  const telling = words.filter((word) => !COMMON.has(word)).map((word) => `${word} ${SYNONYMS[word] ?? ""}`);
  return [...new Set(termsOf((telling.length ? telling : words).join(" ")))];
}

/** The best sections, and the terms that were looked for. */
function search(query) {
  const scores = new Map();
  const marked = new Set();
  asked(query).forEach((term, i, all) => {
    const best = new Map();
    for (const [word, surely] of meant(term, i === all.length - 1)) {
      marked.add(word);
      const places = index.get(word);
      const rare = Math.log(1 + (sections.length - places.size + 0.5) / (places.size + 0.5));
      for (const [section, often] of places) {
        const count = often / (1 - LONG + (LONG * section.size) / usual);
        const titled = IN_TITLE * section.titled.has(word) + IN_CHAPTER * section.under.has(word);
        const score = section.worth * surely * rare * ((count * (OFTEN + 1)) / (count + OFTEN) + titled);
        best.set(section, Math.max(best.get(section) ?? 0, score));
      }
    }
    for (const [section, score] of best) scores.set(section, (scores.get(section) ?? 0) + score);
  });
  const ranked = [...scores].sort(([, one], [, other]) => other - one).map(([section]) => section);
  return { found: ranked.slice(0, SHOWN), marked };
}

/** That part of a section's text which begins with the first of the words, and the words marked. */
function excerpt(text, marked) {
  const hits = wordsOf(text).filter(({ term }) => marked.has(term));
  let at = hits[0]?.index > EXCERPT / 3 ? text.lastIndexOf(" ", hits[0].index - EXCERPT / 4) + 1 : 0;
  const end = at + EXCERPT < text.length ? text.lastIndexOf(" ", at + EXCERPT) : text.length;
  const line = document.createElement("p");
  line.append(at ? "… " : "");
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

function show() {
  const { found, marked } = search(field.value);
  const items = found.map(({ page, chapter, anchor, title, text }) => {
    const link = document.createElement("a");
    link.href = document.documentElement.dataset.content_root + page + (anchor && `#${anchor}`);
    link.append(title === chapter ? chapter : `${chapter} › ${title}`);
    const item = document.createElement("li");
    item.append(link, excerpt(text, marked));
    return item;
  });
  list.replaceChildren(...items);
  const isEmpty = field.value.trim() && !found.length;
  status.textContent = isEmpty ? "No section has these words. Try fewer, or another word for it." : "";
}

const status = document.createElement("p");
status.setAttribute("role", "status");
const list = document.createElement("ol");
document.getElementById("search-results").append(status, list);
const field = document.querySelector(".bd-search-container input");
field.value = new URLSearchParams(location.search).get("q") ?? "";
field.addEventListener("input", show);
show();
