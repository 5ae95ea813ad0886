"""Pure. A request as the bytes that a chat-completions server reads.

Why: a conversation only grows, so each past message is encoded once and its bytes are joined again
for every request. What a turn costs must not grow by serialising the turns before it.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from weakref import WeakKeyDictionary

from bot.models.contract import (
    AssistantMessage,
    Message,
    Request,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from bot.models.jsontext import encode, is_object
from bot.models.quirks import Quirks
from bot.models.reasoning import ECHOED_KEYS
from bot.models.schema import portable
from tools.contract import ToolCall
from tools.result import ImagePart

SAID_NOTHING = "(the tool returned nothing)"

_PICTURES = b"Pictures returned by the calls above."
_BRIDGE = b'{"role":"assistant","content":"I have read the results."}'
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_REMEMBERED_TOOL_LISTS = 8


class _Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """One message: `raw` is its whole JSON, for a user message only the inside of the string."""

    role: _Role
    raw: bytes
    images: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The bytes to post, and how many of them are words the model reads (no pictures)."""

    raw: bytes
    prompt_bytes: int


def wire_name(name: str) -> str:
    """A tool name that a server accepts in history, also where a model made one up."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def wire_arguments(arguments: str) -> str:
    """Arguments that may be replayed: the model's own, or {} where they are no JSON object."""
    return arguments if is_object(arguments) else "{}"


def nine_characters(call_id: str) -> str:
    """The id itself if it is nine letters and digits, else nine that always follow from it."""
    if re.fullmatch(r"[a-zA-Z0-9]{9}", call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


def _image(part: ImagePart) -> bytes:
    head = b'{"type":"image_url","image_url":{"url":'
    url = f"data:{part.media_type};base64,{b64encode(part.data).decode()}"
    return head + encode(url) + b"}}"


class Encoder:
    """Requests of one model entry as bytes. Keeps what it encoded for as long as the message lives."""

    def __init__(self, *, producer: str, model: str, quirks: Quirks) -> None:
        self.quirks = quirks
        self._producer = producer
        self._model = encode(model)
        self._pieces: WeakKeyDictionary[Message, _Piece] = WeakKeyDictionary()
        self._systems: dict[str, bytes] = {}
        self._tools: list[tuple[tuple[ToolSchema, ...], bytes]] = []

    def body(self, request: Request, max_output_tokens: int | None) -> Body:
        """The whole request. Messages that say nothing are left out, users in a row become one."""
        messages, image_bytes = self._messages(request)
        tools = self._tool_list(request.tools)
        parts = [b'{"model":', self._model, b',"messages":[', messages, b"]"]
        if tools:
            parts += [b',"tools":[', tools, b"]"]
        parts.append(b',"stream":true')
        if self.quirks.include_usage:
            parts.append(b',"stream_options":{"include_usage":true}')
        if max_output_tokens is not None:
            parts.append(f',"{self.quirks.limit_field}":{max_output_tokens}'.encode())
        parts.append(b"}")
        prompt_bytes = len(messages) - image_bytes + len(tools)
        return Body(raw=b"".join(parts), prompt_bytes=prompt_bytes)

    def _messages(self, request: Request) -> tuple[bytes, int]:
        row = _Row(bridge=not self.quirks.user_after_tool)
        if request.system:
            row.encoded.append(self._system(request.system))
        pieces = self._pieces
        for message in request.messages:
            piece = pieces.get(message)
            if piece is None:
                piece = pieces[message] = self._encode(message)
            row.add(piece)
        return row.close(), row.image_bytes

    def _system(self, system: str) -> bytes:
        if system not in self._systems:
            self._systems.clear()
            self._systems[system] = encode({"role": "system", "content": system})
        return self._systems[system]

    def _tool_list(self, tools: Sequence[ToolSchema]) -> bytes:
        wanted = tuple(tools)
        for known, encoded in self._tools:
            if known == wanted:
                return encoded
        encoded = b",".join(map(_tool, wanted))
        self._tools = [(wanted, encoded), *self._tools[: _REMEMBERED_TOOL_LISTS - 1]]
        return encoded

    def _encode(self, message: Message) -> _Piece:
        match message:
            case UserMessage():
                raw = encode(message.text)[1:-1] if message.text.strip() else b""
                return _Piece(role=_Role.USER, raw=raw, images=_images(message.images))
            case AssistantMessage():
                return _Piece(role=_Role.ASSISTANT, raw=self._assistant(message))
            case ToolMessage():
                result = {
                    "role": "tool",
                    "tool_call_id": self._call_id(message.call_id),
                    "content": message.text if message.text.strip() else SAID_NOTHING,
                }
                return _Piece(role=_Role.TOOL, raw=encode(result), images=_images(message.images))

    def _assistant(self, message: AssistantMessage) -> bytes:
        text = message.text if message.text.strip() else ""
        if not text and not message.calls:
            return b""
        fields: dict[str, Any] = {"role": "assistant", "content": text}
        own = message.producer == self._producer
        crowded = bool(text and message.calls)
        if own and (self.quirks.reasoning_beside_text or not crowded):
            fields |= {key: message.extra[key] for key in ECHOED_KEYS if key in message.extra}
        if message.calls:
            fields["tool_calls"] = [self._call(call, own=own) for call in message.calls]
        return encode(fields)

    def _call(self, call: ToolCall, *, own: bool) -> dict[str, Any]:
        extra = dict(call.extra) if own else {}
        inner = extra.pop("function", {})
        function = {"name": wire_name(call.name), "arguments": wire_arguments(call.arguments)}
        if isinstance(inner, dict):
            function = {**inner, **function}
        return {
            **extra,
            "id": self._call_id(call.id),
            "type": "function",
            "function": function,
        }

    def _call_id(self, call_id: str) -> str:
        return nine_characters(call_id) if self.quirks.nine_character_ids else call_id


def _images(images: Iterable[ImagePart]) -> bytes:
    return b",".join(map(_image, images))


def _tool(schema: ToolSchema) -> bytes:
    return encode(
        {
            "type": "function",
            "function": {
                "name": schema.name,
                "description": schema.description,
                "parameters": portable(schema.parameters),
            },
        }
    )


class _Row:
    """Messages in the order a server takes: every call's result first, then what a user says."""

    def __init__(self, *, bridge: bool) -> None:
        self.encoded: list[bytes] = []
        self.image_bytes = 0
        self._bridge = bridge
        self._texts: list[bytes] = []
        self._images: list[bytes] = []
        self._after_tool = False

    def add(self, piece: _Piece) -> None:
        if piece.images:
            self._images.append(piece.images)
            self.image_bytes += len(piece.images)
        if piece.role is _Role.USER:
            if piece.raw:
                self._texts.append(piece.raw)
        elif piece.role is _Role.TOOL:
            self.encoded.append(piece.raw)
            self._after_tool = True
        elif piece.raw:
            self._speak()
            self.encoded.append(piece.raw)
            self._after_tool = False

    def close(self) -> bytes:
        self._speak()
        return b",".join(self.encoded)

    def _speak(self) -> None:
        """What waited for a user's turn becomes one message."""
        if not self._texts and not self._images:
            return
        if self._bridge and self._after_tool:
            self.encoded.append(_BRIDGE)
        text = b'"' + b"\\n\\n".join(self._texts or [_PICTURES]) + b'"'
        if self._images:
            images = b",".join(self._images)
            text = b'[{"type":"text","text":' + text + b"}," + images + b"]"
        self.encoded.append(b'{"role":"user","content":' + text + b"}")
        self._texts.clear()
        self._images.clear()
        self._after_tool = False
