"""Truncate bounds of strings to the number of characters that statistics hold.

A prefix is not larger than the whole. What is put behind a prefix to make it not smaller is a character that is larger
than the one that was cut off there; where no character is, the prefix becomes longer, and in the end there is no bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX_LENGTH = "delta.dataSkippingStringPrefixLength"
_BY_DEFAULT = 32
# As the reference implementation closes prefixes off: in ASCII where that suffices.
_LAST_ASCII = "\x7f"
_LAST = "\U0010ffff"


def prefix_length(properties: Mapping[str, str]) -> int:
    """Return how many characters of a string statistics hold."""
    try:
        found = int(properties.get(PREFIX_LENGTH, _BY_DEFAULT))
    except ValueError:
        return _BY_DEFAULT
    return found if found > 0 else _BY_DEFAULT


def lower_string(bound: bytes, most: int) -> str:
    """Return a string of at most `most` characters that is not larger than a bound, which may end within a character.

    >>> lower_string(b"abcdef", 3), lower_string("é".encode()[:1], 3)
    ('abc', '')
    """
    return _whole_characters(bound)[:most]


def upper_string(bound: bytes, most: int) -> str | None:
    r"""Return a string that is not smaller than any that is not larger than a bound; None when there is none.

    >>> upper_string(b"abc", 3), upper_string(b"abcd", 3), upper_string("abcé".encode(), 3)
    ('abc', 'abc\x7f', 'abc\U0010ffff')
    """
    text = _whole_characters(bound)
    if len(text) <= most:
        rest = bound[len(text.encode()) :]
        return text if not rest else _closed(text, rest)
    for length in range(most, min(2 * most, len(text) - 1) + 1):
        if text[length] < _LAST:
            return text[:length] + (_LAST_ASCII if text[length] < _LAST_ASCII else _LAST)
    return None


def _closed(text: str, rest: bytes) -> str | None:
    """Close off a bound whose end is no character: of one that was cut there, or that a writer counted up."""
    return text + _LAST if rest[0] < _LAST.encode()[0] else None


def _whole_characters(bound: bytes) -> str:
    try:
        return bound.decode()
    except UnicodeDecodeError as error:
        return bound[: error.start].decode()
