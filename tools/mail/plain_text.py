"""Pure. Plain text of mail: flowed lines joined, encoded runs folded away."""

import re

_BASE64_LINE = r"[A-Za-z0-9+/]{60,}={0,2}[ \t]*\r?\n"
_BASE64_RUN = re.compile(rf"(?m)^(?:{_BASE64_LINE}){{5,}}(?:[A-Za-z0-9+/]{{1,76}}={{0,2}}[ \t]*$)?")
_UU_RUN = re.compile(
    r"(?m)^begin [0-7]{3,4} ([^\r\n]{1,200})\r?\n(?:[!-`][ -`]{0,90}\r?\n)+(?:end[ \t]*$)?"
)
_QUOTE = re.compile(r">*")
MAX_FLOWED_CHARACTERS = 2_000_000


def tidy(text: str) -> str:
    """The text with Unix line ends, runs of encoded data replaced by their size, no NUL."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    without_uu = _UU_RUN.sub(
        lambda run: f"[uuencoded file {run[1].strip()}, {len(run[0])} characters, left out]", lines
    )
    return _BASE64_RUN.sub(
        lambda run: f"[encoded data, {len(run[0])} characters, left out]\n", without_uu
    )


def unflow(text: str, *, delete_space: bool) -> str:
    """Format=flowed paragraphs as single lines (RFC 3676); the signature mark "-- " stays.

    Longer text than two million characters is left as it stands.
    """
    if len(text) > MAX_FLOWED_CHARACTERS:
        return text
    lines: list[str] = []
    open_depth: int | None = None
    for raw in text.replace("\r\n", "\n").split("\n"):
        depth = len(_QUOTE.match(raw)[0])  # type: ignore[index]
        content = raw[depth:].removeprefix(" ")
        flows = content.endswith(" ") and content != "-- "
        body = content[:-1] if flows and delete_space else content
        if open_depth == depth and content != "-- ":
            lines.append(body)
        else:
            lines.append(("\n" if lines else "") + (">" * depth + " " if depth else "") + body)
        open_depth = depth if flows else None
    return "".join(lines)
