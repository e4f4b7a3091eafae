"""Format and parse counts, shares and sizes in bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Callable

Quantity = TypeVar("Quantity")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_LAST_STEP = 999.95


def counted(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun.

    `plural`: plural of the noun; by default the noun with an s.

    >>> counted(1, "file"), counted(1234, "row group"), counted(0, "page index", "page indexes")
    ('1 file', '1,234 row groups', '0 page indexes')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def bytes_text(count: int) -> str:
    """Format a number of bytes with a unit.

    The unit leaves at most three digits before the point.

    >>> bytes_text(0), bytes_text(999), bytes_text(1000), bytes_text(3 << 30)
    ('0 B', '999 B', '1.0 KiB', '3.0 GiB')
    """
    value, unit = float(count), 0
    while abs(value) >= _LAST_STEP and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def share_of(value: object) -> float:
    """Parse a share: a number from 0 to 1, or text such as 90%.

    Raises ValueError for anything else.

    >>> share_of(0.9), share_of("0.9"), share_of("90%"), share_of("90 %")
    (0.9, 0.9, 0.9, 0.9)
    """
    share = -1.0
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]*\.?[0-9]+|[0-9]+\.)(?:e-?[0-9]+)? *(%?)", value.strip(), re.IGNORECASE | re.ASCII)
        if match is not None:
            share = float(value.strip().rstrip("% ")) / (100 if match[2] else 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        share = float(value)
    if not 0 <= share <= 1:
        raise ValueError(f"{value!r} is no share from 0 to 1; for 90 % write 0.9 or 90%")
    return share


def size_of(value: object) -> int:
    """Parse a size: a number of bytes or a text for `bytes_of`.

    Raises ValueError for anything else.

    >>> size_of(4096), size_of("4KiB")
    (4096, 4096)
    """
    if isinstance(value, str):
        return bytes_of(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no size; write a number with one of {', '.join(_UNITS[:5])}, e.g. 200GiB")
    return value


def bytes_of(text: str) -> int:
    """Parse a size such as 200GiB as a number of bytes.

    Raises ValueError for other texts, and for units of 1,000 (GB).

    >>> bytes_of("200GiB") == 200 << 30, bytes_of("1.5 mib"), bytes_of("4096")
    (True, 1572864, 4096)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([a-z]*)", text.strip(), re.IGNORECASE | re.ASCII)
    units = {unit.casefold(): 1024**power for power, unit in enumerate(_UNITS)} | {"": 1}
    if match is None or match[2].casefold() not in units:
        raise ValueError(f"{text!r} is no size; write a number with one of {', '.join(_UNITS[:5])}, e.g. 200GiB")
    count: int = round(float(match[1]) * units[match[2].casefold()])
    return count


def named(name: str, parse: Callable[[object], Quantity], value: object) -> Quantity:
    """Parse the value of an argument. Raises WrongUse, which names the argument.

    >>> named("min_skipped", share_of, "90%")
    0.9
    """
    try:
        return parse(value)
    except ValueError as error:
        raise WrongUse(f"{name} = {error}") from None


def refuse_no_share(name: str, share: float, whole: str, *, example: float, or_zero: bool = False) -> None:
    """Raise WrongUse for an argument that is not a share of `whole`.

    >>> refuse_no_share("sample", 1, "the row groups", example=0.1)
    """
    if not 0 <= share <= 1 or (share == 0 and not or_zero):
        limits = "from 0 to 1" if or_zero else "above 0 and up to 1"
        raise WrongUse(f"{name}={share}: must be a share of {whole}, {limits}, e.g. {example}")
