"""Data made here, from a seed: dates as people write them, small dictionaries, and texts as numbers.

Dimensions: B texts, S characters of the longest text, its end token included.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import takewhile

import torch
from torch import Generator, Tensor
from torch.nn.utils.rnn import pad_sequence

from attention.arguments import check_counts, check_ids
from attention.seq2seq import EOS, PAD

FIRST, LAST = date(1969, 1, 1), date(2068, 12, 31)  # two digits name one of these hundred years, as in POSIX
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DAYS = (LAST - FIRST).days + 1


def ways_to_write(day: date) -> list[str]:
    """Write a date in eight of the ways that people use, in English.

    A date of numbers alone is written year, month, day when the year comes first. Otherwise the day comes before the
    month, as in most of the world. A year of two digits lies between 1969 and 2068, as in POSIX.

    >>> ways_to_write(date(2021, 3, 3))[:4]
    ['3 March 2021', 'Wednesday, 3 March 2021', 'March 3rd, 2021', 'Mar 3, 2021']
    >>> ways_to_write(date(2021, 3, 3))[4:]
    ['Wed 3 Mar 21', '3/3/21', '03.03.2021', '2021.03.03']
    """
    weekday, month = f"{day:%A}", f"{day:%B}"  # in English, as long as no program has set another locale
    d, m, y = day.day, day.month, day.year
    ending = "th" if d in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(d % 10, "th")
    dates = [f"{d} {month} {y}", f"{weekday}, {d} {month} {y}", f"{month} {d}{ending}, {y}", f"{month[:3]} {d}, {y}"]
    short = f"{weekday[:3]} {d} {month[:3]} {y % 100:02}"
    return [*dates, short, f"{d}/{m}/{y % 100:02}", f"{d:02}.{m:02}.{y}", f"{y}.{m:02}.{d:02}"]


def draw_dates(number: int, *, generator: Generator) -> list[tuple[str, str]]:
    """Draw different dates between 1969 and 2068, and one way of writing each.

    No date is drawn twice, so two slices of the list have no date in common.

    Args:
        number: how many dates, at most 36,525.
        generator: the source of random numbers.

    Returns:
        pairs such as ``("March 3rd, 2021", "2021-03-03")``.

    Raises:
        TypeError: ``number`` is not an integer.
        ValueError: ``number`` is negative, or larger than the number of dates.

    >>> (text, iso), = draw_dates(1, generator=torch.Generator().manual_seed(0))
    >>> text, iso
    ('Monday, 11 October 2055', '2055-10-11')
    """
    check_counts(number=number)
    if number > DAYS:
        raise ValueError(f"number must be at most {DAYS}, the days from {FIRST} to {LAST}, found {number}")
    offsets = torch.randperm(DAYS, generator=generator, device=generator.device)[:number]
    choices = torch.randint(8, (number,), generator=generator, device=generator.device)  # of the eight ways
    days = [FIRST + timedelta(days=offset) for offset in offsets.tolist()]
    return [(ways_to_write(day)[choice], day.isoformat()) for day, choice in zip(days, choices.tolist(), strict=True)]


def draw_dictionary(size: int, *, generator: Generator) -> tuple[str, str]:
    """Draw a dictionary that gives each of the first letters one digit, its entries in any order.

    Naming the digits in the order of their letters takes every entry, so nothing in the text may be forgotten.

    Args:
        size: number of entries, from 1 to 26.
        generator: the source of random numbers.

    Returns:
        the text, 3 · ``size`` − 1 characters long, and the digits in the order of their letters, that of a first.

    Raises:
        TypeError: ``size`` is not an integer.
        ValueError: ``size`` is not between 1 and 26.

    >>> draw_dictionary(4, generator=torch.Generator().manual_seed(0))
    ('d0 b9 a4 c3', '4930')
    """
    check_counts(least=1, size=size)
    if size > len(LETTERS):
        raise ValueError(f"size must be at most {len(LETTERS)}, one entry a letter, found {size}")
    digits = torch.randint(10, (size,), generator=generator, device=generator.device).tolist()
    order = torch.randperm(size, generator=generator, device=generator.device).tolist()
    text = " ".join(f"{LETTERS[i]}{digits[i]}" for i in order)
    return text, "".join(str(digit) for digit in digits)


class Vocabulary:
    """The characters that texts may contain, each with an id; ids 0, 1 and 2 are ``PAD``, ``BOS`` and ``EOS``.

    Args:
        characters: in any order, with or without repetitions; their ids follow their order in Unicode.

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
        """Turn texts into ids, each text followed by ``EOS`` and then by ``PAD`` up to the longest text's length.

        Args:
            texts: at least one.
            device: the device of the result; PyTorch's default device when not given.

        Returns:
            ids (B, S) and lengths (B,), both int64; a length counts the ``EOS``.

        Raises:
            TypeError: ``texts`` is a single text instead of a list.
            ValueError: there is no text, or a character has no id.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts must be a list of texts, found the text {texts!r}")
        if not texts:
            raise ValueError("texts must hold at least one text, found none")
        for text in texts:
            if unknown := set(text) - self._ids.keys():
                raise ValueError(f"the vocabulary has no {min(unknown)!r}, found in {text!r}")
        rows = [torch.tensor([*(self._ids[each] for each in text), EOS], device="cpu") for text in texts]
        lengths = torch.tensor([len(row) for row in rows], device=device)  # (B,)
        return pad_sequence(rows, batch_first=True, padding_value=PAD).to(lengths.device), lengths

    def decode(self, ids: Tensor) -> list[str]:
        """Turn ids (B, S) back into texts: each row up to its first ``EOS``, without ``PAD`` and ``BOS``.

        Raises:
            TypeError: the ids are not integers.
            ValueError: the ids have another shape, or one of them belongs to no character.
        """
        check_ids("ids", ids, len(self))
        rows = (takewhile(lambda number: number != EOS, row) for row in ids.tolist())
        return ["".join(self.characters[number - EOS - 1] for number in row if number > EOS) for row in rows]
