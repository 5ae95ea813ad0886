"""Events out of bytes, however the network cut them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.sse import MAX_EVENT_BYTES, ServerEvent, Splitter, StreamTooLarge

LINES = st.sampled_from(
    [
        b"data: {}", b"data:[DONE]", b"data: a\xe2\x80\xa8b\xc2\x85c", b"data", b"data:", b"data:  x",
        b": comment", b":", b"event: error", b"id: 1", b"retry: 9", b"", b"", b"stray", b"{",
        b"\xef\xbb\xbfdata: bom", b"\xff\xfe",
    ]
)  # fmt: skip
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def split(*pieces: bytes) -> tuple[list[ServerEvent], bytes]:
    splitter = Splitter()
    events = [event for piece in pieces for event in splitter.feed(piece)]
    return events + splitter.close(), splitter.stray


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


@given(
    st.lists(st.tuples(LINES, ENDS)).map(lambda rows: b"".join(a + b for a, b in rows)),
    st.lists(st.integers(min_value=0)),
)
def test_any_cutting_of_a_stream_gives_the_same_events(stream: bytes, places: list[int]) -> None:
    whole = split(stream)
    assert split(*cut(stream, places)) == whole
    assert split(*(bytes([byte]) for byte in stream)) == whole


@given(st.binary(), st.lists(st.integers(min_value=0)))
def test_any_bytes_are_survived(stream: bytes, places: list[int]) -> None:
    assert split(*cut(stream, places)) == split(stream)


@given(st.lists(st.text().filter(lambda text: not set(text) & {"\r", "\n"})), ENDS)
def test_what_was_sent_is_what_comes_out(texts: list[str], end: bytes) -> None:
    stream = b"".join(b"data: " + text.encode() + end + end for text in texts)
    events, stray = split(stream)
    assert [event.data.decode() for event in events] == texts
    assert stray == b""


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [("", b"a"), ("", b"b")]),
        (b"data: a\ndata: b\n\n", [("", b"a\nb")]),
        (b"data:a\r\rdata:b\r\n\r\n", [("", b"a"), ("", b"b")]),
        (b": ping\n\n:\n\ndata: a\n\n", [("", b"a")]),
        (b"event: error\ndata: a\n\ndata: b\n\n", [("error", b"a"), ("", b"b")]),
        (b"event: lonely\n\ndata: a\n\n", [("", b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", b"a")]),
        (b"data: the end without a blank line", [("", b"the end without a blank line")]),
        (b"data: a\xe2\x80\xa8\xc2\x85\x0b\x0cb\n\n", [("", b"a\xe2\x80\xa8\xc2\x85\x0b\x0cb")]),
    ],
    ids=[
        "two", "joined", "cr", "comments", "named", "no-data", "bom", "unfinished", "line-separators",
    ],
)  # fmt: skip
def test_events_follow_the_standard(stream: bytes, events: list[tuple[str, bytes]]) -> None:
    assert split(stream)[0] == [ServerEvent(name=name, data=data) for name, data in events]


def test_a_plain_body_is_kept_as_it_came() -> None:
    body = b'{\n  "error": {"message": "no"}\n}'
    assert split(body) == ([], body)


def test_a_line_without_an_end_is_bounded() -> None:
    splitter = Splitter()
    splitter.feed(b"data: " + b"x" * (MAX_EVENT_BYTES - 10))
    with pytest.raises(StreamTooLarge):
        splitter.feed(b"x" * 10)
