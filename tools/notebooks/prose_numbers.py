"""Whether something backs each number that a page claims in its prose.

A claim is a decimal, a percentage, a number of two digits or more, "so many times", a small number that stands in bold
or in code by itself, or a tuple of numbers in a formula. It is backed by a number, to the digits quoted, that a cell
prints, asserts or has in its code: a cell of the claim's section, or of a section or figure that its sentence links to.
Arithmetic in the sentence backs its result, if it is right; a citation backs what its sentence says; so does the list.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from html import unescape
from itertools import pairwise, takewhile
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

import nbformat
import numpy as np

SMALL = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
WORDS = {word: number for number, word in enumerate(SMALL, start=2)}
WORDS |= {"fifteen": 15, "sixteen": 16, "twenty": 20, "fifty": 50, "hundred": 100, "thousand": 1000}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")

# How numbers are written, and as Python writes them: 6,000, −0.61, 3·10⁻⁸ and, in a formula, 3\cdot 10^{-8}.
NUMERALS = (
    (r"(?<=\d)(?:,|\{,\}|_)(?=\d{3}(?!\d))", ""),
    (r"−", "-"),
    (r"[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda match: f"^{{{match[0].translate(RAISED)}}}"),
    (r"(?<![\w.])(\d[\d.]*)\s?(?:[·×]|\\cdot|\\times)\s?10\^\{?(-?\d+)\}?", r"\1e\2"),
    (r"(?<![\w.])10\^\{?(-?\d+)\}?", r"1e\1"),
)
# Not the digits in float32, GPT-3 or 3.2.1.
NUMBER = re.compile(r"(?<![\w.])(?<!\w-)(-?\d+(?:\.\d+)?(?:e-?\d+)?)(\s?%)?(?:st|nd|rd|th)?(?!\w|\.\d)")
UNIT = r"(?:\s(?:to|and|or)\s[\d.]+)?(\s?\\?%|[\s-](?:percent|hundredths|times)\b)"
CLAIM = re.compile(rf"(?:{NUMBER.pattern}|\b({'|'.join(WORDS)})(?={UNIT}))(?={UNIT})?".replace(r"(\s?%)?", ""), re.I)
TUPLE = re.compile(r"\(([-\d.\s]+(?:,[-\d.\s]+)+)\)")
# Such a number claims; and in bold or in code, however small it is.
ALONE = re.compile(
    r"(?<![*`$\w])(\*\*|`|\$)[-−]?\d[\d.,]*(?:e-?\d+)?(?:\s?\\cdot\s?10)?(?:\^\{?-?\d+\}?)?\1(?![*`$\w])"
)

# Not claims: code, links; formulas; numbers of headings, lists and rows, words in italics, days, references by number.
MONTH = r"January|February|March|April|May|June|July|August|September|October|November|December"
MATH = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
UNREAD = re.compile(
    r"^ *```\w.*?^ *```|`[^`]+`|\[[^][]+\]\((?:\.\./)?bibliography\.md\)|\]\([^)]*\)|https?://\S+|<[a-zA-Z/!][^>]*>",
    re.DOTALL | re.MULTILINE,
)
NO_CLAIM = re.compile(
    r"^#+ (?:More on )?\[?\d+\.|^ *\d+\. |^\| *\d+ *\||(?<!\*)\*\d+\*(?!\*)|\d+(?:[-/.]\d+){2}"
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

# Arithmetic, behind the numerals, as it is written and as Python evaluates it.
SIGNS = (
    (r"\\text\w*\{[^{}]*\}|\\(?:left|right|[!,;:]|q?quad)|[$*&]", ""),
    (r"\\cdot|\\times|[·×]", "*"),
    (r"÷", "/"),
    (r"≈|\\approx", "="),
    (r"\^(?:\{([^{}]*)\}|(\d))", r"**(\1\2)"),
    (r"(?:\\sqrt|√) ?(?:\{([^{}]*)\}|\(([^()]*)\)|(\d[\d.]*))", r"sqrt(\1\2\3)"),
    (r"\\t?frac(?:\{([^{}]*)\}\{([^{}]*)\}|(\d)(\d))", r"((\1\3)/(\2\4))"),
    (r"\\(ln|exp|sin|cos) ?\(?(-?[\d.]+)\)?", r"\1(\2)"),
    (r"(?<!\w)\(([^()]+,[^()]+)\)", r"row(\1)"),
)
NAMES = {name: getattr(np, name) for name in ("sqrt", "exp", "sin", "cos", "e")}
NAMES |= {"ln": np.log, "row": lambda *numbers: np.array(numbers), "__builtins__": {}}
SIDE = r"(?:[\d.()+\-*/ ]|\b(?:sqrt|ln|exp|sin|cos|e|row)\b|(?<=\d)e-?\d|(?<=\d), ?(?=-?[\d.]+[,)]))*"
NO_LEFT = re.compile(r"(?:\b[^\W\d]|[\\_}^])\s*$")  # a variable before, a unit or a variable behind: not numbers alone
NO_RIGHT = re.compile(r"\w|\s*(?:\w\b|[\\_{}^%]|[mb]illion)")


class Claim(NamedTuple):
    """What a sentence quotes: its value has the digits quoted (39 % is 0.39), or is a tuple's numbers."""

    quoted: str
    value: Decimal | tuple[float, ...]
    is_bare: bool = False


