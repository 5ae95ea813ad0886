"""The registry: order, collisions, narrowing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makers.tools import make_spec
from tools.contract import Capabilities, EffectScope, Phase, ReviewShape
from tools.errors import RegistryError
from tools.registry import Entry, Registry, unmatched

EXAMPLES = 300


def registry(*names: str, **given) -> Registry:
    return Registry(Entry(make_spec(name, **given)) for name in names)


def test_tools_stand_in_the_order_of_their_names():
    """The list is the front of the cached prompt, so it must not depend on who loaded what first."""
    assert registry("b", "a", "c").names == ("a", "b", "c")


def test_two_sources_of_one_name_fail_the_start_and_are_both_named():
    """P10."""
    first, second = (Entry(make_spec("fs_read", source=source)) for source in ("files", "other"))
    with pytest.raises(RegistryError) as caught:
        Registry([first, second])
    assert str(caught.value) == (
        "tool fs_read is declared by files and by other; rename one or leave one package out"
    )


def test_a_name_is_found_exactly_or_not_at_all():
    """L1: an unknown tool is nothing, never the nearest one."""
    tools = registry("mail_send")
    assert tools.get("mail_send") is not None
    for name in ("mail_sen", "MAIL_SEND", "mail_*", ""):
        assert tools.get(name) is None
        assert name not in tools


@pytest.mark.parametrize(
    ("patterns", "without", "left"),
    [
        (["*"], [], ("fs_list", "fs_read", "mail_send")),
        (["fs_*"], [], ("fs_list", "fs_read")),
        (["fs_*", "mail_send"], ["fs_list"], ("fs_read", "mail_send")),
        (["*"], ["*"], ()),
        (["FS_*"], [], ()),
        ([], [], ()),
        (["nothing"], [], ()),
    ],
)
def test_a_selection_takes_exact_names_and_globs(patterns, without, left):
    """P9."""
    assert (
        registry("mail_send", "fs_read", "fs_list").select(patterns, without=without).names == left
    )


def test_a_phase_leaves_out_what_is_not_offered_in_it():
    """L17: absent, not merely refused."""
    tools = Registry(
        [
            Entry(make_spec("fs_read")),
            Entry(make_spec("fs_write", phases=frozenset({Phase.ACT}), read_only=False)),
        ]
    )
    assert tools.select(["*"], phase=Phase.PLAN).names == ("fs_read",)
    assert tools.select(["*"], phase=Phase.PLAN).get("fs_write") is None
    assert tools.select(["*"]).names == ("fs_read", "fs_write")


NAMES = st.sampled_from(["fs_read", "fs_list", "mail_send", "mail_read", "todo", "a__b"])
PATTERNS = st.lists(
    NAMES | st.sampled_from(["*", "fs_*", "mail_?end", "[ft]*", "*_b", "x"]), max_size=3
)


@given(
    names=st.sets(NAMES),
    first=PATTERNS,
    second=PATTERNS,
    without=PATTERNS,
    phase=st.sampled_from(Phase),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_restriction_only_narrows_and_two_intersect(names, first, second, without, phase):
    """P9: and what is narrowed away cannot be dispatched."""
    tools = registry(*names)
    one = tools.select(first, phase=phase)
    both = one.select(second, phase=phase, without=without)
    other = tools.select(second, phase=phase, without=without)
    assert set(one.names) <= set(tools.names)
    assert set(both.names) == set(one.names) & set(other.names)
    assert both.names == tuple(sorted(both.names))
    assert all(both.get(name) is None for name in set(tools.names) - set(both.names))


def test_patterns_that_match_nothing_are_named():
    """O13."""
    patterns = ["mail_*", "mial_send", "x*", "mail_send"]
    assert unmatched(patterns, ["mail_send"]) == ("mial_send", "x*")


@pytest.mark.parametrize(
    "change",
    [
        {"description": "Another. Do not use it to do anything."},
        {"capabilities": Capabilities(destructive=True)},
        {"read_only": False},
        {"source": "other"},
        {"source_version": "2"},
        {"args": "tools.files.args:ListArgs"},
        {"scope": EffectScope.FILES},
        {"needs": ("mail",)},
        {"review": ReviewShape(recipients=("to",))},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_definition_that_changed_has_another_hash(change):
    """O9: so that a draft of the old one is not released by the new one."""
    one, same = (Entry(make_spec("probe")).definition_hash for _ in range(2))
    assert one == same
    assert Entry(make_spec("probe", **change)).definition_hash != one


def test_a_schema_given_to_a_model_holds_no_made_up_titles():
    entry = Entry(make_spec("todo", args="tools.todo.todo:TodoArgs"))
    assert "title" not in str(entry.schema)
    assert entry.schema["additionalProperties"] is False
