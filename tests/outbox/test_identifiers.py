"""Identifiers are told apart by type and compared whole, never as pieces of text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outbox.identifiers import (
    Identifier,
    IdentifierKind,
    extract,
    host_and_parents,
    link_host,
    whole,
)
from outbox.visible import punycode_domain

SAME = {
    "address: case of the domain": ("ada@Example.ORG", "ada@example.org"),
    "address: case of the local part": ("Ada@example.org", "ada@example.org"),
    "address: display name": ("Ada Lovelace <ada@example.org>", "ada@example.org"),
    "address: mailto": ("mailto:ada@example.org", "ada@example.org"),
    "address: end of a sentence": ("write to ada@example.org.", "ada@example.org"),
    "address: quoted": ("'ada@example.org'", "ada@example.org"),
    "address: bold in markdown": ("**ada@example.org**", "ada@example.org"),
    "address: punycode": ("ada@bücher.example", "ada@xn--bcher-kva.example"),
    "address: composed or not": ("ada@bu\u0308cher.example", "ada@bücher.example"),
    "address: full-width sign": ("ada\uff20example.org", "ada@example.org"),
    "address: full-width letters": ("ada@\uff45xample.org", "ada@example.org"),
    "address: ideographic full stop": ("ada@example\u3002org", "ada@example.org"),
    "address: zero-width space": ("ada@exa\u200bmple.org", "ada@example.org"),
    "address: soft hyphen": ("ada@exam\u00adple.org", "ada@example.org"),
    "address: defanged": ("ada [at] example [dot] org", "ada@example.org"),
    "address: defanged with round brackets": ("ada(at)example(.)org", "ada@example.org"),
    "address: undecoded soft break": ("ada@exam=\nple.org", "ada@example.org"),
    "address: in a query": ("https://x.example/?to=ada@example.org", "ada@example.org"),
    "link: case of scheme and host": ("HTTPS://Example.ORG/Path", "https://example.org/Path"),
    "link: default port": ("https://example.org:443/a", "https://example.org/a"),
    "link: no path": ("https://example.org", "https://example.org/"),
    "link: needless escapes": ("https://example.org/%61bc", "https://example.org/abc"),
    "link: case of escapes": ("https://example.org/a%2fb", "https://example.org/a%2Fb"),
    "link: end of a sentence": ("(see https://example.org/a).", "https://example.org/a"),
    "link: brackets of its own": ("https://example.org/a_(b)", "https://example.org/a_(b)"),
    "link: defanged": ("hxxps://example[.]org/a", "https://example.org/a"),
    "link: defanged scheme": ("https[://]example.org/a", "https://example.org/a"),
    "link: zero-width space": ("https://example.org/lo\u200bng", "https://example.org/long"),
    "link: soft hyphen": ("https://example.org/lo\u00adng", "https://example.org/long"),
    "link: undecoded soft break": ("https://example.org/lo=\r\nng", "https://example.org/long"),
    "link: angle brackets": ("<https://example.org/lo\n  ng>", "https://example.org/long"),
    "link: without a scheme": ("go to example.org/a now", "https://example.org/a"),
    "link: only a host": ("go to example.org now", "https://example.org/"),
    "link: only www": ("go to www.example.museum now", "https://www.example.museum/"),
    "link: markdown": ("[here](https://example.org/a)", "https://example.org/a"),
    "link: inside another": ("https://r.example/?u=https://example.org/a", "https://example.org/a"),
    "link: inside another, encoded": (
        "https://r.example/?u=https%3A%2F%2Fexample.org%2Fa&n=1",
        "https://example.org/a",
    ),
    "link: inside another, encoded twice": (
        "https://r.example/?u=https%253A%252F%252Fexample.org%252Fa",
        "https://example.org/a",
    ),
    "link: inside another, without a scheme": (
        "https://r.example/?u=%2F%2Fexample.org%2Fa",
        "https://example.org/a",
    ),
    "link: scheme-relative": ("<img src='//example.org/a'>", "https://example.org/a'"),
    "link: scheme-relative in a sentence": ("go to //example.org/a now", "https://example.org/a"),
    "link: one slash": ("https:/example.org/a", "https://example.org/a"),
    "link: three slashes": ("https:///example.org/a", "https://example.org/a"),
    "link: no slash": ("https:example.org/a", "https://example.org/a"),
    "link: web socket": ("WSS://Example.org:443/a", "wss://example.org/a"),
    "link: mailto": ("MAILTO:Ada@Example.org?subject=Hi", "mailto:ada@example.org"),
    "link: mailto, encoded": ("mailto:ada%40example.org", "mailto:ada@example.org"),
    "address: in a mailto's query": ("mailto:?cc=ada%40example.org&x=1", "ada@example.org"),
    "link: backslashes": ("https:\\\\example.org\\a", "https://example.org/a"),
    "link: IPv6": ("http://[2001:DB8::1]:80/a", "http://[2001:db8::1]/a"),
    "phone: spaces": ("+47 22 33 44 55", "+4722334455"),
    "phone: dashes and brackets": ("+1 (415) 555-0132", "+14155550132"),
    "phone: two zeros": ("0047 22 33 44 55", "+47 22334455"),
    "phone: trunk zero in brackets": ("+44 (0)20 7946 0958", "+442079460958"),
    "phone: tel link": ("tel:+4722334455", "+47 22 33 44 55"),
    "phone: North American": ("415-555-0132", "(415) 555-0132"),
    "account: IBAN in groups": ("NO93 8601 1117 947", "NO9386011117947"),
    "account: IBAN in small letters": ("no9386011117947", "NO93 8601 1117 947"),
    "account: IBAN before a word of four": (
        "GB82 WEST 1234 5698 7654 32 paid",
        "GB82WEST12345698765432",
    ),
    "account: IBAN of whole groups, then a word": (
        "AT61 1904 3002 3457 3201 next",
        "AT611904300234573201",
    ),
    "account: false checksum": ("US13 3000 0001 2121 2121 212", "US133000000121212121212"),
    "account: digits in groups": ("8601 11 17947", "86011117947"),
    "account: card": ("4111-1111-1111-1111", "4111111111111111"),
    "file: case of a UUID": (
        "6F9619FF-8B86-D011-B42D-00CF4FC964FF",
        "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
    ),
    "file: in a link": (
        "the id is 1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms.",
        "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms",
    ),
    "channel: case": ("#General", "#general"),
}

DIFFERENT = {
    "a number in a date": ("13", "June 13"),
    "a number in a time": ("13", "at 13:00"),
    "address: longer local part": ("ada@x.org", "notada@x.org"),
    "address: longer domain": ("ada@x.org", "ada@x.org.evil.example"),
    "address: shorter domain": ("ada@mail.x.org", "ada@x.org"),
    "address: dash in the domain": ("ada@x.org", "ada@x.org-evil.example"),
    "address: plus": ("ada@x.org", "ada+news@x.org"),
    "address: homograph": ("ada@x.org", "\u0430da@x.org"),
    "address: homograph in the domain": ("ada@paypal.com", "ada@p\u0430ypal.com"),
    "address: sharp s": ("ada@fass.example", "ada@fa\u00df.example"),
    "address: dotless i": ("ada@bing.example", "ada@b\u0131ng.example"),
    "address: longer than allowed": ("a" * 60 + "ada@x.org", "a" * 70 + "ada@x.org"),
    "link: another path": ("https://x.org/a", "https://x.org/b"),
    "link: path of another case": ("https://x.org/a", "https://x.org/A"),
    "link: a query more": ("https://x.org/a", "https://x.org/a?q=1"),
    "link: another scheme": ("http://x.org/a", "https://x.org/a"),
    "link: another port": ("https://x.org:8443/a", "https://x.org/a"),
    "link: user in front": ("https://x.org/", "https://x.org@evil.example/"),
    "link: web socket or page": ("wss://x.org/a", "https://x.org/a"),
    "link: mailto and page": ("mailto:ada@x.org", "https://x.org/"),
    "link: an escaped slash": ("https://x.org/a/b", "https://x.org/a%2Fb"),
    "link: prefix": ("https://x.org/a", "https://x.org/abc"),
    "phone: one digit more": ("+4722334455", "+47223344556"),
    "phone: national or not": ("22334455", "+4722334455"),
    "phone: inside an account": ("+4722334455", "NO9386011117947"),
    "account: another checksum": ("NO9386011117947", "NO9486011117947"),
    "account: one digit more": ("86011117947", "860111179471"),
    "file: case": ("1BxiMVs0XRA5nFMdKvBdBZjg", "1bxiMVs0XRA5nFMdKvBdBZjg"),
    "channel and handle": ("#general", "@general"),
}


def _first(text: str) -> set[Identifier]:
    return {each for each in extract(text) if each.kind is not IdentifierKind.HOST}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_two_spellings_of_one_identifier_match(pair):
    """O11: identifiers match by type, in one normal form."""
    one, other = map(_first, pair)
    assert one & other


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_what_only_looks_alike_does_not_match(pair):
    """O11, O16: no substring, no homograph, no longer or shorter neighbour matches."""
    one, other = map(_first, pair)
    assert not one & other


@pytest.mark.parametrize(
    "text",
    [
        "June 13",
        "2024-01-15",
        "01.02.2024",
        "15/01/2024 10:30",
        "1,250.00",
        "version 1.2.3",
        "notes/today.md",
        "README.md and main.py",
        "a@b",
        "meet (at) noon",
        "issue #12",
        "10:30-11:30",
    ],
)
def test_ordinary_text_names_nobody(text):
    assert extract(text) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ada@example.org", "ada@example.org"),
        (" ada@example.org ", "ada@example.org"),
        ("Ada <ada@example.org>", "ada@example.org"),
        ('"Lovelace, Ada" <ada@example.org>', "ada@example.org"),
        ('"ada@example.org" <eve@evil.example>', "eve@evil.example"),
        ("evil=ada@example.org", "evil=ada@example.org"),
        ("https://example.org", "https://example.org/"),
        ("+47 22 33 44 55", "+4722334455"),
        ("NO93 8601 1117 947", "NO9386011117947"),
        ("#general", "#general"),
    ],
)
def test_a_recipient_is_read_as_a_whole(text, value):
    found = whole(text)
    assert found is not None
    assert found.value == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "13",
        "ada",
        "ada@example.org, eve@evil.example",
        "ada@example.org <eve@evil.example>",
        "ada@example.org; eve@evil.example",
        "Ada, Eve <eve@evil.example>",
        "ada@exa\u200bmple.org",
        "ada\u202e@example.org",
        "ada@example.org\nBcc: eve@evil.example",
        "\uff41da@example.org",
        "ada [at] example [dot] org",
        "see https://example.org",
        "https://example.org https://evil.example",
        "(ada@example.org",
        "<ada@example.org> <eve@evil.example>",
        "a" * 65 + "@example.org",
    ],
)
def test_a_recipient_that_can_be_read_in_two_ways_is_none(text):
    """O16: what cannot be read for certain has no owner."""
    assert whole(text) is None


def test_a_link_broken_over_lines_is_found_where_it_is_suspected():
    text = "https://evil.example/a-very-long-\npath?x=1 and more"
    links = {each.value for each in extract(text, rejoin=True)}
    assert "https://evil.example/a-very-long-path?x=1" in links
    assert "https://evil.example/a-very-long-path?x=1" not in {e.value for e in extract(text)}


@pytest.mark.parametrize(
    "text",
    ["ada AT x DOT org", "ada at x dot org", "write: ada at mail.x.org!", "ada at x.org"],
)
def test_an_address_spelled_out_in_words_is_found_where_it_is_suspected(text):
    """O16"""
    kinds = {each.kind for each in extract(text, rejoin=True)}
    assert IdentifierKind.ADDRESS in kinds
    assert IdentifierKind.ADDRESS not in {each.kind for each in extract(text)}


@pytest.mark.parametrize(
    ("host", "domains"),
    [
        ("a.b.x.org", ["a.b.x.org", "b.x.org", "x.org"]),
        ("x.org", ["x.org"]),
        ("localhost", ["localhost"]),
    ],
)
def test_a_host_lies_in_its_domains(host, domains):
    named = Identifier(kind=IdentifierKind.HOST, value=host)
    assert [each.value for each in host_and_parents(named)] == domains


def test_the_host_of_a_link_has_neither_user_nor_port():
    link = Identifier(kind=IdentifierKind.LINK, value="https://bank.example@evil.example:81/x?y#z")
    assert link_host(link).value == "evil.example"


@pytest.mark.parametrize(
    "text",
    ["@" * 200_000, "a@" * 100_000, "a." * 150_000, "1 " * 150_000, "https://" * 30_000]
    + ["mailto:" * 30_000, "https:" * 40_000, "//a.b" * 60_000, "a at b dot " * 20_000]
    + ["https://a.b/?u=" + "%2Fhttps%3A" * 20_000, "a at " * 60_000]
    + ["aB3-" * 60_000, "[." * 100_000, "<https://" * 30_000, "NO93 " * 50_000, "=\n" * 100_000],
    ids=lambda text: text[:9],
)
def test_hostile_text_is_read_in_bounded_time(text):
    began = time.monotonic()
    extract(text, rejoin=True)
    assert time.monotonic() - began < 10


_domain = st.from_regex(r"[a-z]{1,8}(-[a-z]{1,4})?\.[a-z]{2,5}", fullmatch=True)
_local = st.from_regex(r"[a-z][a-z0-9._+-]{0,20}[a-z0-9]", fullmatch=True)


@given(_local, _domain, st.sampled_from(["{}", "<{}>", "Ada <{}>", "to {}, please", "mailto:{}"]))
def test_an_address_is_found_in_any_sentence(local, domain, sentence):
    address = f"{local}@{domain}"
    found = extract(sentence.format(address))
    assert Identifier(kind=IdentifierKind.ADDRESS, value=address) in found
    assert whole(address) == Identifier(kind=IdentifierKind.ADDRESS, value=address)


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_the_written_form_comes_back(text):
    for identifier in extract(text, rejoin=True):
        assert Identifier.parse(str(identifier)) == identifier
    exact = whole(text)
    assert exact is None or exact.value


@given(st.text(alphabet='ab.@<>",; \u200b\u0430=[]', max_size=40))
def test_a_whole_address_holds_exactly_one(text):
    found = whole(text)
    if found is not None and found.kind is IdentifierKind.ADDRESS:
        outside_quotes = text.split('"')[-1] if '"' in text else text
        assert outside_quotes.count("@") == 1


@given(st.text(alphabet="abcßаüé-", min_size=1, max_size=12))
def test_punycode_tells_different_labels_apart(label):
    encoded = punycode_domain(f"{label}.example")
    assert encoded.isascii()
    if not label.isascii():
        assert encoded.removeprefix("xn--").removesuffix(".example").encode().decode(
            "punycode"
        ) == (label.lower())
