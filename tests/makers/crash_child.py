"""`steward` in a child that dies, by SIGKILL, at one named point: `crash_child POINT LOG WORDS...`.

Every point that is passed is written to LOG first, one a line, so that a point no run ever reaches
is found. POINT `-` kills nowhere.
"""

import os
import signal
import sys

from bot.cli.main import main
from tools.crashpoint import install_hook


def run(fatal: str, log: str, words: list[str]) -> int:
    """Run the command line with the hook installed."""
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def hook(point: str) -> None:
        os.write(written, f"{point}\n".encode())
        if point == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    install_hook(hook)
    return main(words)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2], sys.argv[3:]))
