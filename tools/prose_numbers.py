"""The numbers that a page claims in its prose, and whether something backs each.

A claim is a decimal, a percentage, a number of two digits or more, or "so many times". It is backed by a number, to the
digits quoted, that its section shows, or a chapter that its sentence names; of three significant digits, or in a
section without code, by one that the whole page shows; by a source that its sentence cites; or by an entry of the list.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import nbformat

from tools.shown_numbers import BARE, END, MATH, NUMBER, Shown, sections, value

SMALL = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
WORDS = {word: number for number, word in enumerate(SMALL, start=2)}
WORDS |= {"fifteen": 15, "sixteen": 16, "twenty": 20, "fifty": 50, "hundred": 100, "thousand": 1000}

UNIT = r"(?:\s(?:to|and|or)\s[\d.]+)?(?:\s?%|[\s-](?:percent|hundredths|times)\b)"
CLAIM = re.compile(rf"{NUMBER}(?:st|nd|rd|th)?{END}(?:(?=(?P<unit>{UNIT})))?")
CLAIM_IN_WORDS = re.compile(rf"\b(?P<word>{'|'.join(WORDS)})(?=(?P<unit>{UNIT}))", re.IGNORECASE)
DATE = re.compile(r"\d+(?:[-/.]\d+){2}")

# Not claims: fenced code, formulas, code, links, numbers of headings, lists and rows, days, references by number.
MONTH = r"January|February|March|April|May|June|July|August|September|October|November|December"
REFERENCE = r"chapter|section|figure|equation|exercise|table|appendix"
LIST = r"\d[\d.]*(?:(?:, | and | to |, and )\d[\d.]*)*"
NOT_PROSE = (
    re.compile(r"^ *```\w.*?^ *```", re.DOTALL | re.MULTILINE),
    MATH,
    re.compile(r"`[^`]+`"),
    re.compile(r"\[[^][]+\]\((?:\.\./)?bibliography\.md\)|\]\([^)]*\)|https?://\S+|<[a-zA-Z/!][^>]*>"),
    re.compile(r"^#+ (?:More on )?\[?\d+\.|^ *\d+\. |^\| *\d+ *\|", re.MULTILINE),
    re.compile(rf"\b(?:\d\d? (?:{MONTH})(?: \d{{4}})?|(?:{MONTH}) \d{{4}})\b"),
    re.compile(rf"\b(?:(?:{REFERENCE})s\s{LIST}|(?:{REFERENCE})\s(?:[A-Z]\.)?\d[\d.]*)", re.IGNORECASE),
)
BLANK = "\0"
BLOCK_END = r"\n\s*\n|\n(?= *(?:\||[-*] |#))"
SENTENCE_END = rf"{BLOCK_END}|(?<=[.!?])[*)”]*\s+(?=[A-Z\d“(*\[{BLANK}])"
CITATION = re.compile(r"\]\((?:(?:\.\./)?bibliography\.md|https?:)|\{cite|<https?:")
CHAPTERS = re.compile(rf"\((?:\.\./|more/)?(\d\d)-[\w-]+\.ipynb|\bchapters?\s({LIST})", re.IGNORECASE)


@dataclass(frozen=True)
class Claim:
    """A number as a sentence quotes it; ``value`` has the digits quoted (39 % is 0.39), and is None for a date."""

    sentence: str
    quoted: str
    value: Decimal | None

    def chapters(self) -> set[int]:
        """The chapters that the sentence names or links to, as in "chapters 3 and 4" or "chapters 1 to 6"."""
        found = set()
        for link, named in CHAPTERS.findall(self.sentence):
            numbers = [int(number) for number in re.findall(r"\d+", link or named)]
            found |= {*numbers, *(range(numbers[0], numbers[-1]) if " to " in named else ())}
        return found

    def significant_digits(self) -> int:
        """How many digits are quoted: 3 of 0.0120, 2 of 6500, 0 of a date."""
        if self.value is None:
            return 0
        _, digits, last = self.value.as_tuple()
        text = "".join(map(str, digits)).lstrip("0")
        return len(text.rstrip("0") if last >= 0 else text)


@dataclass(frozen=True)
class Section:
    """What stands between two headings: the claims, and what is shown."""

    claims: tuple[Claim, ...]
    shown: Shown

    def backs(self, claim: Claim) -> bool:
        """Whether the claim is shown here; a date has to stand in code or in an output as it is."""
        return claim.quoted in self.shown.text if claim.value is None else self.shown.has(claim.value)


@dataclass(frozen=True)
class Entry:
    """A number of the list: the page, the number as quoted, words of its sentence, and why it is true."""

    page: str
    quoted: str
    words: str
    source: str

    def lists(self, page: str, claim: Claim) -> bool:
        """Whether the claim on that page is this entry's."""
        return self.page == page and self.quoted == claim.quoted and self.words in claim.sentence


