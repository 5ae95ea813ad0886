"""The mail server inside: real SMTP, every accepted byte on disk, once."""

import asyncio
import socket
from pathlib import Path

import aiosmtplib
import pytest

from bot.tour.embedded_smtp import embedded_smtp

MESSAGE = (
    b"From: a@one.example\r\nTo: b@two.example\r\nBcc: c@three.example\r\nMessage-ID: <1@one.example>\r\n"
    b"Subject: =?utf-8?q?gr=C3=BC=C3=9Fe?=\r\n\r\n.leading dot\r\n..two\r\n \r\ntrailing space \r\n\xc3\xa9\r\n"
)


async def _send(port: int, message: bytes) -> str:
    client = aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False)
    async with client:
        await client.mail("a@one.example")
        await client.rcpt("b@two.example")
        return (await client.data(message)).message


def _filed(sent: Path) -> list[bytes]:
    return [path.read_bytes() for path in (sent / "new").iterdir()]


async def test_what_is_accepted_is_filed_once_byte_for_byte(tmp_path):
    sent = tmp_path / "sent"
    async with embedded_smtp(sent) as port:
        answer = await _send(port, MESSAGE)
        assert _filed(sent) == [MESSAGE]
        assert answer == "2.0.0 filed"
    assert not list((sent / "tmp").iterdir())


async def test_a_second_delivery_of_the_same_message_shows_as_a_second_file(tmp_path):
    async with embedded_smtp(tmp_path / "sent") as port:
        await _send(port, MESSAGE)
        await _send(port, MESSAGE)
    assert _filed(tmp_path / "sent") == [MESSAGE, MESSAGE]


async def test_many_at_once_are_all_filed(tmp_path):
    async with embedded_smtp(tmp_path / "sent") as port:
        await asyncio.gather(*(_send(port, MESSAGE + b"%d\r\n" % n) for n in range(20)))
    assert sorted(_filed(tmp_path / "sent")) == sorted(MESSAGE + b"%d\r\n" % n for n in range(20))


async def test_a_message_past_the_limit_is_refused_and_not_filed(tmp_path):
    async with embedded_smtp(tmp_path / "sent", limit_bytes=1_000) as port:
        with pytest.raises(aiosmtplib.SMTPResponseException) as caught:
            await _send(port, MESSAGE + b"x" * 80 + b"\r\n" * 2_000)
    assert caught.value.code == 552
    assert _filed(tmp_path / "sent") == []


async def test_a_disk_that_takes_nothing_is_a_refusal_and_not_an_acceptance(tmp_path):
    """R3: a message that could not be filed was not accepted, and the server goes on."""
    sent = tmp_path / "sent"
    async with embedded_smtp(sent) as port:
        (sent / "tmp").rmdir()
        with pytest.raises(aiosmtplib.SMTPDataError) as caught:
            await _send(port, MESSAGE)
    assert (caught.value.code, caught.value.message) == (
        451,
        "4.3.0 not stored: No such file or directory",
    )


async def test_it_listens_on_loopback_only_and_is_gone_afterwards(tmp_path):
    async with embedded_smtp(tmp_path / "sent") as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert (await reader.readline()).startswith(b"220 localhost steward tour")
        assert writer.get_extra_info("sockname")[0] == "127.0.0.1"
    assert await reader.read() == b""  # a client that stayed is hung up on
    writer.close()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


async def test_no_address_reaches_the_log(tmp_path, caplog):
    caplog.set_level("DEBUG")
    async with embedded_smtp(tmp_path / "sent") as port:
        await _send(port, MESSAGE)
    assert "one.example" not in caplog.text
    assert "two.example" not in caplog.text
