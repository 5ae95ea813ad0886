"""The tour's home: its own, named, marked, and never somebody else's."""

import tomllib
from datetime import timedelta

import pytest

from bot.errors import ConfigProblem, UsageProblem
from bot.home import Home
from bot.settings import load_settings
from bot.tour.home import UNKNOWN_OWNER, Wishes, make_home, read_marker, tour_home
from bot.tour.lock import playing_in
from bot.tour.servers import ModelServer
from makers.tour import NOW, fill_maildir, mail, tree_digest


def _home(tmp_path, name="tour") -> Home:
    return Home(root=tmp_path / name)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/h"}, "/h/.cache/steward-tour"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/c"}, "/c/steward-tour"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "relative"}, "/h/.cache/steward-tour"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/c", "STEWARD_HOME": "/mine"}, "/mine"),
        ({"HOME": "/h", "STEWARD_HOME": ""}, "/h/.cache/steward-tour"),
    ],
    ids=["cache", "xdg", "xdg-relative", "named", "named-empty"],
)
def test_the_home_is_the_named_one_or_lies_in_the_cache(environ, expected):
    assert str(tour_home(environ).root) == expected


def test_a_new_home_has_a_marker_a_mailbox_and_a_configuration_that_sends_nowhere(tmp_path):
    home = _home(tmp_path)
    made = make_home(home, Wishes(), now=NOW)
    config = tomllib.loads(home.config.read_text())
    assert made.messages == 14
    assert config["models"] == {"rehearsal": {"kind": "rehearsal"}}
    assert config["agents"]["assistant"]["model"] == "rehearsal"
    assert config["outbox"] == {"scripts": True}
    account = config["mail"]["accounts"]["tour"]
    assert account["smtp"] == {"embedded": True}
    assert account["address"] == "robin@ashford.example"
    assert (home.root / made.marker.mailbox / "cur").is_dir()
    assert account["path"] == str(home.root / made.marker.mailbox)
    assert read_marker(home) == made.marker
    assert home.root.stat().st_mode & 0o777 == 0o700


def test_an_accepted_server_is_the_model_of_the_home(tmp_path):
    server = ModelServer(base_url="http://127.0.0.1:8080/v1", model='odd "name"', api_key="env:K")
    make_home(_home(tmp_path), Wishes(server=server), now=NOW)
    config = tomllib.loads(_home(tmp_path).config.read_text())
    assert config["models"]["server"] == {
        "kind": "openai",
        "base_url": "http://127.0.0.1:8080/v1",
        "model": 'odd "name"',
        "api_key": "env:K",
    }
    assert config["agents"]["assistant"]["model"] == "server"


@pytest.mark.parametrize(
    "wishes",
    [
        Wishes(),
        Wishes(server=ModelServer(base_url="http://127.0.0.1:1/v1", model="m")),
        Wishes(server=ModelServer(base_url="http://127.0.0.1:1/v1", model="m", api_key="env:K")),
    ],
    ids=["rehearsal", "local", "with-a-key"],
)
def test_the_configuration_it_writes_is_one_that_steward_reads(tmp_path, wishes):
    home = _home(tmp_path, 'odd "name" \\ ünd')
    made = make_home(home, wishes, now=NOW)
    settings = load_settings(home.root, {})
    assert settings.not_built == ()
    account = settings.config.mail.accounts["tour"]
    assert settings.path(account.path) == home.root / made.marker.mailbox
    assert settings.path(account.sent) == home.root / "sent"
    assert settings.model_name("assistant") in settings.models
    assert settings.outbox.scripts


@pytest.mark.parametrize("file", ["config.toml", "steward.db"])
def test_a_home_of_the_owners_own_is_refused_and_left_alone(tmp_path, file):
    home = _home(tmp_path)
    home.root.mkdir()
    (home.root / file).write_text("precious")
    before = tree_digest(home.root)
    with pytest.raises(ConfigProblem, match="is a steward home of your own") as caught:
        make_home(home, Wishes(), now=NOW)
    assert "\n" not in str(caught.value)
    assert tree_digest(home.root) == before


def test_a_second_tour_keeps_what_was_done_and_renews_the_mailbox(tmp_path):
    home = _home(tmp_path)
    first = make_home(home, Wishes(), now=NOW)
    home.database.write_bytes(b"drafts")
    (home.root / "sent").mkdir()
    second = make_home(home, Wishes(), now=NOW + timedelta(days=1))
    assert home.database.read_bytes() == b"drafts"
    assert (home.root / "sent").is_dir()
    assert second.marker.mailbox != first.marker.mailbox
    assert not (home.root / first.marker.mailbox).exists()
    assert second.kept_config is None


