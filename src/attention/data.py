"""Data made here, from a seed: dates as people write them, small dictionaries, and texts as numbers.

Dimensions: B texts, S the longest one's characters, its end included.
"""

from collections.abc import Sequence
from datetime import date, timedelta

import torch
from torch import Generator, Tensor
from torch.nn.utils.rnn import pad_sequence

from attention.arguments import check_count, check_integers
from attention.seq2seq import EOS, PAD

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
FIRST, LAST = date(1969, 1, 1), date(2068, 12, 31)  # the hundred years of which two digits name one, as in POSIX
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DAYS = (LAST - FIRST).days + 1


def ways_to_write(day: date) -> list[str]:
    """The ways in which people write a date, eight of them.

    Where all is numbers, dots or slashes, a year of four digits in front is followed by month and day; otherwise the
    day comes first, then the month, as in most of the world. A year of two digits lies in 1969 … 2068, as in POSIX.

    Args:
        day: the date.

    Returns:
        eight texts.

    >>> ways_to_write(date(2021, 3, 3))[:4]
    ['3 March 2021', 'Wednesday, 3 March 2021', 'March 3rd, 2021', 'Mar 3, 2021']
    >>> ways_to_write(date(2021, 3, 3))[4:]
    ['Wed 3 Mar 21', '3/3/21', '03.03.2021', '2021.03.03']
    """
    weekday, month, d, m, y = WEEKDAYS[day.weekday()], MONTHS[day.month - 1], day.day, day.month, day.year
    ending = "th" if d in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(d % 10, "th")
    return [
        f"{d} {month} {y}",
        f"{weekday}, {d} {month} {y}",
        f"{month} {d}{ending}, {y}",
        f"{month[:3]} {d}, {y}",
        f"{weekday[:3]} {d} {month[:3]} {y % 100:02}",
        f"{d}/{m}/{y % 100:02}",
        f"{d:02}.{m:02}.{y}",
        f"{y}.{m:02}.{d:02}",
    ]


def draw_dates(number: int, *, generator: Generator) -> list[tuple[str, str]]:
    """Draw different dates between 1969 and 2068, and for each one of its ways to be written.

    No date comes twice, in whatever way: two slices of the list have nothing in common.

    Args:
        number: how many, at most 36,525.
        generator: where chance comes from.

    Returns:
        pairs such as ``("March 3rd, 2021", "2021-03-03")``.

    Raises:
        TypeError: ``number`` is no integer.
        ValueError: ``number`` is negative, or more than there are dates.

    >>> (text, iso), = draw_dates(1, generator=torch.Generator().manual_seed(0))
    >>> text, iso
    ('Monday, 11 October 2055', '2055-10-11')
    """
    check_count("number", number)
    if number > DAYS:
        raise ValueError(f"number must be at most {DAYS}, the days from {FIRST} to {LAST}, found {number}")
    pairs = []
    for offset in torch.randperm(DAYS, generator=generator, device=generator.device)[:number].tolist():
        day = FIRST + timedelta(days=offset)
        ways = ways_to_write(day)
        pairs.append(
            (ways[torch.randint(len(ways), (), generator=generator, device=generator.device)], day.isoformat())
        )
    return pairs


def draw_dictionary(size: int, *, generator: Generator) -> tuple[str, str]:
    """Draw a dictionary in which the first letters have one digit each, its entries in any order.

    Who is to say the digits in the letters' order has to find each entry: nothing of the text may be forgotten.

    Args:
        size: number of entries, from 1 to 26.
        generator: where chance comes from.

    Returns:
        the text, 3 · ``size`` − 1 characters long, and its digits from a on.

    Raises:
        TypeError: ``size`` is no integer.
        ValueError: ``size`` is not positive, or there are not as many letters.

    >>> draw_dictionary(4, generator=torch.Generator().manual_seed(0))
    ('d0 b9 a4 c3', '4930')
    """
    check_count("size", size, least=1)
    if size > len(LETTERS):
        raise ValueError(f"size must be at most {len(LETTERS)}, one entry a letter, found {size}")
    digits = torch.randint(10, (size,), generator=generator, device=generator.device).tolist()
    order = torch.randperm(size, generator=generator, device=generator.device).tolist()
    return " ".join(f"{LETTERS[i]}{digits[i]}" for i in order), "".join(map(str, digits))


class Vocabulary:
    """The characters that texts may hold, each with an id; ids 0, 1 and 2 are ``PAD``, ``BOS`` and ``EOS``.

    Args:
        characters: in any order, repeated or not; the ids follow their order in Unicode.

    >>> vocabulary = Vocabulary("0123456789-")
    >>> ids, lengths = vocabulary.encode(["2021", "7"])
    >>> ids.tolist(), lengths.tolist()
    ([[6, 4, 6, 5, 2], [11, 2, 0, 0, 0]], [5, 2])
    >>> vocabulary.decode(ids)
    ['2021', '7']
    """

    def __init__(self, characters: str) -> None:
        self.characters = "".join(sorted(set(characters)))
        self._ids = {character: number for number, character in enumerate(self.characters, start=EOS + 1)}

    def __len__(self) -> int:
        return EOS + 1 + len(self.characters)

    def encode(self, texts: Sequence[str], device: torch.device | str | None = None) -> tuple[Tensor, Tensor]:
        """Turn texts into ids, each with ``EOS`` at its end and ``PAD`` behind it.

        Args:
            texts: at least one, none of them empty.
            device: where the ids are to lie; PyTorch's default when not given.

        Returns:
            ids (B, S) and lengths (B,), both int64; ``EOS`` is counted.

        Raises:
            TypeError: ``texts`` is itself a text.
            ValueError: no text, an empty one, or a character without an id.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts must be a list of texts, found the text {texts!r}")
        if not texts:
            raise ValueError("texts must hold at least one text, found none")
        rows = [torch.tensor(self._row(text), device="cpu") for text in texts]
        lengths = torch.tensor([len(row) for row in rows], device=device)
        return pad_sequence(rows, batch_first=True, padding_value=PAD).to(lengths.device), lengths

    def decode(self, ids: Tensor) -> list[str]:
        """Turn ids (B, S) back into texts: each row up to its first ``EOS``, without ``PAD`` and ``BOS``.

        Raises:
            TypeError: ids that are no integers.
            ValueError: another shape, or an id that no character has.
        """
        check_integers("ids", ids)
        if ids.dim() != 2:
            raise ValueError(f"ids must have shape (B, S), found {tuple(ids.shape)}")
        if ids.numel() and not 0 <= ids.min() <= ids.max() < len(self):
            found = f"{int(ids.min())} to {int(ids.max())}"
            raise ValueError(f"ids must lie between 0 and {len(self) - 1}, found {found}")
        rows = (row[: row.index(EOS)] if EOS in row else row for row in ids.tolist())
        return ["".join(self.characters[number - EOS - 1] for number in row if number > EOS) for row in rows]

    def _row(self, text: str) -> list[int]:
        if not text:
            raise ValueError("texts must not be empty, found ''")
        for character in text:
            if character not in self._ids:
                raise ValueError(f"the vocabulary has no {character!r}, found in {text!r}")
        return [*(self._ids[character] for character in text), EOS]
