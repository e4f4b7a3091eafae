"""Bounds as evidence about prefixes, suffixes and substrings; a truncated bound encloses values and need not be one.

Bytes are compared, never decoded: what a cut bound was made of need not be UTF-8.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, scalar_of
from parquet_core.common_prefix import common_prefix
from parquet_core.predicate import Contains, EndsWith, Like, StartsWith, Wildcard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.predicate import Pattern

    Flags = NDArray[np.bool_]

# One character and whole texts in UTF-8 (Unicode 15, table 3-7), for an engine that sees bytes.
_CHARACTER = (
    r"(?:[\x{00}-\x{7F}]|[\x{C2}-\x{DF}][\x{80}-\x{BF}]|\x{E0}[\x{A0}-\x{BF}][\x{80}-\x{BF}]"
    r"|[\x{E1}-\x{EC}\x{EE}\x{EF}][\x{80}-\x{BF}]{2}|\x{ED}[\x{80}-\x{9F}][\x{80}-\x{BF}]"
    r"|\x{F0}[\x{90}-\x{BF}][\x{80}-\x{BF}]{2}|[\x{F1}-\x{F3}][\x{80}-\x{BF}]{3}|\x{F4}[\x{80}-\x{8F}][\x{80}-\x{BF}]{2})"
)
_UTF8 = rf"\A{_CHARACTER}*\z"
_WILDCARDS = {Wildcard.ANY: "(?s:.*)", Wildcard.ONE: _CHARACTER}
_PLAIN = re.compile(rb"[0-9A-Za-z]")


def pattern_ruled_out(leaf: Pattern, lower: pa.Array, upper: pa.Array) -> tuple[Flags, Flags]:
    """Tell where no value between the bounds matches, and where none fails to; null is an unknown bound."""
    prefix = _prefix(leaf)
    never = _outside(prefix, lower, upper)
    if isinstance(leaf, StartsWith):
        return never, _inside(prefix, lower, upper)
    always = np.zeros(len(lower), np.bool_)
    (single,) = np.nonzero(flags_from(pc.equal(lower, upper)))
    if len(single):
        matched, failed = _of_values(leaf, lower.take(single))
        always[single] = matched
        never[single] |= failed
    _hold_by_what_all_begin_with(leaf, lower, upper, always)
    return never, always


def successor(prefix: bytes) -> bytes | None:
    r"""Return the least bytes above all that begin with a prefix; None when there is none.

    >>> successor(b"a\xff"), successor(b"\xff"), successor(b"")
    (b'b', None, None)
    """
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _prefix(leaf: Pattern) -> bytes:
    """Return what every value that matches begins with."""
    match leaf:
        case StartsWith(_, prefix):
            return _bytes(prefix)
        case Like(_, (str() as first, *_)):
            return first.encode()
        case _:
            return b""


def _outside(prefix: bytes, lower: pa.Array, upper: pa.Array) -> Flags:
    above = successor(prefix)
    outside = flags_from(pc.less(upper, scalar_of(prefix, upper.type)))
    return outside if above is None else outside | flags_from(pc.greater_equal(lower, scalar_of(above, lower.type)))


def _inside(prefix: bytes, lower: pa.Array, upper: pa.Array) -> Flags:
    if not prefix:
        return np.ones(len(lower), np.bool_)
    above = successor(prefix)
    inside = flags_from(pc.greater_equal(lower, scalar_of(prefix, lower.type)))
    return inside if above is None else inside & flags_from(pc.less(upper, scalar_of(above, upper.type)))


def _hold_by_what_all_begin_with(leaf: Pattern, lower: pa.Array, upper: pa.Array, always: Flags) -> None:
    """Note where what lies between the bounds has a beginning in common that matches, whatever follows."""
    if not (isinstance(leaf, Contains) or (isinstance(leaf, Like) and leaf.parts[-1] is Wildcard.ANY)):
        return
    known = flags_from(pc.and_(pc.is_valid(lower), pc.is_valid(upper)))
    (asked,) = np.nonzero(known & ~always & _holds(leaf, lower) & _holds(leaf, upper))
    if len(asked):
        always[asked], _ = _of_values(leaf, common_prefix(lower.take(asked), upper.take(asked)))


def _of_values(leaf: Pattern, values: pa.Array) -> tuple[Flags, Flags]:
    """Tell which values match and which do not; of strings that are no UTF-8 neither may be known."""
    holds = _holds(leaf, values)
    if not isinstance(leaf, Like):
        return holds, ~holds
    valid = flags_from(pc.match_substring_regex(values, _UTF8))
    return holds & valid, ~holds & valid


def _holds(leaf: Pattern, values: pa.Array) -> Flags:
    match leaf:
        case StartsWith(_, prefix):
            found = pc.starts_with(values, _bytes(prefix))
        case EndsWith(_, suffix):
            found = pc.ends_with(values, _bytes(suffix))
        case Contains(_, part):
            found = pc.match_substring(values, _bytes(part))
        case Like(_, parts):
            found = pc.match_substring_regex(values, rf"\A{''.join(map(_expression, parts))}\z")
    return flags_from(found)


def _expression(part: str | Wildcard) -> str:
    if isinstance(part, Wildcard):
        return _WILDCARDS[part]
    return "".join(chr(byte) if _PLAIN.match(bytes([byte])) else rf"\x{{{byte:02X}}}" for byte in part.encode())


def _bytes(value: pa.Scalar) -> bytes:
    plain: bytes = value.cast(pa.binary()).as_py()
    return plain
