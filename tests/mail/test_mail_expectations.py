"""Every message somebody else wrote, and every one of our own, read as a person would read it."""

from pathlib import Path
from typing import Any

import pytest

from makers.mail_expectations import asserted, expectations, found

TESTS = Path(__file__).parents[1]
OWN = TESTS / "data" / "mail"
CORPUS = TESTS.parents[1] / "shared" / "corpus"

# Expectations of the corpus that are wrong: {(file, field): why}. There is none.
WRONG: dict[tuple[str, str], str] = {}


def named(expected: Any) -> str:
    return str(expected["file"]) if isinstance(expected, dict) else "absent"


@pytest.mark.parametrize("expected", expectations(OWN / "expected.jsonl"), ids=named)
def test_our_own_messages_read_as_written_down(expected: dict[str, Any]) -> None:
    """E1, E4: HTML only, text attachments, charsets, forwards, bounces, lists, invitations."""
    check((OWN / expected["file"]).read_bytes(), expected)


@pytest.mark.parametrize("expected", expectations(CORPUS / "expected.jsonl") or [None], ids=named)
def test_public_messages_read_as_independent_parsers_and_eyes_agree(
    corpus: Path, expected: dict[str, Any]
) -> None:
    """E1, E4: 86 messages of real mail programs with what is known of them."""
    check((corpus / expected["file"]).read_bytes(), expected)


def check(raw: bytes, expected: dict[str, Any]) -> None:
    wanted = {
        field: value
        for field, value in asserted(expected).items()
        if (expected["file"], field) not in WRONG
    }
    read = found(raw)
    assert {field: read[field] for field in wanted} == wanted


def test_every_public_message_gives_its_text_or_says_that_it_has_none(corpus: Path) -> None:
    for path in sorted((corpus / "mail").iterdir()):
        read = found(path.read_bytes())
        assert read["text60"] or read["body"] in {"none", "html"}, path.name
