"""What the fake mail server remembers: an append-only log, and a Maildir of what it accepted."""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLog:
    """Each line is flushed to disk before the caller goes on."""

    path: Path
    maildir: Path | None = None

    def write(self, event: str, **facts: object) -> None:
        line = json.dumps({"event": event, **facts}) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def accept(self, sender: str, recipients: list[str], message: bytes) -> None:
        """Keep the message: filed first, then counted."""
        if self.maildir is not None:
            for box in ("cur", "new", "tmp"):
                (self.maildir / box).mkdir(parents=True, exist_ok=True)
            name = f"{uuid4().hex}.fake"
            (self.maildir / "tmp" / name).write_bytes(message)
            (self.maildir / "tmp" / name).rename(self.maildir / "new" / name)
        found = re.search(rb"(?im)^message-id:\s*(<[^>\r\n]+>)", message)
        self.write(
            "accepted",
            message_id=found[1].decode() if found else None,
            **{"from": sender, "to": recipients},
            size_bytes=len(message),
            sha256=hashlib.sha256(message).hexdigest(),
        )
