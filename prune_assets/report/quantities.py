"""Formatting of numbers, values and paths. Numbers are rounded so that they never claim too much."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa


def count_text(count: int | None) -> str:
    """Format a count with thousands separators; None is unknown.

    >>> count_text(1234567), count_text(None)
    ('1,234,567', 'not counted')
    """
    return "not counted" if count is None else f"{count:,}"


def share_text(part: int, whole: int) -> str:
    """Format a part of a whole as a percentage; 0 % and 100 % appear only if exact.

    >>> share_text(1, 3), share_text(999_999, 1_000_000), share_text(1, 1_000_000), share_text(3, 3), share_text(0, 0)
    ('33.3 %', '>99.9 %', '<0.1 %', '100 %', '-')
    """
    if whole == 0:
        return "-"
    if part in {0, whole}:
        return "100 %" if part else "0 %"
    if 1000 * part > 999 * whole:
        return ">99.9 %"
    tenths = tenths_of_percent(part, whole)
    return f"{tenths / 10:.1f} %" if tenths else "<0.1 %"


def tenths_of_percent(part: int, whole: int) -> int:
    """Return a part of a whole in tenths of a percent, rounded down so that skipped data is never overstated.

    >>> tenths_of_percent(8618, 10_000), share_text(8618, 10_000)
    (861, '86.1 %')
    """
    return 1000 * part // whole


def seconds_text(seconds: float) -> str:
    """Format a duration in seconds.

    >>> seconds_text(0.0123), seconds_text(2.5)
    ('12.3 ms', '2.50 s')
    """
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def utc_text(milliseconds: int) -> str:
    """Format milliseconds since 1970 in ISO 8601; as a number if out of range.

    >>> utc_text(1_700_000_000_000), utc_text(1 << 62)
    ('2023-11-14T22:13:20.000+00:00', '4611686018427387904 ms')
    """
    try:
        return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"


def clipped(text: str, limit: int) -> str:
    """Shorten a text at its end and append its full length.

    >>> clipped("abcdef", 6), clipped("abcdefg", 3)
    ('abcdef', 'abc… (7 characters)')
    """
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


MAX_VALUE_CHARACTERS = 40


def value_text(value: pa.Scalar) -> str:
    """Format a bound, shortened; null is unknown.

    >>> value_text(pa.scalar(b"abc")), value_text(pa.scalar(None, pa.int64())), value_text(pa.scalar("x" * 41))
    ('abc', 'unknown', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…')
    """
    if not value.is_valid:
        return "unknown"
    if pa.types.is_timestamp(value.type):
        # Casting with the zone would look it up in the machine's time zone database.
        return f"{value.cast(pa.timestamp(value.type.unit)).cast(pa.string())}{'Z' if value.type.tz else ''}"
    # A date beyond year 9999 has no Python value, only a string.
    plain = (value.cast(pa.string()) if pa.types.is_date(value.type) else value).as_py()
    formatted = plain.decode("utf-8", "replace") if isinstance(plain, bytes) else str(plain)
    return formatted if len(formatted) <= MAX_VALUE_CHARACTERS else f"{formatted[:MAX_VALUE_CHARACTERS]}…"


def short_path(path: str, table: str, limit: int) -> str:
    """Return a path relative to its table, shortened to `limit` characters; the start of the file name is kept.

    >>> short_path("s3://lake/orders/day=1/part-0.parquet", "s3://lake/orders/", 40)
    'day=1/part-0.parquet'
    >>> short_path("s3://bucket/a/very/long/way/part-00001.parquet", "s3://lake", 32)
    's3://b…ng/way/part-00001.parquet'
    >>> short_path("lake/day=2024-01-01/part-00003-8a1b2c3d-4e5f-6a7b-8c9d.c000.zstd.parquet", "lake", 44)
    'day=2024-01-01/part-00003-8a1b2c3d-….parquet'
    """
    root = table.rstrip("/") + "/"
    name = path.removeprefix(root) if len(root) > 1 else path
    return name if len(name) <= limit else _cut_middle(name, limit)


def _cut_middle(name: str, limit: int) -> str:
    folder, slash, file = name.rpartition("/")
    file = _cut(file, max(limit * 2 // 3, limit - len(folder) - len(slash)), of_end=len(".parquet"))
    room = limit - len(file) - len(slash)
    return f"{_cut(folder, room, of_end=(room - 1) // 2)}{slash}{file}"


def _cut(text: str, limit: int, *, of_end: int) -> str:
    return text if len(text) <= limit else f"{text[: max(limit - of_end - 1, 0)]}…{text[-of_end:]}"
