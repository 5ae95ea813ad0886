"""What a typed line means where a question came with options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outbox.options import are_numbered, listed, meant
from outbox.questions import answered


@pytest.mark.parametrize(
    ("typed", "options", "answer"),
    [
        pytest.param("1", ["tea", "coffee"], "tea", id="number"),
        pytest.param(" 2 ", ["tea", "coffee"], "coffee", id="number-with-blanks"),
        pytest.param("3", ["tea", "coffee"], "3", id="beyond"),
        pytest.param("0", ["tea", "coffee"], "0", id="nought"),
        pytest.param("01", ["tea", "coffee"], "01", id="leading-nought"),
        pytest.param("\u0661", ["tea", "coffee"], "\u0661", id="arabic-digit"),
        pytest.param("1", ["2", "1"], "1", id="own-text"),
        pytest.param("1", ["2", "3"], "1", id="numeric-options-have-no-numbers"),
        pytest.param("2", ["2 pm", "3 pm"], "2", id="begins-with-a-number"),
        pytest.param("2", ["#3", "#2"], "2", id="number-behind-a-sign"),
        pytest.param("2", ["Room 2", "Room 1"], "Room 1", id="a-number-later-on"),
        pytest.param(" tea ", ["tea"], "tea", id="option-with-blanks"),
        pytest.param(" tea ", [" tea "], " tea ", id="blanks-of-its-own"),
        pytest.param("with milk ", ["tea"], "with milk ", id="other-words-as-typed"),
        pytest.param("1", [], "1", id="no-options"),
    ],
)
def test_a_line_means(typed: str, options: list[str], answer: str) -> None:
    assert meant(typed, options) == answer


@given(st.lists(st.text(min_size=1), min_size=1, max_size=12), st.data())
def test_an_options_own_text_always_means_itself(options: list[str], data: st.DataObject) -> None:
    """Q1"""
    typed = data.draw(st.sampled_from(options))
    assert meant(typed, options) == typed


@given(st.lists(st.text(), max_size=12))
def test_a_number_chooses_exactly_where_it_is_shown(options: list[str]) -> None:
    shown = listed(options)
    if not are_numbered(options):
        assert shown == [f"- {option}" for option in options]
        return
    for number, option in enumerate(options, start=1):
        assert shown[number - 1] == f"{number}. {option}"
        assert meant(str(number), options) == option


@pytest.mark.parametrize(
    ("text", "own"),
    [
        pytest.param("tea", False, id="tapped"),
        pytest.param("  TEA ", False, id="in another case"),
        pytest.param("Desk@x.example", False, id="its address in another case"),
        pytest.param("yes, to <desk@X.example>, please", False, id="its address in other words"),
        pytest.param("desk@x.example and eve@x.example", False, id="an address more"),
        pytest.param("mailto:desk@x.example", False, id="its address as a link"),
        pytest.param("to bob@x.example", False, id="an address that an option links to"),
        pytest.param("eve@x.example, not max@x.example", False, id="an address of the question"),
        pytest.param("use joe@x.example", False, id="an address that an option spells out"),
        pytest.param("neither", True, id="other words"),
        pytest.param("eve@x.example", True, id="another address"),
    ],
)
def test_an_answer_that_only_repeats_an_option_is_not_the_owners_own(text: str, own: bool) -> None:
    """O16: question and options are the model's, and are compared by whom they name."""
    options = [
        "tea",
        "desk@x.example",
        "Ask ada@x.example",
        "mailto:bob@x.example",
        "joe at x dot example",
    ]
    result = answered(text, "Is it still max@x.example?", options)
    assert (result.text, result.typed_by_owner) == (text, own)
