"""Dates against the calendar and a reader of their formats; texts against themselves, there and back."""

import functools
import re
from datetime import date, datetime, timedelta

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention import BOS, EOS, PAD, Vocabulary, draw_dates, draw_dictionary, ways_to_write

FORMATS = ["%d %B %Y", "%A, %d %B %Y", "%B %d, %Y", "%b %d, %Y", "%a %d %b %y", "%d/%m/%y", "%d.%m.%Y", "%Y.%m.%d"]
DAYS = st.dates(date(1969, 1, 1), date(2068, 12, 31))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@given(day=DAYS)
def test_every_way_is_read_by_the_standard_library_as_that_day(day):
    for text, form in zip(ways_to_write(day), FORMATS, strict=True):
        assert datetime.strptime(re.sub(r"(?<=\d)(st|nd|rd|th)", "", text), form).date() == day
        if "%a" in form.lower():
            assert text.startswith(f"{day:%a}")


def test_the_ends_of_ordinal_numbers():
    for number in ("1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "30th", "31st"):
        assert ways_to_write(date(2021, 3, int(number[:-2])))[2] == f"March {number}, 2021"


def test_pairs_say_the_same_day_and_come_from_the_seed():
    pairs = draw_dates(2000, generator=seeded())
    assert all(text in ways_to_write(date.fromisoformat(iso)) for text, iso in pairs)
    assert pairs == draw_dates(2000, generator=seeded())
    assert pairs != draw_dates(2000, generator=seeded(1))
    assert {ways_to_write(date.fromisoformat(iso)).index(text) for text, iso in pairs} == set(range(8))


def test_no_day_is_drawn_twice_and_all_or_none_can_be():
    assert draw_dates(0, generator=seeded()) == []
    days = {iso for _, iso in draw_dates(36525, generator=seeded())}
    assert days == {(date(1969, 1, 1) + timedelta(days=n)).isoformat() for n in range(36525)}


@given(size=st.integers(1, 26), seed=st.integers(0, 2**32 - 1))
def test_a_dictionary_s_digits_are_in_the_order_of_its_letters(size, seed):
    text, digits = draw_dictionary(size, generator=seeded(seed))
    entries = sorted(text.split(" "))
    assert "".join(letter for letter, _ in entries) == "abcdefghijklmnopqrstuvwxyz"[:size]
    assert "".join(digit for _, digit in entries) == digits
    assert len(text) == 3 * size - 1
    assert (text, digits) == draw_dictionary(size, generator=seeded(seed))


@given(texts=st.lists(st.text("abc -07"), min_size=1))
def test_texts_go_there_and_back(texts):
    vocabulary = Vocabulary("70- cba")
    ids, lengths = vocabulary.encode(texts)
    assert vocabulary.decode(ids) == texts
    assert lengths.tolist() == [len(text) + 1 for text in texts]
    assert ids.shape == (len(texts), max(lengths))
    for row, length in zip(ids, lengths, strict=True):
        assert row[length - 1] == EOS
        assert (row[: length - 1] > EOS).all()
        assert (row[length:] == PAD).all()


def test_what_comes_after_the_end_is_not_read():
    vocabulary = Vocabulary("ab")
    assert vocabulary.decode(torch.tensor([[BOS, 3, PAD, 4, EOS, 4, EOS], [4, 4, 4, 4, 4, 4, 4]])) == ["ab", "b" * 7]
    assert vocabulary.decode(torch.tensor([[EOS, 3]])) == [""]


encode, decode = Vocabulary("Mar z3").encode, Vocabulary("abc").decode
dates, dictionary = (functools.partial(draw, generator=seeded()) for draw in (draw_dates, draw_dictionary))


@pytest.mark.parametrize(
    ("function", "wrong", "error", "message"),
    [
        (encode, "ab", TypeError, "texts must be a list of texts, found the text 'ab'"),
        (encode, [], ValueError, "texts must hold at least one text, found none"),
        (encode, ["a", "März 3"], ValueError, "the vocabulary has no 'ä', found in 'März 3'"),
        (decode, torch.ones(1, 2), TypeError, "ids must be a tensor of int32 or int64, found torch.float32"),
        (decode, torch.tensor([3, 4]), ValueError, "ids must have 2 dimensions and at least one id, found (2,)"),
        (decode, torch.tensor([[3, 6]]), ValueError, "ids must hold ids from 0 to 5, found 3 to 6"),
        (decode, torch.tensor([[3, -1]]), ValueError, "ids must hold ids from 0 to 5, found -1 to 3"),
        (dates, 2.0, TypeError, "number must be an integer, found 2.0"),
        (dates, -1, ValueError, "number must be at least 0, found -1"),
        (dates, 36526, ValueError, "number must be at most 36525, the days from 1969-01-01 to 2068-12-31, found 36526"),
        (dictionary, 0, ValueError, "size must be at least 1, found 0"),
        (dictionary, 27, ValueError, "size must be at most 26, one entry a letter, found 27"),
    ],
)
def test_what_is_wrong_is_said(function, wrong, error, message):
    with pytest.raises(error, match=re.escape(message)):
        function(wrong)


def test_ids_are_made_where_they_are_asked_for():
    assert [tensor.device.type for tensor in Vocabulary("abc").encode(["ab", "c"], "meta")] == ["meta", "meta"]
    with torch.device("meta"):
        assert [tensor.device.type for tensor in Vocabulary("abc").encode(["ab", "c"])] == ["meta", "meta"]
