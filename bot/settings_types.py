"""Pure. The words and kinds of value that every section of the configuration shares."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    """A table of the configuration: no unknown keys, no coercion, never changed after loading."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, validate_default=False
    )


class SecretKind(StrEnum):
    """Where a secret is kept."""

    ENV = "env"
    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretReference:
    """Where to find a secret; never the secret."""

    kind: SecretKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def parse_reference(value: object) -> SecretReference:
    """The reference that the text writes. Raises: ValueError with advice, never with the value."""
    if isinstance(value, SecretReference):
        return value
    kind, colon, name = str(value).partition(":")
    if isinstance(value, str) and colon and name and kind in set(SecretKind):
        return SecretReference(kind=SecretKind(kind), name=name)
    raise ValueError(
        "must name where the secret is kept, as env:NAME, keyring:NAME or file:PATH, "
        "and is never written here; run 'steward config set-secret NAME' to store it, "
        'then write "keyring:NAME"'
    )


def _money(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("must be a number")
    return Decimal(str(value))


def _address(value: str) -> str:
    local, at, domain = value.rpartition("@")
    if not (local and at and domain) or not value.isprintable() or " " in value:
        raise ValueError("must be a plain mail address such as ada@example.org")
    return value


Secret = Annotated[SecretReference, BeforeValidator(parse_reference)]
Money = Annotated[Decimal, BeforeValidator(_money), Field(ge=0, allow_inf_nan=False)]
Address = Annotated[str, AfterValidator(_address)]
Words = Annotated[tuple[str, ...], Field(strict=False)]
Port = Annotated[int, Field(ge=1, le=65535)]
Seconds = Annotated[float, Field(gt=0)]
