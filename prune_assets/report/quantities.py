"""Numbers as people read them, rounded so that they never claim more than is true."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_LAST_STEP = 999.95


def bytes_text(count: int) -> str:
    """Render a number of bytes in the unit that leaves at most three digits before the point.

    >>> bytes_text(0), bytes_text(999), bytes_text(1000), bytes_text(3 << 30)
    ('0 B', '999 B', '1.0 KiB', '3.0 GiB')
    """
    value, unit = float(count), 0
    while abs(value) >= _LAST_STEP and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def count_text(count: int | None) -> str:
    """Render a count with thousands separated; None is unknown.

    >>> count_text(1234567), count_text(None)
    ('1,234,567', 'not counted')
    """
    return "not counted" if count is None else f"{count:,}"


def share_text(part: int, whole: int) -> str:
    """Render a part as a percentage; 0 % and 100 % are said only when exact.

    >>> share_text(1, 3), share_text(999_999, 1_000_000), share_text(1, 1_000_000), share_text(3, 3), share_text(0, 0)
    ('33.3 %', '>99.9 %', '<0.1 %', '100 %', '-')
    """
    if whole == 0:
        return "-"
    if part in {0, whole}:
        return "100 %" if part else "0 %"
    percent = 100 * part / whole
    if percent < 0.1:
        return "<0.1 %"
    return ">99.9 %" if percent > 99.9 else f"{percent:.1f} %"


def seconds_text(seconds: float) -> str:
    """Render a duration.

    >>> seconds_text(0.0123), seconds_text(2.5)
    ('12.3 ms', '2.50 s')
    """
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def clipped(text: str, limit: int) -> str:
    """Shorten a text at its end and say how long it was.

    >>> clipped("abcdef", 6), clipped("abcdefg", 3)
    ('abcdef', 'abc… (7 characters)')
    """
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
