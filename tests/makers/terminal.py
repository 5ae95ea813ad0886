"""A real terminal round a real `steward`: what it prints, and answers to what it asks."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

PATIENCE_SECONDS = 60.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """`steward WORDS` as a child whose standard streams are one terminal; leaving kills it."""

    def __init__(self, *words: str, environ: Mapping[str, str], cwd: Path) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [str(Path(sys.executable).parent / "steward"), *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={"TERM": "dumb", **environ},
            cwd=cwd,
            start_new_session=True,
            preexec_fn=_hear_interrupts,  # noqa: PLW1509 - the tests start no threads
        )
        os.close(slave)
        self.seen = ""  # without escape sequences
        self.raw = b""
        self._read_to = 0

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    def expect(self, text: str) -> str:
        """Read on until the text was printed; gives what came up to it, since the last time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.seen[self._read_to :]:
            if not self._more(deadline):
                raise AssertionError(f"never printed {text!r}; last: {self.seen[-2_000:]}")
        end = self.seen.index(text, self._read_to) + len(text)
        passage = self.seen[self._read_to : end]
        self._read_to = end
        return passage

    def answer(self, prompts: Sequence[tuple[str, str]]) -> None:
        """Wait for each prompt in turn and type what follows it, with Enter."""
        for prompt, line in prompts:
            self.expect(prompt)
            self.type(f"{line}\n")

    def type(self, text: str) -> None:
        """Keys."""
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C, as the terminal would send it."""
        os.killpg(self._process.pid, signal.SIGINT)

    def end(self) -> int:
        """Read to the end; gives the exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._more(deadline):
            pass
        return self._process.wait(timeout=PATIENCE_SECONDS)

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            return False
        try:
            piece = os.read(self._master, 65_536)
        except OSError:  # the other side is closed: on Linux a terminal ends by EIO
            return False
        self.raw += piece
        self.seen += _ESCAPES.sub("", piece.decode(errors="replace")).replace("\r\n", "\n")
        return bool(piece)


def _hear_interrupts() -> None:
    """A test run in the background ignores SIGINT, and a child would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def run_steward(
    *words: str, environ: Mapping[str, str], cwd: Path, piped: str = ""
) -> subprocess.CompletedProcess[str]:
    """`steward WORDS` as a child without a terminal, its standard input this text."""
    return subprocess.run(
        [str(Path(sys.executable).parent / "steward"), *words],
        input=piped,
        capture_output=True,
        text=True,
        env=dict(environ),
        cwd=cwd,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
