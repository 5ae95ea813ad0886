"""Prose at a terminal: broken between words, whole when the pieces are put together again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cli.wrap import Wrapper, columns, cut, wrapped

WORDS = st.text(alphabet="abcdefgh -\n日é", max_size=200)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        pytest.param("one two three", 7, "one two\nthree", id="between-words"),
        pytest.param("- one two", 7, "- one\n  two", id="list-continued-under-its-text"),
        pytest.param("  in deep", 6, "  in\n  deep", id="indent-kept"),
        pytest.param("abcdefghij k", 5, "abcdefghij\nk", id="a-long-word-stands-alone"),
        pytest.param("a\n\nb", 9, "a\n\nb", id="line-ends-kept"),
        pytest.param("日本 日本", 6, "日本\n日本", id="wide-letters-take-two"),
    ],
)
def test_a_line_is_broken_where_a_word_would_not_fit(text: str, width: int, expected: str) -> None:
    assert wrapped(text, width) == expected


@given(WORDS, st.integers(4, 40), st.lists(st.integers(0, 200)))
def test_however_it_streams_the_result_is_the_same(text: str, width: int, cuts: list[int]) -> None:
    wrapper, shown, start = Wrapper(width), "", 0
    for end in [*sorted(cuts), len(text)]:
        shown += wrapper.feed(text[start:end])
        start = max(start, end)
    assert shown + wrapper.rest() == wrapped(text, width)


@given(WORDS, st.integers(4, 40))
def test_no_word_is_lost_or_changed(text: str, width: int) -> None:
    assert wrapped(text, width).split() == text.split()


def test_what_is_cut_fits_and_says_that_it_was_cut() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("日本語", 4) == "日…"
    assert columns("\x1b[1mab\x1b[0m") == 2
