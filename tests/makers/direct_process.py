"""A process of its own that sends at once, by a person's yes, and kills itself at a crash point.

`python -m makers.direct_process FOLDER POINT`: the bench of makers.gate lies in FOLDER.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from makers.gate import DIRECT, PersonDoor, call, make_bench, sender
from tools.crashpoint import install_hook


def main(folder: str, point: str) -> None:
    """Send one call, as far as it gets."""

    def maybe_die(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    bench = make_bench(Path(folder), [sender("mail_send")], door=PersonDoor(), settings=DIRECT)
    install_hook(maybe_die)
    asyncio.run(bench.one(call("mail_send")))


if __name__ == "__main__":
    main(*sys.argv[1:])
