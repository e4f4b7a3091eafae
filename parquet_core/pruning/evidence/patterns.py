"""Bounds as evidence for prefixes, suffixes, substrings and LIKE.

A truncated bound encloses the values but need not occur. Bounds are compared as bytes and never decoded, because a
truncated bound need not be valid UTF-8. A string between two others in byte order starts with their common prefix.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, scalar_of
from parquet_core.format.comparable_values import successor
from parquet_core.pruning.predicate import Contains, EndsWith, Like, StartsWith, Wildcard
from parquet_core.ragged import firsts, spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Flags, Numbers
    from parquet_core.pruning.predicate import Pattern


# Common prefixes are cut at this many bytes, which bounds the work per row.
MAX_LENGTH = 256
# Regular expressions on bytes for one UTF-8 character and for a valid UTF-8 text (Unicode 15, table 3-7).
_CHARACTER = (
    r"(?:[\x{00}-\x{7F}]|[\x{C2}-\x{DF}][\x{80}-\x{BF}]|\x{E0}[\x{A0}-\x{BF}][\x{80}-\x{BF}]"
    r"|[\x{E1}-\x{EC}\x{EE}\x{EF}][\x{80}-\x{BF}]{2}|\x{ED}[\x{80}-\x{9F}][\x{80}-\x{BF}]"
    r"|\x{F0}[\x{90}-\x{BF}][\x{80}-\x{BF}]{2}|[\x{F1}-\x{F3}][\x{80}-\x{BF}]{3}|\x{F4}[\x{80}-\x{8F}][\x{80}-\x{BF}]{2})"
)
_UTF8 = rf"\A{_CHARACTER}*\z"
_WILDCARDS = {Wildcard.ANY: "(?s:.*)", Wildcard.ONE: _CHARACTER}
_PLAIN = re.compile(rb"[0-9A-Za-z]")


def common_prefix(left: pa.Array, right: pa.Array) -> pa.Array:
    """Return the longest common prefix of each pair, at most 256 bytes.

    Both arrays are binary, without nulls.

    >>> common_prefix(pa.array([b"abc", b"x"]), pa.array([b"abd", b""])).to_pylist()
    [b'ab', b'']
    """
    (left_start, left_length, left_data), (right_start, right_length, right_data) = map(_views, (left, right))
    length = np.minimum(np.minimum(left_length, right_length), MAX_LENGTH)
    differs = left_data[spans(left_start, length)] != right_data[spans(right_start, length)]
    first = firsts(length)
    (places,) = np.nonzero(differs)
    row = np.searchsorted(first, places, side="right") - 1
    # Assignment in reverse order keeps the first difference of each row.
    length[row[::-1]] = (places - first[row])[::-1]
    offsets = firsts(length).astype(np.int32)
    data = np.ascontiguousarray(left_data[spans(left_start, length)])
    return pa.Array.from_buffers(pa.binary(), len(left), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _views(array: pa.Array) -> tuple[Numbers, Numbers, NDArray[np.uint8]]:
    """Return the starts, lengths and data bytes of a binary array."""
    _, offsets, data = array.buffers()
    edges = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    plain = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return edges[:-1], np.diff(edges), plain


def pattern_ruled_out(leaf: Pattern, lower: pa.Array, upper: pa.Array) -> tuple[Flags, Flags]:
    """Flag containers where no value can match, and where every value matches.

    A null bound is unknown.
    """
    prefix = _prefix(leaf)
    never = _outside(prefix, lower, upper)
    if isinstance(leaf, StartsWith):
        return never, _inside(prefix, lower, upper)
    always = np.zeros(len(lower), np.bool_)
    (single,) = np.nonzero(flags_from(pc.equal(lower, upper)))
    if len(single):
        matched, failed = _matches(leaf, lower.take(single))
        always[single] = matched
        never[single] |= failed
    _match_common_prefix(leaf, lower, upper, always)
    return never, always


def _prefix(leaf: Pattern) -> bytes:
    """Return the prefix that all matching values share, possibly empty."""
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


def _match_common_prefix(leaf: Pattern, lower: pa.Array, upper: pa.Array, always: Flags) -> None:
    """Set `always` where the common prefix of the bounds already matches.

    Applies to patterns that may be followed by any text: then every value between the bounds matches.
    """
    if not (isinstance(leaf, Contains) or (isinstance(leaf, Like) and leaf.parts[-1] is Wildcard.ANY)):
        return
    bounded = flags_from(pc.and_(pc.is_valid(lower), pc.is_valid(upper)))
    (undecided,) = np.nonzero(bounded & ~always & _holds(leaf, lower) & _holds(leaf, upper))
    if len(undecided):
        always[undecided], _ = _matches(leaf, common_prefix(lower.take(undecided), upper.take(undecided)))


def _matches(leaf: Pattern, values: pa.Array) -> tuple[Flags, Flags]:
    """Flag values that match and values that do not.

    A LIKE pattern sets neither flag for values that are not valid UTF-8.
    """
    holds = _holds(leaf, values)
    if not isinstance(leaf, Like):
        return holds, ~holds
    valid = flags_from(pc.match_substring_regex(values, _UTF8))
    return holds & valid, ~holds & valid


def _holds(leaf: Pattern, values: pa.Array) -> Flags:
    match leaf:
        case StartsWith(_, prefix):
            matches = pc.starts_with(values, _bytes(prefix))
        case EndsWith(_, suffix):
            matches = pc.ends_with(values, _bytes(suffix))
        case Contains(_, part):
            matches = pc.match_substring(values, _bytes(part))
        case Like(_, parts):
            matches = pc.match_substring_regex(values, rf"\A{''.join(map(_expression, parts))}\z")
    return flags_from(matches)


def _expression(part: str | Wildcard) -> str:
    if isinstance(part, Wildcard):
        return _WILDCARDS[part]
    return "".join(chr(byte) if _PLAIN.match(bytes([byte])) else rf"\x{{{byte:02X}}}" for byte in part.encode())


def _bytes(value: pa.Scalar) -> bytes:
    plain: bytes = value.cast(pa.binary()).as_py()
    return plain
