"""Secrets in what a model says: never shown, however the answer streams, and never kept."""

from hypothesis import given
from hypothesis import strategies as st

from bot.streamed import StreamRedactor, without_secrets

SECRET = "hunter2-swordfish"


def redact(text: str) -> tuple[str, int]:
    return text.replace(SECRET, "[gone]"), text.count(SECRET)


PIECES = st.lists(
    st.sampled_from(["the key ", "is ", SECRET[:7], SECRET[7:], SECRET, "\n", " ", "."])
)


@given(PIECES, st.lists(st.integers(0, 300)))
def test_a_stream_shows_what_the_whole_would_show(pieces: list[str], cuts: list[int]) -> None:
    """R4"""
    text = "".join(pieces)
    stream, shown, start = StreamRedactor(redact), "", 0
    for end in [*sorted(cuts), len(text)]:
        shown += stream.feed(text[start:end])
        start = max(start, end)
        assert SECRET not in shown
    assert shown + stream.rest() == redact(text)[0]


def test_every_text_of_the_data_is_cleaned_and_clean_data_is_the_same() -> None:
    """R4"""
    dirty = {"reasoning_content": f"use {SECRET}", "deep": [{"key": SECRET}], "n": 1}
    assert without_secrets(dirty, redact) == {
        "reasoning_content": "use [gone]",
        "deep": [{"key": "[gone]"}],
        "n": 1,
    }
    assert without_secrets({"a": "b"}, redact) == {"a": "b"}
