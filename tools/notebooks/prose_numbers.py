"""Whether something backs each number that a page claims in its prose.

A claim is a decimal, a percentage, a number of two digits or more, "so many times", a small number that stands in bold
or in code by itself, or a tuple of numbers in a formula. It is backed by a number, to the digits quoted, that a cell
prints, asserts or has in its code: a cell of the claim's section, or of a section or figure that its sentence links to.
Arithmetic in the sentence backs its result, if it is right; a citation backs what its sentence says.
"""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from html import unescape
from itertools import pairwise, takewhile
from pathlib import Path
from posixpath import normpath

import nbformat
import numpy as np

WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
COUNTS = {word: str(number) for number, word in enumerate(WORDS.split())}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
# How numbers are written, and as Python writes them: 6,000, −0.61, 3·10⁻⁸, 3\cdot 10^{-8}; 10 to 20 %, seven percent.
NUMERALS = (
    (r"(?<=\d)(?:,|\{,\}|_)(?=\d{3}(?!\d))", ""),
    (r"−", "-"),
    (r"[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda match: f"^{{{match[0].translate(RAISED)}}}"),
    (r"(?<![\w.])(\d[\d.]*)\s?(?:[·×]|\\cdot|\\times)\s?10\^\{?(-?\d+)\}?", r"\1e\2"),
    (r"(?<![\w.])10\^\{?(-?\d+)\}?", r"1e\1"),
    (rf"(?i)\b({'|'.join(COUNTS)})(?=[\s-](?:percent|times)\b)", lambda match: COUNTS[match[0].lower()]),
    (r"\s?\\?%|[\s-]percent\b", "%"),
    (r"([\d.]+)(?=\s(?:to|and|or)\s[\d.]+%)", r"\1%"),
)
# Not the digits in float32, GPT-3 or 3.2.1.
NUMBER = re.compile(r"(?<![\w.])(?<!\w-)(-?\d+(?:\.\d+)?(?:e-?\d+)?)(%?)(?:st|nd|rd|th)?(?!\w|\.\d)([\s-]times\b)?")
TUPLE = re.compile(r"(?<!\w)[\[(](-?\d+\.?\d*(?:,?\s+-?\d+\.?\d*)+|-?\d+(?:\.\d+)?(?:,-?\d+(?:\.\d+)?)+),?[])]")
# In bold, in code or in a formula by itself a number claims, in the first two however small it is.
ALONE = re.compile(
    r"(?<![*`$\w])(\*\*|`|\$)[-−]?\d[\d.,]*(?:e-?\d+)?(?:\s?\\cdot\s?10)?(?:\^\{?-?\d+\}?)?\1(?![*`$\w])"
)

# Not claims: code, links; formulas; numbers of headings, lists and rows, in italics, days, minutes, references, a name.
FENCE = re.compile(r"^ *```\w.*?^ *```", re.DOTALL | re.MULTILINE)
UNREAD = re.compile(r"`[^`]+`|\[[^][]+\]\((?:\.\./)?bibliography\.md\)|\]\([^)]*\)|https?:\S+|<[a-zA-Z/!][^>]*>")
MATH = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
NO_CLAIM = re.compile(
    r"^#+ (?:More on )?\[?\d+\.|^ *\d+\.(?!\d)|^\| *\d+ *\||(?<!\*)\*\d+\*(?!\*)|\d+(?:[-/.]\d+){2}"
    rf"|(?:\b\d\d? )?{MONTH}(?: \d{{4}})?\b|from 19\d\d\b|\b\d+ minutes\b|\bLlama 3\.1 8B"
    r"|\b(?:chapter|section|figure|equation|exercise|table|appendix|layer)s?"
    r"\s(?:[A-Z]\.)?\d[\d.]*(?:(?:,| and| to|, and) \d[\d.]*)*",
    re.MULTILINE | re.IGNORECASE,
)
BLOCK_END = r"\n\s*\n|\n(?= *(?:\||[-*] |\d+\. |#|<))"
SENTENCE_END = rf"{BLOCK_END}|(?<=[.!?])(?<!al\.)[*)”]*\s+(?=[A-Z\d“(*\[$`<])"
CITATION = re.compile(r"\]\((?:(?:\.\./)?bibliography\.md|https?:)|\{cite|<https?:")
LINK = re.compile(r"\]\(((?:\.\./)?[\w/-]*?)(?:\.ipynb)?#([\w-]+)")
TAG = re.compile("<[^>]*>")
PAYLOAD = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)
TEXT = re.compile(r'f?("""|["\'])(?:\\.|.)*?\1|#[^\n]*', re.DOTALL)  # of code: strings and comments

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


