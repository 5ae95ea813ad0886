"""Pure. What one answer cost, from the owner's own price list."""

from dataclasses import dataclass
from decimal import Decimal

from bot.models.contract import Usage

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD per million tokens. A cache price that is not given is the price of input."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


def cost_usd(usage: Usage, price: Price | None) -> Decimal | None:
    """USD for one request, exact; None where the price or a count is unknown, which is never 0.

    `usage.input_tokens` includes what was read from and written to a cache; a server that counts
    more of either than it had input is taken at its input.
    """
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    read = min(usage.cached_tokens or 0, usage.input_tokens)
    written = min(usage.cache_write_tokens or 0, usage.input_tokens - read)
    fresh = usage.input_tokens - read - written
    read_price = price.input if price.cache_read is None else price.cache_read
    write_price = price.input if price.cache_write is None else price.cache_write
    total = (
        fresh * price.input
        + read * read_price
        + written * write_price
        + usage.output_tokens * price.output
    )
    return total / _MILLION