def test_times_are_told_in_the_zone_of_the_machine(tmp_path):
    home = _home(tmp_path)
    made = make_home(home, Wishes(timezone="America/St_Johns"), now=NOW)
    assert str(load_settings(home.root, {"TZ": "UTC"}).timezone) == "America/St_Johns"
    letters = (home.root / made.marker.mailbox).glob("*/*.steward*")
    dates = [line for each in letters for line in each.read_text().splitlines() if "Date: " in line]
    assert dates
    assert all(line.endswith(" -0330") for line in dates)


def test_where_the_mailbox_does_not_tell_the_owner_is_asked(tmp_path):
    source = fill_maildir(tmp_path / "own", [mail(to="undisclosed-recipients:;")])
    told = Wishes(source=source, ask_address=lambda: "kim@home.example")
    assert make_home(_home(tmp_path, "a"), told, now=NOW).marker.address == "kim@home.example"
    silent = make_home(_home(tmp_path, "b"), Wishes(source=source), now=NOW)
    assert silent.marker.address == UNKNOWN_OWNER
    known = fill_maildir(tmp_path / "known", [mail()])
    asked: list[str] = []
    wishes = Wishes(source=known, ask_address=lambda: asked.append("asked") or "")
    assert make_home(_home(tmp_path, "c"), wishes, now=NOW).marker.address == "kim@home.example"
    assert asked == []


def test_only_one_tour_at_a_time_plays_in_a_home(tmp_path):
    home = _home(tmp_path)
    with playing_in(home):
        with pytest.raises(ConfigProblem) as caught, playing_in(home):
            pass
        with playing_in(_home(tmp_path, "other")):
            pass
    assert str(caught.value) == (
        f"a tour is playing in {home.root}; wait for it, or set STEWARD_HOME to another folder"
    )
    with playing_in(home):
        assert make_home(home, Wishes(), now=NOW).messages == 14


@pytest.mark.parametrize("file", ["config.toml", "steward.db"])
def test_in_a_home_of_the_owners_own_not_even_a_lock_is_left(tmp_path, file):
    home = _home(tmp_path)
    home.root.mkdir()
    (home.root / file).write_text("precious")
    before = tree_digest(home.root)
    with pytest.raises(ConfigProblem, match="is a steward home of your own"), playing_in(home):
        pass
    assert tree_digest(home.root) == before


def test_an_edited_configuration_is_put_aside_and_named(tmp_path):
    home = _home(tmp_path)
    make_home(home, Wishes(), now=NOW)
    edited = home.config.read_text() + "[contacts]\nada = 'ada@away.example'\n"
    home.config.write_text(edited)
    second = make_home(home, Wishes(), now=NOW + timedelta(days=1))
    assert second.kept_config is not None
    assert second.kept_config.read_text() == edited


def test_an_own_mailbox_brings_its_owners_address(tmp_path):
    source = fill_maildir(tmp_path / "own", [mail(to="kim@home.example")])
    made = make_home(_home(tmp_path), Wishes(source=source), now=NOW)
    assert (made.marker.address, made.messages) == ("kim@home.example", 1)
    named = make_home(_home(tmp_path, "b"), Wishes(source=source, address="k@x.example"), now=NOW)
    assert named.marker.address == "k@x.example"


def test_a_source_without_mail_leaves_the_earlier_tour_as_it_was(tmp_path):
    home = _home(tmp_path)
    first = make_home(home, Wishes(), now=NOW)
    before = tree_digest(home.root / first.marker.mailbox), home.config.read_bytes()
    with pytest.raises(UsageProblem):
        make_home(home, Wishes(source=fill_maildir(tmp_path / "own", [])), now=NOW + timedelta(1))
    assert (tree_digest(home.root / first.marker.mailbox), home.config.read_bytes()) == before
    assert read_marker(home) == first.marker


def test_the_tours_own_mailbox_is_no_source(tmp_path):
    home = _home(tmp_path)
    first = make_home(home, Wishes(), now=NOW)
    with pytest.raises(UsageProblem, match="lies in the tour's own home"):
        make_home(home, Wishes(source=home.root / first.marker.mailbox), now=NOW + timedelta(1))


def test_a_place_that_cannot_be_written_is_said_in_one_line(tmp_path):
    """R3: nothing was made, and the error says what to set."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigProblem, match=r"cannot make the tour's home .*set STEWARD_HOME"):
        make_home(Home(root=tmp_path / "file" / "tour"), Wishes(), now=NOW)