class Section:
    """A heading (its level, its anchor and those of its figures), the prose under it, and what its cells show."""

    def __init__(self, end: str, level: int = 1, anchor: str = "", prose: str = "") -> None:
        self.end, self.level, self.anchors, self.prose = end, level, {anchor}, prose
        self.printed: set[Decimal] = set()  # may be rounded
        self.exact: set[Decimal] = set()  # constants of the code and labels of controls
        self.rows: set[tuple[float, ...]] = set()

    def add(self, cell) -> None:
        """Take in what a cell of code shows, but not what an explorer draws: among that, any claim finds a number."""
        nodes = list(ast.walk(ast.parse(re.sub(r"^(\s*)[%!].*", r"\1pass", cell.source, flags=re.MULTILINE))))
        asserted = {id(node) for each in nodes if isinstance(each, ast.Assert) for node in ast.walk(each)}
        texts = [node for node in nodes if isinstance(getattr(node, "value", 0), str)]
        exact = [ast.unparse(node) for node in nodes if isinstance(node, ast.Constant | ast.UnaryOp)]
        exact = [text for text in exact if text[0] not in "'\""] + [t.value for t in texts if id(t) in asserted]
        rows = [ast.unparse(node)[1:-1] for node in nodes if isinstance(node, ast.List | ast.Tuple)]
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
        self.printed |= {number for match in NUMBER.finditer(changed(printed, NUMERALS)) for number in values(match)}
        self.exact |= {n for match in NUMBER.finditer(changed("\n".join(exact), NUMERALS)) for n in values(match)}
        for row in rows + re.findall(r"\[([^][]+)\]", printed):
            with suppress(ValueError):
                self.rows.add(tuple(map(float, row.replace(",", " ").split())))

    def shows(self, claim: Claim) -> bool:
        """Whether it backs a claim; one decimal alone, or a small number by itself, is not rounded."""
        if isinstance(claim.value, tuple):
            return claim.value in self.rows
        size, is_small = abs(claim.value), claim.is_bare and abs(claim.value) < 10
        last = claim.value.as_tuple().exponent
        most = Decimal("0.5").scaleb(last) if (last < -1 or size >= 1) and not is_small else 0
        exact = {number for row in self.rows for number in row} if is_small else self.exact
        near = [number for number in self.printed if abs(abs(number) - size) <= most]
        near += [number for number in exact if abs(number) == size]
        return any(number < 0 or claim.value >= 0 for number in near)


def changed(text: str, replacements) -> str:
    for pattern, replacement in replacements:
        text = re.sub(pattern, replacement, text)
    return text


def values(match: re.Match) -> Iterator[Decimal]:
    """What a number is worth, and as a percentage."""
    yield Decimal(match[1])
    if match[2]:
        yield Decimal(match[1]).scaleb(-2)


def blank(pattern: re.Pattern, text: str) -> str:
    return pattern.sub(lambda match: match[0] if ALONE.fullmatch(match[0]) else BLANK * len(match[0]), text)


def sentences(markdown: str, end: str = SENTENCE_END) -> dict[str, list[Claim]]:
    """The sentences of a Markdown text, and the numbers that each claims."""
    formulas = blank(UNREAD, markdown)
    text = blank(NO_CLAIM, blank(MATH, formulas))
    ends = [0, *(place for match in re.finditer(end, text) for place in match.span()), len(text)]
    found: dict[str, list[Claim]] = {}
    for start, stop in zip(ends[::2], ends[1::2], strict=True):
        claims = found.setdefault(" ".join(markdown[start:stop].split()), [])
        for formula in MATH.findall(formulas[start:stop]):
            for match in TUPLE.finditer(changed(formula, NUMERALS)):
                claims.append(Claim(match[0], tuple(map(float, match[1].split(",")))))
        read = changed(text[start:stop], NUMERALS)
        bare = {match.end(1) for match in ALONE.finditer(read) if match[1] != "$"}
        for match in CLAIM.finditer(read):
            digits, word, _, unit = match.groups()
            number, unit, is_bare = Decimal(digits or WORDS[word.lower()]), unit or "", match.start() in bare
            if unit.endswith(("%", "percent", "hundredths")):
                number = number.scaleb(-2)
            if is_bare or number.as_tuple().exponent < 0 or abs(number) >= (2 if unit else 10):
                claims.append(Claim(" ".join((match[0] + unit).split()), number, is_bare))
    return found