def claims(markdown: str, end: str = SENTENCE_END) -> Iterator[Claim]:
    """The numbers that the prose of a Markdown text claims, each with its sentence."""
    text = markdown
    for pattern in NOT_PROSE:
        text = _blanked(pattern, text)
    numbers = _blanked(DATE, text)
    ends = [0, *(place for match in re.finditer(end, text) for place in match.span()), len(text)]
    for span in zip(ends[::2], ends[1::2], strict=True):
        sentence = " ".join(markdown[slice(*span)].split())
        for match in DATE.finditer(text, *span):
            yield Claim(sentence, match[0], None)
        for match in CLAIM.finditer(numbers, *span):
            claim = _claim(sentence, match, value(match))
            if claim.value.as_tuple().exponent < 0 or abs(claim.value) >= (2 if match["unit"] else 10):
                yield claim
        for match in CLAIM_IN_WORDS.finditer(numbers, *span):
            yield _claim(sentence, match, Decimal(WORDS[match["word"].lower()]))


def _blanked(pattern: re.Pattern, text: str) -> str:
    return pattern.sub(lambda match: match[0] if BARE.fullmatch(match[0]) else BLANK * len(match[0]), text)


def _claim(sentence: str, match: re.Match, number: Decimal) -> Claim:
    unit = match["unit"] or ""
    if unit.endswith(("%", "percent", "hundredths")):
        number = number.scaleb(-2)
    return Claim(sentence, " ".join((match[0] + unit).split()), number)


def read(paths: Iterable[Path]) -> dict[str, list[Section]]:
    """The pages by name, as in ``more/02-scores``.

    They are notebooks, and Markdown files, which show nothing, and whose claims have a block around.
    """
    pages = {}
    for path in paths:
        name = path.stem if path.parent.name != "more" else f"more/{path.stem}"
        if path.suffix == ".ipynb":
            parts = sections(nbformat.read(path, as_version=4).cells)
            pages[name] = [Section(tuple(claims(markdown)), shown) for markdown, shown in parts]
        else:
            found = tuple(claims(path.read_text(encoding="utf-8"), BLOCK_END))
            pages[name] = [Section(found, Shown())]
    return pages


def read_list(path: Path) -> list[Entry]:
    """The list of the numbers that have a source outside the book."""
    return [Entry(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("number", [])]


def unbacked(name: str, pages: dict[str, list[Section]]) -> list[Claim]:
    """The claims of a page that nothing backs, the list left aside."""
    found = []
    for section in pages[name]:
        for claim in section.claims:
            whole_page = not section.shown.has_code or claim.significant_digits() >= 3
            places = list(pages[name]) if whole_page else [section]
            for chapter in claim.chapters():
                named = (page for page in pages if page.removeprefix("more/").startswith(f"{chapter:02}-"))
                places += [place for page in named for place in pages[page]]
            if not CITATION.search(claim.sentence) and not any(place.backs(claim) for place in places):
                found.append(claim)
    return found


def faults(name: str, pages: dict[str, list[Section]], entries: list[Entry]) -> list[str]:
    """What is wrong on a page, a sentence each: claims that nothing backs, and entries of the list that none needs."""
    left = unbacked(name, pages)
    found = [
        f"{name}: nothing backs {claim.quoted!r} in {claim.sentence!r}. Print or assert it in a cell of its section, "
        "name the chapter that shows it, cite a source, or list it in tests/prose_numbers.toml."
        for claim in left
        if not any(entry.lists(name, claim) for entry in entries)
    ]
    found += [
        f"{name}: the list's entry {entry.quoted!r}, {entry.words!r}, is not needed: remove it."
        for entry in entries
        if entry.page == name and not any(entry.lists(name, claim) for claim in left)
    ]
    return found
