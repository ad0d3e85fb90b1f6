"""Whether something backs each number that a page claims in its prose.

A claim is a decimal, a percentage, a number of two digits or more, "so many times", a small number that stands in bold
or in code by itself, or a tuple of numbers in a formula. It is backed by a number, to the digits quoted, that a cell
prints, asserts or has in its code: a cell of the claim's section, or of a section or figure that its sentence links to.
Arithmetic in the sentence backs its result, if it is right; a citation backs what its sentence says; so does the list.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from html import unescape
from itertools import pairwise, takewhile
from pathlib import Path
from posixpath import normpath

import nbformat
import numpy as np

SMALL = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
WORDS = {word: number for number, word in enumerate(SMALL, start=2)}
WORDS |= {"fifteen": 15, "sixteen": 16, "twenty": 20, "fifty": 50, "hundred": 100, "thousand": 1000}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")

# 12, 6,000, −0.61, 1e-8, 3·10⁻⁸ and, in a formula, 3\cdot 10^{-8}; not the digits in float32, GPT-3 or 3.2.1.
NUMBER = (
    r"(?<![\w.])(?<!\w-)(?P<sign>[−-]?)"
    r"(?:(?:(?P<factor>\d[\d.]*)\s?(?:[·×]|\\cdot|\\times)\s?)?10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|\^\{?-?\d+\}?)"
    r"|(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)(?:\.\d+)?(?:e[-+]?\d+)?))"
)
END = r"(?:st|nd|rd|th)?(?!\w|\.\d)"
UNIT = r"(?:\s(?:to|and|or)\s[\d.]+)?(?:\s?\\?%|[\s-](?:percent|hundredths|times)\b)"
CLAIM = re.compile(rf"(?:{NUMBER}{END}|\b(?P<word>{'|'.join(WORDS)})(?={UNIT}))(?=(?P<unit>{UNIT})?)", re.IGNORECASE)
DATE = re.compile(r"\d+(?:[-/.]\d+){2}")
TUPLE = re.compile(r"\(([-−\d.\s]+(?:,[-−\d.\s]+)+)\)")
BARE = re.compile(rf"(?<![*`$\w])(\*\*|`|\$){NUMBER}\1(?![*`$\w])")  # such a number claims, however small

# Not claims: code, formulas, links; numbers of headings, lists and rows, words in italics, days, references by number.
MONTH = r"January|February|March|April|May|June|July|August|September|October|November|December"
MATH = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
UNREAD = re.compile(
    r"^ *```\w.*?^ *```|`[^`]+`|\[[^][]+\]\((?:\.\./)?bibliography\.md\)|\]\([^)]*\)|https?://\S+|<[a-zA-Z/!][^>]*>",
    re.DOTALL | re.MULTILINE,
)
NO_CLAIM = re.compile(
    r"^#+ (?:More on )?\[?\d+\.|^ *\d+\. |^\| *\d+ *\||(?<!\*)\*\d+\*(?!\*)"
    rf"|\b(?:\d\d? (?:{MONTH})(?: \d{{4}})?|(?:{MONTH}) \d{{4}})\b"
    r"|\b(?:chapter|section|figure|equation|exercise|table|appendix|layer)s?"
    r"\s(?:[A-Z]\.)?\d[\d.]*(?:(?:,| and| to|, and) \d[\d.]*)*",
    re.MULTILINE | re.IGNORECASE,
)
BLANK = "\0"
BLOCK_END = rf"\n\s*\n|\n(?= *(?:\||[-*] |#|{BLANK}))"
SENTENCE_END = rf"{BLOCK_END}|(?<=[.!?])[*)”]*\s+(?=[A-Z\d“(*\[{BLANK}])"
CITATION = re.compile(r"\]\((?:(?:\.\./)?bibliography\.md|https?:)|\{cite|<https?:")
LINK = re.compile(r"\]\(((?:\.\./)?[\w/-]*?)(?:\.ipynb)?#([\w-]+)")
HEADING = re.compile(r"^(?=#{1,6} )", re.MULTILINE)
TAG = re.compile("<[^>]*>")
PAYLOAD = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)


@dataclass
class Section:
    """A heading (its level, its anchor and those of its figures), the prose under it, and what its cells show."""

    end: str = SENTENCE_END
    level: int = 1
    anchors: set[str] = field(default_factory=set)
    prose: str = ""
    printed: set[Decimal] = field(default_factory=set)  # may be rounded
    exact: set[Decimal] = field(default_factory=set)  # constants of the code and labels of controls
    rows: set[tuple[float, ...]] = field(default_factory=set)
    text: str = ""

    @cached_property
    def sentences(self) -> dict[str, list[Claim]]:
        return sentences(self.prose, self.end)

    def add(self, cell) -> None:
        """Take in what a cell of code shows, but not what an explorer draws: among that, any claim finds a number."""
        nodes = list(ast.walk(ast.parse(re.sub(r"^(\s*)[%!].*", r"\1pass", cell.source, flags=re.MULTILINE))))
        asserted = {id(node) for each in nodes if isinstance(each, ast.Assert) for node in ast.walk(each)}
        code = [ast.unparse(node) for node in nodes if isinstance(node, ast.Constant | ast.UnaryOp)]
        rows = [ast.unparse(node)[1:-1] for node in nodes if isinstance(node, ast.List | ast.Tuple)]
        exact = [text for text in code if text[0] not in "'\""]
        exact += [node.value for node in nodes if isinstance(getattr(node, "value", 0), str) and id(node) in asserted]
        printed = ""
        for output in cell.outputs:
            data = output.get("data", {})
            html = data.get("text/html", "")
            for payload in map(json.loads, PAYLOAD.findall(html)):
                self.anchors.add(payload.get("name"))
                exact += [text for control in payload["controls"] for text in (control["label"], *control["labels"])]
            if not PAYLOAD.search(html) and "image/svg+xml" not in data:
                printed += "\n".join([output.get("text", ""), data.get("text/plain", ""), unescape(TAG.sub(" ", html))])
        self.prose += "\n\n" + cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        self.text += "\n".join((*code, printed))
        self.printed |= set(_numbers(printed))
        self.exact |= set(_numbers("\n".join(exact)))
        for row in rows + re.findall(r"\[([^][]+)\]", printed):
            with suppress(ValueError):
                self.rows.add(tuple(map(float, row.replace(",", " ").split())))


@dataclass(frozen=True)
class Claim:
    """What a sentence quotes: its value has the digits quoted (39 % is 0.39); a date has none, a tuple several."""

    quoted: str
    value: Decimal | tuple[float, ...] | None
    bare: bool = False

    def met_by(self, place: Section) -> bool:
        """Whether a section shows it; one decimal alone, or a small number by itself, is not rounded."""
        if not isinstance(self.value, Decimal):
            return self.quoted in place.text if self.value is None else self.value in place.rows
        last, small = self.value.as_tuple().exponent, self.bare and abs(self.value) < 10
        most = Decimal("0.5").scaleb(last) if (last < -1 or abs(self.value) >= 1) and not small else 0
        near = {number for number in place.printed if abs(abs(number) - abs(self.value)) <= most}
        exact = {number for row in place.rows for number in row} if small else place.exact
        near |= {number for number in exact if abs(number) == abs(self.value)}
        return any(number < 0 or self.value >= 0 for number in near)


def _value(match: re.Match) -> Decimal:
    power = int((match["power"] or "0").translate(RAISED).strip("^{}"))
    found = Decimal((match["digits"] or match["factor"] or "1").replace(",", "")).scaleb(power)
    return -found if match["sign"] else found


def _numbers(text: str) -> Iterator[Decimal]:
    for match in re.finditer(rf"{NUMBER}(?P<percent>\s?%)?{END}", text):
        yield _value(match)
        if match["percent"]:
            yield _value(match).scaleb(-2)


def _blank(pattern: re.Pattern, text: str) -> str:
    return pattern.sub(lambda match: match[0] if BARE.fullmatch(match[0]) else BLANK * len(match[0]), text)


def sentences(markdown: str, end: str = SENTENCE_END) -> dict[str, list[Claim]]:
    """The sentences of a Markdown text, and the numbers that each claims."""
    formulas = _blank(UNREAD, markdown)
    text = _blank(NO_CLAIM, _blank(MATH, formulas))
    numbers = _blank(DATE, text)
    bare = {match.end(1) for match in BARE.finditer(numbers) if match[1] != "$"}
    ends = [0, *(place for match in re.finditer(end, text) for place in match.span()), len(text)]
    found: dict[str, list[Claim]] = {}
    for span in zip(ends[::2], ends[1::2], strict=True):
        claims = found.setdefault(" ".join(markdown[slice(*span)].split()), [])
        claims += [Claim(match[0], None) for match in DATE.finditer(text, *span)]
        for formula in MATH.finditer(formulas, *span):
            for match in TUPLE.finditer(formula[0]):
                claims.append(Claim(match[0], tuple(float(x.replace("−", "-")) for x in match[1].split(","))))
        for match in CLAIM.finditer(numbers, *span):
            unit, by_itself = match["unit"] or "", match.start() in bare
            number = Decimal(WORDS[match["word"].lower()]) if match["word"] else _value(match)
            if unit.endswith(("%", "percent", "hundredths")):
                number = number.scaleb(-2)
            if by_itself or number.as_tuple().exponent < 0 or abs(number) >= (2 if unit else 10):
                claims.append(Claim(" ".join((match[0] + unit).split()), number, by_itself))
    return found


# Arithmetic as it is written, and as Python evaluates it.
SIGNS = (
    (UNREAD, " ; "),
    (re.compile(r"\\text\w*\{[^{}]*\}|\\(?:left|right|[!,;:]|q?quad)|[$*&]"), ""),
    (re.compile(r"(?<=\d)(?:,|\{,\})(?=\d{3}\b)"), ""),
    (re.compile(r"\\cdot|\\times|[·×]"), "*"),
    (re.compile(r"≈|\\approx"), "="),
    (re.compile(r"[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+"), lambda match: f"**({match[0].translate(RAISED)})"),
    (re.compile(r"\^(?:\{([^{}]*)\}|(\d))"), r"**(\1\2)"),
    (re.compile(r"(?:\\sqrt|√) ?(?:\{([^{}]*)\}|\(([^()]*)\)|(\d[\d.]*))"), r"sqrt(\1\2\3)"),
    (re.compile(r"\\t?frac(?:\{([^{}]*)\}\{([^{}]*)\}|(\d)(\d))"), r"((\1\3)/(\2\4))"),
    (re.compile(r"\\(ln|exp|sin|cos) ?\(?(-?[\d.]+)\)?"), r"\1(\2)"),
    (re.compile(r"(?<!\w)\(([^()]+,[^()]+)\)"), r"row(\1)"),
)
NAMES = {name: getattr(np, name) for name in ("sqrt", "exp", "sin", "cos", "e")}
NAMES |= {"ln": np.log, "row": lambda *numbers: np.array(numbers), "__builtins__": {}}
SIDE = r"(?:[\d.()+\-*/ ]|\b(?:sqrt|ln|exp|sin|cos|e|row)\b|(?<=\d), ?(?=-?[\d.]+[,)]))*"  # what is evaluated
NO_LEFT = re.compile(r"(?:\b[^\W\d]|[\\_}^])\s*$")  # a variable before, a unit or a variable behind: not numbers alone
NO_RIGHT = re.compile(r"\w|\s*(?:\w\b|[\\_{}^%]|[mb]illion)")


def arithmetic(sentence: str) -> Iterator[tuple[str, bool, Decimal | tuple | None]]:
    """The equations between numbers alone that a sentence writes, whether each is right, and what it comes to."""
    for pattern, replacement in SIGNS:
        sentence = pattern.sub(replacement, sentence.replace("−", "-").replace("÷", "/"))
    for left, right in pairwise(sentence.split("=")):
        a, b = re.search(f"{SIDE}$", left)[0], re.match(SIDE, right)[0].rstrip(" (")
        if NO_LEFT.search(left.removesuffix(a)) or NO_RIGHT.match(right.removeprefix(b)):
            continue
        a, b = a.strip(), b.strip().rstrip(".")
        if not re.search(r"[*/+(]|\d ?-", a + b) or re.match(r"[*/+]|- ", a):
            continue
        try:
            values = [eval(side, NAMES) for side in (a, b)]
        except (SyntaxError, TypeError, NameError):
            continue
        quoted = [side for side in (a, b) if re.fullmatch(r"-?\d+(?:\.\d+)?", side)]
        most = max([0, *(0.5 * 10.0 ** -len(number.partition(".")[2]) for number in quoted)]) + 1e-9
        result = tuple(values[1]) if np.ndim(values[1]) else Decimal(b) if b in quoted else None
        yield f"{a} = {b}", bool(np.all(abs(values[0] - values[1]) <= most)), result


def read(paths: Iterable[Path]) -> dict[str, list[Section]]:
    """The pages by name, as in ``more/02-scores``: notebooks, and Markdown files, whose claims have a block around."""
    pages = {}
    for path in paths:
        name = path.stem if path.parent.name != "more" else f"more/{path.stem}"
        if path.suffix == ".ipynb":
            cells = nbformat.read(path, as_version=4).cells
        else:
            cells = [nbformat.v4.new_markdown_cell(path.read_text(encoding="utf-8"))]
        end = SENTENCE_END if path.suffix == ".ipynb" else BLOCK_END
        found = pages[name] = [Section(end)]
        for cell in cells:
            if cell.cell_type == "code":
                found[-1].add(cell)
                continue
            before, *after = HEADING.split(cell.source)
            found[-1].prose += "\n\n" + before
            for text in after:
                hashes, title = text.splitlines()[0].split(" ", 1)
                found.append(Section(end, len(hashes), {anchor(title)}, text))
    return pages


def anchor(title: str) -> str:
    """The anchor that MyST gives a heading."""
    return re.sub(r"[^\w\s-]", "", re.sub(r"\]\([^)]*\)", "", title).lower()).replace(" ", "-")


def below(number: int, sections: list[Section], level: int) -> list[Section]:
    """A section and what stands below its heading, or the heading above it of that level."""
    first = max(at for at in range(number + 1) if at == 0 or sections[at].level <= level)
    return [sections[first], *takewhile(lambda other: other.level > level, sections[first + 1 :])]


def faults(pages: dict[str, list[Section]], listed: Iterable[str]) -> Iterator[str]:
    """All that is wrong, a sentence each: numbers that nothing backs, false arithmetic, entries that none needs."""
    needed = set()
    for page, sections in pages.items():
        for number, section in enumerate(sections):
            for sentence, claims in section.sentences.items():
                written = list(arithmetic(sentence))
                yield from (f"{page}: {what} is false, in {sentence!r}." for what, right, _ in written if not right)
                results = [result for _, right, result in written if right]
                own, others = below(number, sections, 2), linked(sentence, page, pages)
                for claim in claims if not CITATION.search(sentence) else ():
                    places = others if claim.bare and others else own + others
                    if any(map(claim.met_by, places)) or (claim.value in results and not claim.bare):
                        continue
                    entries = {words for words in listed if words in sentence and claim.quoted in words}
                    needed |= entries
                    if not entries:
                        yield f"{page}: nothing backs {claim.quoted!r} in {sentence!r}."
    yield from (f"No sentence needs the list's {words!r}: remove it." for words in listed if words not in needed)


def linked(sentence: str, page: str, pages: dict[str, list[Section]]) -> list[Section]:
    """The sections that a sentence's links name, by a heading or by a figure."""
    found = []
    for target, place in LINK.findall(sentence):
        sections = pages.get(normpath(f"{page}/../{target}") if target else page, [])
        for number, section in enumerate(sections):
            found += below(number, sections, section.level) if place in section.anchors else []
    return found
