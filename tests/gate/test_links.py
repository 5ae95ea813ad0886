"""Links as the interlock compares them: whole, and never two ways of reading one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outbox.links import links_in, normal_link, only_links


@pytest.mark.parametrize(
    ("link", "normal"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("https://example.org:443/a", "https://example.org/a"),
        ("https://example.org:8443/a", "https://example.org:8443/a"),
        ("https://example.org./a", "https://example.org/a"),
        ("https://[2001:DB8::1]/a", "https://[2001:db8::1]/a"),
        ("https://me:pw@example.org/", "https://me:pw@example.org/"),
        ("https://example.org/A?Q=1#F", "https://example.org/A?Q=1#F"),
        ("ftp://example.org/", None),
        ("javascript:alert(1)", None),
        ("example.org", None),
        ("https://", None),
        ("https://./", None),
        ("https://example.org\\\\@evil.example/", None),
        ("https://example.org/a b", None),
        ("https://example.org/a\tb", None),
        ("https://example.org/\u202ea", None),
        ("https://example.org:99999/", None),
        ("https://[::1/", None),
        ("", None),
    ],
)
def test_a_link_has_one_normal_form_or_none(link: str, normal: str | None) -> None:
    """RFC 3986 sections 6.2.2.1 and 6.2.3: scheme and host in lower case, no default port."""
    assert normal_link(link) == normal


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Read https://example.org/a.", {"https://example.org/a"}),
        ("(see https://example.org/a)", {"https://example.org/a"}),
        ("https://example.org/a_(b)", {"https://example.org/a_(b)"}),
        (
            "<https://example.org/a>, 'https://example.org/b'",
            {"https://example.org/a", "https://example.org/b"},
        ),
        ("**https://example.org/a**", {"https://example.org/a"}),
        ("no link: example.org, http://", set()),
        ("HTTPS://EXAMPLE.ORG", {"https://example.org/"}),
    ],
)
def test_links_stand_in_text_without_its_punctuation(text: str, found: set[str]) -> None:
    """What the owner typed in a sentence is the link, not the full stop."""
    assert links_in(text) == found


@given(st.text())
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    """Whatever is given, and nothing raises."""
    for link in (text, f"https://{text}"):
        normal = normal_link(link)
        assert normal is None or normal_link(normal) == normal
    assert all(normal_link(link) == link for link in links_in(f"a https://{text} b"))


@given(
    st.recursive(
        st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_call_of_links_only_says_nothing_else(value: object) -> None:
    """Beside links stand plain words of at most 16 letters, never free text."""
    found = only_links({"url": "https://example.org/", "more": value})
    texts = [text for text in _texts(value) if normal_link(text) is None]
    if any(len(text) > 16 or " " in text for text in texts):
        assert found is None
    if found is not None:
        assert "https://example.org/" in found


def test_a_call_without_a_link_is_no_link_call() -> None:
    """Nothing to compare passes nothing."""
    assert only_links({"format": "text", "limit": 3}) is None
    assert only_links({}) is None


def _texts(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for each in value for text in _texts(each)]
        case dict():
            return [text for each in value.values() for text in _texts(each)]
    return []
