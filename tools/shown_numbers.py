"""The numbers that the cells and formulas of a notebook show."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from html import unescape

from nbformat import NotebookNode

FROM_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")

# 12, 6,000, 6_000, −0.61, 1e-8, 3·10⁻⁸ and, in a formula, 3\cdot 10^{-8}; not the digits in float32, GPT-3 or 3.2.1.
NUMBER = (
    r"(?<![\w.])(?<!\w-)(?P<sign>[−-]?)"
    r"(?:(?:(?P<factor>\d[\d.]*)\s?(?:[·×]|\\cdot|\\times)\s?)?10(?P<power>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|\^\{?-?\d+\}?)"
    r"|(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)(?:\.\d+)?(?:e[-+]?\d+)?))"
)
END = r"(?!\w|\.\d)"
SHOWN = re.compile(rf"{NUMBER}(?P<percent>\s?%)?{END}")
MATH = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
BARE = re.compile(rf"[$`]\s*{NUMBER}\s*[$`]")  # a formula or code that is one number: it claims, as prose does
HEADING = re.compile(r"^(?=#{1,6} )", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """What a section shows: numbers that are printed, those in code and formulas, and the text of code and outputs."""

    has_code: bool = False

    printed: frozenset[Decimal] = frozenset()
    written: frozenset[Decimal] = frozenset()
    text: str = ""

    def has(self, value: Decimal) -> bool:
        """Whether a number is there, to its digits: a printed one may be rounded, one in code has to be met exactly.

        One decimal alone, such as 0.6, is not met by rounding: something nearly always rounds to it. A number below 0
        is met only by one below 0.
        """
        last = value.as_tuple().exponent
        rounds = last < -1 or abs(value) >= 1
        most = Decimal("0.5").scaleb(last) if rounds else 0
        near = {number for number in self.printed if abs(abs(number) - abs(value)) <= most}
        near |= {number for number in self.written if abs(number) == abs(value)}
        return any(number < 0 or value >= 0 for number in near)


def value(match: re.Match) -> Decimal:
    """The number that NUMBER has matched."""
    if match["power"]:
        power = int(match["power"].translate(FROM_SUPERSCRIPTS).strip("^{}"))
        found = Decimal(match["factor"] or 1).scaleb(power)
    else:
        found = Decimal(match["digits"].replace(",", ""))
    return -found if match["sign"] else found


def sections(cells: Iterable[NotebookNode]) -> list[tuple[str, Shown]]:
    """A notebook from heading to heading: each section's Markdown, with the alt texts of figures, and what it shows."""
    parts: list[tuple[list[str], list[NotebookNode]]] = [([], [])]
    for cell in cells:
        if cell.cell_type == "code":
            parts[-1][0].append(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", ""))
            parts[-1][1].append(cell)
        else:
            before, *after = HEADING.split(cell.source)
            parts[-1][0].append(before)
            parts += [([text], []) for text in after]
    return [("\n\n".join(texts), _shown("\n\n".join(texts), codes)) for texts, codes in parts]


def _shown(markdown: str, codes: list[NotebookNode]) -> Shown:
    outputs = [output for cell in codes for output in cell.outputs]
    formulas = [formula for formula in MATH.findall(markdown) if not BARE.fullmatch(formula)]
    constants = [constant for cell in codes for constant in _constants(cell.source)]
    labels = [label for output in outputs for label in _labels(output)]
    printed = "\n".join(_printed(output) for output in outputs)
    return Shown(
        has_code=bool(codes),
        printed=_numbers(printed),
        written=_numbers("\n".join((*formulas, *constants, *labels))),
        text="\n".join((*constants, printed)),
    )


def _numbers(text: str) -> frozenset[Decimal]:
    found = set()
    for match in SHOWN.finditer(text):
        number = value(match)
        found |= {number, number.scaleb(-2)} if match["percent"] else {number}
    return frozenset(found)


def _constants(source: str) -> Iterator[str]:
    """The constants of a cell's code. Comments are left out: they are prose, and back nothing."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield ast.unparse(node)
        elif isinstance(node, ast.Constant):
            yield str(node.value)


EXPLORER = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)


def _labels(output: NotebookNode) -> Iterator[str]:
    """What stands on an explorer's controls."""
    for payload in EXPLORER.findall(output.get("data", {}).get("text/html", "")):
        for control in json.loads(payload)["controls"]:
            yield from (control["label"], *control["labels"])


def _printed(output: NotebookNode) -> str:
    """An output's text. What an explorer draws is left out: among its thousands of numbers any claim finds one."""
    data = output.get("data", {})
    page = data.get("text/html", "")
    if EXPLORER.search(page):
        return ""
    return output.get("text", "") + data.get("text/plain", "") + unescape(re.sub(r"<[^>]*>", " ", page))