def arithmetic(sentence: str) -> Iterator[tuple[str, bool, Decimal | tuple | None]]:
    """The equations between numbers alone that a sentence writes, whether each is right, and what it comes to."""
    sentence = changed(changed(UNREAD.sub(" ; ", sentence), NUMERALS), SIGNS)
    for left, right in pairwise(sentence.split("=")):
        a, b = re.search(f"{SIDE}$", left)[0], re.match(SIDE, right)[0].rstrip(" (")
        if NO_LEFT.search(left.removesuffix(a)) or NO_RIGHT.match(right.removeprefix(b)):
            continue
        a, b = a.strip(), b.strip().rstrip(".")
        if not re.search(r"[*/+(]|\d ?-", a + b) or re.match(r"[*/+]|- ", a):
            continue
        try:
            one, other = (eval(side, NAMES) for side in (a, b))
        except (SyntaxError, TypeError, NameError):
            continue
        quoted = [side for side in (a, b) if re.fullmatch(r"-?\d+(?:\.\d+)?", side)]
        most = max([0, *(0.5 * 10.0 ** -len(number.partition(".")[2]) for number in quoted)]) + 1e-9
        result = tuple(other) if np.ndim(other) else Decimal(b) if b in quoted else None
        yield f"{a} = {b}", bool(np.all(abs(one - other) <= most)), result


def read(paths: Iterable[Path]) -> dict[str, list[Section]]:
    """The pages by name, as in ``more/02-scores``: notebooks, and Markdown files, whose claims have a block around."""
    pages = {}
    for path in paths:
        if path.suffix == ".ipynb":
            cells, end = nbformat.read(path, as_version=4).cells, SENTENCE_END
        else:
            cells, end = [nbformat.v4.new_markdown_cell(path.read_text(encoding="utf-8"))], BLOCK_END
        found = pages[f"more/{path.stem}" if path.parent.name == "more" else path.stem] = [Section(end)]
        for cell in cells:
            if cell.cell_type == "code":
                found[-1].add(cell)
                continue
            before, *after = HEADING.split(cell.source)
            found[-1].prose += "\n\n" + before
            for text in after:
                hashes, title = text.splitlines()[0].split(" ", 1)
                title = re.sub(r"[^\w\s-]", "", re.sub(r"\]\([^)]*\)", "", title).lower())  # as MyST makes an anchor
                found.append(Section(end, len(hashes), title.replace(" ", "-"), text))
    return pages


def below(number: int, sections: list[Section], level: int) -> list[Section]:
    """A section and what stands below its heading, or the heading above it of that level."""
    first = max(at for at in range(number + 1) if at == 0 or sections[at].level <= level)
    return [sections[first], *takewhile(lambda other: other.level > level, sections[first + 1 :])]


def linked(sentence: str, page: str, pages: dict[str, list[Section]]) -> Iterator[Section]:
    """The sections that a sentence's links name, by a heading or by a figure."""
    for target, place in LINK.findall(sentence):
        sections = pages.get(normpath(f"{page}/../{target}") if target else page, [])
        for number, section in enumerate(sections):
            yield from below(number, sections, section.level) if place in section.anchors else ()


def faults(pages: dict[str, list[Section]], listed: Iterable[str]) -> Iterator[str]:
    """All that is wrong, a sentence each: numbers that nothing backs, false arithmetic, entries that none needs."""
    unneeded = set(listed)
    for page, sections in pages.items():
        for number, section in enumerate(sections):
            for sentence, claims in sentences(section.prose, section.end).items():
                written = list(arithmetic(sentence))
                yield from (f"{page}: {what} is false, in {sentence!r}." for what, right, _ in written if not right)
                results = [result for _, right, result in written if right]
                own, others = below(number, sections, 2), [*linked(sentence, page, pages)]
                for claim in claims if not CITATION.search(sentence) else ():
                    places = others if claim.is_bare and others else own + others
                    if any(place.shows(claim) for place in places) or (claim.value in results and not claim.is_bare):
                        continue
                    entries = {
                        words for words in listed if words in sentence and claim.quoted in changed(words, NUMERALS)
                    }
                    unneeded -= entries
                    if not entries:
                        yield f"{page}: nothing backs {claim.quoted!r} in {sentence!r}."
    yield from (f"No sentence needs the list's {words!r}: remove it." for words in unneeded)
