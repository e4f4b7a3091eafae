"""Counts with their noun and sizes in bytes, as people read them."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_LAST_STEP = 999.95


def counted(count: int, noun: str, plural: str = "") -> str:
    """Render a count with its noun; `plural`: where that is not the noun and an s.

    >>> counted(1, "file"), counted(1234, "row group"), counted(0, "page index", "page indexes")
    ('1 file', '1,234 row groups', '0 page indexes')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def bytes_text(count: int) -> str:
    """Render a number of bytes in the unit that leaves at most three digits before the point.

    >>> bytes_text(0), bytes_text(999), bytes_text(1000), bytes_text(3 << 30)
    ('0 B', '999 B', '1.0 KiB', '3.0 GiB')
    """
    value, unit = float(count), 0
    while abs(value) >= _LAST_STEP and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"
