"""A mail server in a process of its own that counts what it accepts and fails on demand.

    python -m fakes.smtp --port 0 --log FILE [--maildir DIR] [--fault NAME] [--until-eof] ...

Prints one line of JSON, `{"port": 40123}`, once it listens on 127.0.0.1. With `--until-eof` it ends
when its standard input is closed, so it never outlives the test that started it. The log only
grows: one JSON object a line, on disk before the client hears the answer.

    {"event": "connected"}
    {"event": "rset"}
    {"event": "accepted", "message_id": "<...>", "from": "...", "to": ["..."],
     "size_bytes": 812, "sha256": "..."}

"accepted" means that the server holds the whole message, whatever the client then hears: that line
is what a double send shows in. With `--maildir` the bytes are filed there as well, as a provider
files sent mail.

Faults (`--fault`; none if left out):

    rcpt-550 rcpt-450    refuses each recipient whose address begins with "refused"
    dot-550 dot-450 dot-421
                         answers the final dot with that code and keeps nothing
    slow                 keeps the message and answers 250 after --delay seconds
    no-starttls          offers no STARTTLS although --tls starttls was asked for
    bad-auth             refuses every password
    drop-connect         closes without a greeting
    greet-421 greet-554  greets with that code
    drop-mail drop-rcpt drop-data
                         closes in place of the answer to that command
    silent-rcpt          never answers that command
    drop-body            resets the connection after the first bytes of the text
    drop-after-dot       keeps the message and closes in place of the answer
    silent-after-dot     keeps the message and never answers
    drop-after-250       keeps the message, answers 250 and closes at once
    garbage-after-dot    keeps the message and answers with a line that is no reply
"""

import argparse
import asyncio
import json
import ssl
import sys
from pathlib import Path

from fakes.smtp_log import ServerLog
from fakes.smtp_raw import RAW_FAULTS, raw_connection
from fakes.smtp_real import REAL_FAULTS, RealServer, real_connection

FAULTS = ("none", *REAL_FAULTS, *RAW_FAULTS)


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fakes.smtp")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--maildir", type=Path)
    parser.add_argument("--fault", choices=FAULTS, default="none")
    parser.add_argument("--delay", type=float, default=0.5)
    parser.add_argument("--tls", choices=("none", "starttls", "tls"), default="none")
    parser.add_argument("--cert", type=Path)
    parser.add_argument("--key", type=Path)
    parser.add_argument("--user")
    parser.add_argument("--password")
    parser.add_argument("--until-eof", action="store_true")
    return parser.parse_args(argv)


async def serve(options: argparse.Namespace) -> None:
    log = ServerLog(path=options.log, maildir=options.maildir)
    context = None
    if options.tls != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
    loop = asyncio.get_running_loop()
    outer = context if options.tls == "tls" else None
    if options.fault in RAW_FAULTS:
        server = await asyncio.start_server(
            raw_connection(options.fault, log), "127.0.0.1", options.port, ssl=outer
        )
    else:
        inner = context if options.tls == "starttls" and options.fault != "no-starttls" else None
        real = RealServer(
            fault=options.fault,
            log=log,
            delay_seconds=options.delay,
            starttls=inner,
            user=options.user,
            password=options.password,
        )
        server = await loop.create_server(
            real_connection(real), "127.0.0.1", options.port, ssl=outer
        )
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    if options.until_eof:
        await loop.run_in_executor(None, sys.stdin.buffer.read)
    else:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(arguments()))
