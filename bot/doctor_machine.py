"""Checks of what lies on this machine: the home, its permissions, the configuration, the database."""

import os
import shutil
from pathlib import Path

from bot import startup
from bot.doctor_check import Check, Finding, Subject, counted, fail, ok, unknown, warn
from bot.errors import ConfigProblem, DatabaseProblem
from bot.home import Home
from bot.packages import built_in_specs
from bot.schema import HEAD, SchemaState, schema_revision
from bot.settings_references import references
from tools.errors import ManifestError

LITTLE_SPACE_BYTES = 200 * 1024 * 1024


def check_home(subject: Subject) -> list[Finding]:
    """The home is there and writable, on a disk with room."""
    root = subject.home.root
    if not root.exists():
        return [ok(f"{root} is not made yet; the first command that needs it makes it")]
    if not root.is_dir():
        return [fail(f"{root} is no folder", "move it away, or name another with STEWARD_HOME")]
    if not os.access(root, os.W_OK | os.X_OK):
        return [fail(f"{root} cannot be written", f"run: chmod u+rwx {root}")]
    free = shutil.disk_usage(root).free
    if free < LITTLE_SPACE_BYTES:
        return [warn(f"{root} has {free // 2**20} MB left on its disk", "free some space")]
    return [ok(f"{root} is writable")]


def check_permissions(subject: Subject) -> list[Finding]:
    """What is the owner's alone can be read by nobody else."""
    home = subject.home
    private = [*home.folders, home.config, home.database, *_files_in(home.secrets)]
    open_to_others = [path for path in private if path.exists() and path.stat().st_mode & 0o077]
    if not open_to_others:
        return [ok("nobody else can read the home")]
    return [_exposed(path, is_grave=_is_grave(path, home)) for path in open_to_others]


def _is_grave(path: Path, home: Home) -> bool:
    """A secret that others can read, or anything they can change."""
    kept = path.parent == home.secrets or path == home.database
    return kept or bool(path.stat().st_mode & 0o022)


def _exposed(path: Path, *, is_grave: bool) -> Finding:
    advice = f"run: chmod {'700' if path.is_dir() else '600'} {path}"
    text = f"{path} is open to other users of this machine"
    return fail(text, advice) if is_grave else warn(text, advice)


def _files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def check_configuration(subject: Subject) -> list[Finding]:
    """A start would take the configuration; what it names and is not built yet is said."""
    path = subject.home.config
    advice = f"edit {path}, then run 'steward config check'"
    if subject.problems:
        return [fail(f"{path}: {problem}", advice) for problem in subject.problems]
    settings = subject.settings
    assert settings is not None, "no problems and no settings"
    found = [fail(f"{path}: {each}", advice) for each in startup.refusals(settings, _tools())]
    found += [
        warn(f"{path}: {each}", "leave it out until then")
        for each in startup.without_effect(settings)
    ]
    if not path.exists():
        return [ok("no configuration yet: defaults")]
    return found or [ok(f"{path} is well formed")]


def _tools() -> list[str]:
    """Every tool's name; none where a manifest is damaged, which the check of tools says."""
    try:
        return [spec.name for spec in built_in_specs()]
    except ManifestError:
        return ["*"]


def check_secrets(subject: Subject) -> list[Finding]:
    """Every secret the configuration names can be found."""
    if subject.settings is None:
        return [unknown("which secrets are needed is unknown while the configuration is wrong")]
    named = references(subject.settings.config)
    found: list[Finding] = []
    for key, reference in named:
        try:
            subject.secrets.resolve(reference)
        except ConfigProblem as problem:
            what, _, advice = str(problem).rpartition("; ")
            found.append(fail(f"{key}: {what or problem}", advice))
    return found or [ok(f"{counted(len(named), 'secret')} named, none missing")]


def check_database(subject: Subject) -> list[Finding]:
    """The database has this version's schema and belongs to this home."""
    path = subject.home.database if subject.settings is None else subject.settings.database_path
    try:
        state, revision = schema_revision(path)
        if state is SchemaState.MISSING:
            return [ok(f"{path} is not made yet")]
        if state is SchemaState.OLDER:
            text = f"{path} has schema {revision or 'none'}, this version needs {HEAD}"
            return [fail(text, "run 'steward db upgrade'")]
        if state is not SchemaState.CURRENT:
            advice = "install the steward that wrote it, or restore a backup"
            return [fail(f"{path} has a schema this version does not know ({state})", advice)]
        assert subject.database is not None, "a current schema opens"
        generation = subject.database.generation()
    except DatabaseProblem as problem:
        return [fail(str(problem), "see the line above")]
    if generation != subject.home.generation():
        text = f"{path} is not the database this home was made with (a backup, or a copy)"
        return [warn(text, "look at every pending draft before you approve it")]
    return [ok(f"{path} has schema {HEAD}")]


CHECKS = (
    Check(name="home", run=check_home),
    Check(name="permissions", run=check_permissions),
    Check(name="configuration", run=check_configuration),
    Check(name="secrets", run=check_secrets),
    Check(name="database", run=check_database),
)