class Section:
    """A heading (its level, its anchor and those of its figures), the prose under it, and what its cells show."""

    def __init__(self, prose: str = "", level: int = 1, anchor: str = "") -> None:
        self.prose, self.level, self.anchors = prose, level, {anchor}
        self.printed: set[Decimal] = set()
        self.code: set[Decimal] = set()  # its constants, and labels of controls
        self.rows: set[tuple[Decimal, ...]] = set()

    def add(self, cell) -> None:
        """Take in what a cell of code shows, but not what an explorer draws: among that, any claim finds a number."""
        code = TEXT.sub(lambda text: text[0] if text[0][0] == "f" else "", cell.source)
        code += "\n".join(re.findall("^ *assert .*", cell.source, re.MULTILINE))
        printed = ""
        for output in cell.outputs:
            data = output.get("data", {})
            html = data.get("text/html", "")
            for payload in map(json.loads, PAYLOAD.findall(html)):
                self.anchors.add(payload.get("name"))
                asked = payload.get("predict", {})
                self.prose += f"\n\n{asked.get('question', '')}\n\n{asked.get('because', '')}"
                code += "\n".join(text for each in payload["controls"] for text in (each["label"], *each["labels"]))
            if not PAYLOAD.search(html) and "image/svg+xml" not in data:
                printed += "\n".join([output.get("text", ""), data.get("text/plain", ""), unescape(TAG.sub(" ", html))])
        self.prose += "\n\n" + cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        self.printed |= numbers(printed)
        self.code |= numbers(code)
        self.rows |= {row(match) for match in TUPLE.finditer(code + printed)}

    def shows(self, value: Decimal | tuple, is_bare: bool) -> bool:
        """Whether it backs a claim; one decimal alone, or a small number by itself, is not rounded."""
        if isinstance(value, tuple):
            return value in self.rows
        is_small = is_bare and abs(value) < 10
        last = value.as_tuple().exponent
        most = Decimal("0.5").scaleb(last) if (last < -1 or abs(value) >= 1) and not is_small else 0
        known = self.printed.union(*self.rows) if is_small else self.printed | self.code
        return any(abs(abs(one) - abs(value)) <= most and (one < 0 or value >= 0) for one in known)


def changed(text: str, replacements) -> str:
    for pattern, replacement in replacements:
        text = re.sub(pattern, replacement, text)
    return text


def numbers(text: str) -> set[Decimal]:
    """The numbers in a text; a percentage is so many hundredths, too."""
    found = NUMBER.findall(changed(text, NUMERALS))
    return {Decimal(number).scaleb(by) for number, sign, _ in found for by in ((0, -2) if sign else (0,))}


def row(match: re.Match) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, match[1].replace(",", " ").split()))


def without(pattern: re.Pattern, text: str) -> str:
    """The text without what the pattern finds, apart from a number by itself."""
    return pattern.sub(lambda match: match[0] if ALONE.fullmatch(match[0]) else "\0", text)


def claims(sentence: str) -> Iterator[tuple[str, Decimal | tuple, bool]]:
    """What a sentence quotes, its value (39 % is 0.39), and whether it stands in bold or in code by itself."""
    text = without(UNREAD, sentence)
    for match in TUPLE.finditer(changed(" ".join(MATH.findall(text)), NUMERALS)):
        yield match[0], row(match), False
    text = changed(without(NO_CLAIM, without(MATH, text)), NUMERALS)
    bare = {match.end(1) for match in ALONE.finditer(text) if match[1] != "$"}
    for match in NUMBER.finditer(text):
        value, is_bare = Decimal(match[1]).scaleb(-2 if match[2] else 0), match.start() in bare
        if is_bare or value.as_tuple().exponent < 0 or abs(value) >= (2 if match[3] else 10):
            yield match[0], value, is_bare


def arithmetic(sentence: str) -> Iterator[tuple[str, bool]]:
    """The equations between numbers alone that a sentence writes, and whether each is right."""
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
        places = [len(side.partition(".")[2]) for side in (a, b) if re.fullmatch(r"-?\d+(?:\.\d+)?", side)]
        most = 0.5 * 10.0 ** -min(places, default=12) + 1e-9
        yield f"{a} = {b}", bool(np.all(abs(one - other) <= most))


def read(paths: Iterable[Path]) -> dict[str, list[Section]]:
    """The sections of each page, by names as in ``more/02-scores``: of notebooks and of Markdown files."""
    pages = {}
    for path in paths:
        cells = [nbformat.v4.new_markdown_cell(path.read_text(encoding="utf-8"))]
        if path.suffix == ".ipynb":
            cells = nbformat.reads(cells[0].source, as_version=4).cells
        found = pages[f"more/{path.stem}" if path.parent.name == "more" else path.stem] = [Section()]
        for cell in cells:
            if cell.cell_type == "code":
                found[-1].add(cell)
                continue
            before, *after = re.split("(?m)^(?=#{1,6} )", FENCE.sub("", cell.source))
            found[-1].prose += "\n\n" + before
            for text in after:
                hashes, title = text.splitlines()[0].split(" ", 1)
                title = re.sub(r"[^\w\s-]", "", re.sub(r"\]\([^)]*\)", "", title).lower())  # as MyST makes an anchor
                found.append(Section(text, len(hashes), title.replace(" ", "-")))
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


def faults(pages: dict[str, list[Section]]) -> Iterator[str]:
    """All that is wrong, a sentence each: numbers that nothing backs, and false arithmetic."""
    for page, sections in pages.items():
        for number, section in enumerate(sections):
            end = SENTENCE_END if any(each.printed for each in sections) else BLOCK_END  # where no cell stands
            for sentence in re.split(end, section.prose):
                written, others = list(arithmetic(sentence)), list(linked(sentence, page, pages))
                yield from (
                    f"{page}: {equation} is false, in {sentence!r}." for equation, right in written if not right
                )
                for quoted, value, is_bare in () if CITATION.search(sentence) else claims(sentence):
                    places = others if is_bare and others else below(number, sections, 2) + others
                    results = [
                        equation for equation, _ in written if equation.endswith((f"= {quoted}", f"row{quoted}"))
                    ]
                    if (is_bare or not results) and not any(place.shows(value, is_bare) for place in places):
                        yield f"{page}: nothing backs {quoted!r} in {sentence!r}."
