"""Pure. A tool's JSON schema in the few words that every server understands.

Why: some refuse a whole request for one `$schema`, `const`, `exclusiveMinimum` or
`additionalProperties` in it. Bounds are not lost: the decoder that reads the call checks them.
"""

from collections.abc import Mapping
from typing import Any

_REF = "#/$defs/"
_ALTERNATIVES = ("anyOf", "oneOf")


def portable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with type, properties, required, items, enum, description and anyOf alone.

    References are written out in place; where one leads back to itself it ends in a plain object.
    "Or null" is dropped, because an optional argument is left out, not sent as null.
    """
    definitions = schema.get("$defs")
    root = _Narrower(definitions if isinstance(definitions, dict) else {}).narrow(schema, ())
    root["type"] = "object"
    root.setdefault("properties", {})
    return root


class _Narrower:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def narrow(self, schema: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        if "$ref" in schema:
            return self._reference(schema, inside)
        whole = schema.get("allOf")
        if isinstance(whole, list) and len(whole) == 1:
            outer = {key: value for key, value in schema.items() if key != "allOf"}
            return self.narrow({**whole[0], **outer}, inside)
        narrowed = self._alternatives(schema, inside) or self._plain(schema, inside)
        if isinstance(schema.get("description"), str):
            narrowed["description"] = schema["description"]
        return narrowed

    def _reference(self, schema: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        name = str(schema["$ref"]).removeprefix(_REF)
        target = self._definitions.get(name)
        if name in inside or not isinstance(target, dict):
            target = {"type": "object"}
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return self.narrow({**target, **beside}, (*inside, name))

    def _alternatives(
        self, schema: Mapping[str, Any], inside: tuple[str, ...]
    ) -> dict[str, Any] | None:
        for key in _ALTERNATIVES:
            options = schema.get(key)
            if isinstance(options, list):
                kept = [self.narrow(one, inside) for one in options if one.get("type") != "null"]
                return kept[0] if len(kept) == 1 else {"anyOf": kept}
        return None

    def _plain(self, schema: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        narrowed: dict[str, Any] = {}
        if (kind := _kind(schema)) is not None:
            narrowed["type"] = kind
        if "const" in schema:
            narrowed["enum"] = [schema["const"]]
        if isinstance(schema.get("enum"), list):
            narrowed["enum"] = schema["enum"]
        properties = schema.get("properties")
        if isinstance(properties, dict):
            narrowed["properties"] = {
                name: self.narrow(inner, inside) for name, inner in properties.items()
            }
        if isinstance(schema.get("required"), list):
            narrowed["required"] = schema["required"]
        items = schema.get("items")
        if isinstance(items, dict) or kind == "array":
            narrowed["items"] = self.narrow(items, inside) if isinstance(items, dict) else {}
        return narrowed


def _kind(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if isinstance(kind, list):
        return next((one for one in kind if one != "null"), None)
    return kind
