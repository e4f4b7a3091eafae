"""Values of bounds as text."""

from __future__ import annotations

import pyarrow as pa

MAX_VALUE_CHARACTERS = 40


def value_text(value: pa.Scalar) -> str:
    """Render a bound, shortened; null is unknown.

    >>> value_text(pa.scalar(b"abc")), value_text(pa.scalar(None, pa.int64())), value_text(pa.scalar("x" * 41))
    ('abc', 'unknown', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…')
    """
    if not value.is_valid:
        return "unknown"
    if pa.types.is_timestamp(value.type):
        # Cast with its zone it would be looked up in the machine's database.
        return f"{value.cast(pa.timestamp(value.type.unit)).cast(pa.string())}{'Z' if value.type.tz else ''}"
    # A date beyond year 9999 has no Python value, only a text.
    plain = (value.cast(pa.string()) if pa.types.is_date(value.type) else value).as_py()
    text = plain.decode("utf-8", "replace") if isinstance(plain, bytes) else str(plain)
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[:MAX_VALUE_CHARACTERS]}…"
