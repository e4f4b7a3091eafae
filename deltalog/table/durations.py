"""Durations in table properties: `interval 30 days`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARTS = re.compile(r"(\d{1,9})\s*(microsecond|millisecond|second|minute|hour|day|week)s?\b")
_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
DAY_MS = 86_400_000


def milliseconds(text: str) -> int | None:
    """Return how long an interval is; None for what is none, or has no certain length, such as a month.

    >>> [milliseconds(text) for text in ("interval 30 days", "1 week 2 HOURS", "interval 1 month", "")]
    [2592000000, 612000000, None, None]
    """
    words = text.strip().lower().removeprefix("interval").strip()
    found = list(_PARTS.finditer(words))
    if not found or _PARTS.sub("", words).strip():
        return None
    return sum(int(part[1]) * _MICROS[part[2]] for part in found) // 1_000


def duration_of(properties: Mapping[str, str], name: str, otherwise: str) -> int:
    """Return a duration that a property of the table gives, in milliseconds; WrongUse when it is none."""
    text = properties.get(name, otherwise)
    found = milliseconds(text)
    if found is None:
        raise WrongUse(f"table property {name} is {text!r}, which is no duration; set it to one like {otherwise!r}")
    return found
