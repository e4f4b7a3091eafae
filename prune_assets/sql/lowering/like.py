"""Lower LIKE patterns and comparisons of first characters to the leaves that prune most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.format.comparable_values import successor
from parquet_core.pruning.predicate import Compare, Contains, EndsWith, Like, Not, Op, Or, StartsWith, Wildcard
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax.nodes import DEFAULT_ESCAPE, HOLDS

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.predicate import Predicate

# The first n characters are less than a longer literal if they are not greater than its first n characters.
_OF_LONGER = {Op.LT: Op.LE, Op.GE: Op.GT}


def compare_start(column: LeafColumn, count: int, op: Op, literal: str | bytes) -> Predicate:
    """Return `substr(column, 1, count) op literal`.

    `count`: number of characters of a string, or of bytes of a binary.

    The result is exact even for strings that are not UTF-8, in which Spark counts characters by their first bytes.
    """
    if count <= 0:
        return every_value(column, holds=HOLDS[op](b"", literal if isinstance(literal, bytes) else literal.encode()))
    if len(literal) > count:
        if op in {Op.EQ, Op.NE}:
            return every_value(column, holds=op is Op.NE)
        op, literal = _OF_LONGER.get(op, op), literal[:count]
    elif len(literal) < count:
        return Compare(column.path, op, scalar_of(literal, column.type))
    return _compare_prefix(column, op, literal)


def _compare_prefix(column: LeafColumn, op: Op, literal: str | bytes) -> Predicate:
    """Compare the first characters of the column with a literal of the same length."""
    begins = StartsWith(column.path, scalar_of(literal, column.type))
    match op:
        case Op.EQ:
            return begins
        case Op.NE:
            return Not(begins)
        case Op.LT | Op.GE:
            return Compare(column.path, op, begins.prefix)
        case Op.LE:
            return _up_to(column, literal, Op.LT)
        case Op.GT:
            return _up_to(column, literal, Op.GE)


def every_value(column: LeafColumn, *, holds: bool) -> Predicate:
    """Return a predicate that is TRUE (`holds`) or FALSE for every value, and NULL for null."""
    always = StartsWith(column.path, scalar_of(b"" if pa.types.is_binary(column.type) else "", column.type))
    return always if holds else Not(always)


def _up_to(column: LeafColumn, prefix: str | bytes, op: Op) -> Predicate:
    """Compare a value with the range of all values that begin with a prefix.

    `op`: `<` to select values in the range and below it; `>=` to select values above the range.
    """
    above = successor(prefix if isinstance(prefix, bytes) else prefix.encode())
    if above is None:
        return every_value(column, holds=op is Op.LT)
    try:
        return Compare(column.path, op, scalar_of(above if isinstance(prefix, bytes) else above.decode(), column.type))
    except UnicodeDecodeError:
        # The smallest value above the range is not valid UTF-8, so it cannot be a literal.
        value = scalar_of(prefix, column.type)
        reached = Or((Compare(column.path, Op.LT, value), StartsWith(column.path, value)))
        return reached if op is Op.LT else Not(reached)


# Limits the cost of matching one pattern against every entry of a dictionary.
MAX_CHARACTERS = 1_000
# Spark matches most patterns on decoded text, where this character replaces bytes that are not UTF-8.
REPLACEMENT = "\ufffd"
_WILDCARDS = {wildcard.value: wildcard for wildcard in Wildcard}
_ANY, _ONE = Wildcard.ANY, Wildcard.ONE


def like(column: Path, pattern: str, escape: str = DEFAULT_ESCAPE) -> Predicate:
    """Return `column LIKE pattern ESCAPE escape` as a leaf. Raises Refusal.

    >>> like(("s",), "a%").prefix.as_py(), like(("s",), "a!%", "!").value.as_py()
    ('a', 'a%')
    """
    if REPLACEMENT in pattern:
        raise Refusal("the replacement character may match bytes that are not UTF-8")
    parts = read_pattern(pattern, escape)
    simple = _simple(column, parts)
    if simple is not None:
        return simple
    if len(pattern) > MAX_CHARACTERS:
        raise Refusal(f"a pattern of more than {MAX_CHARACTERS:,} characters is not supported")
    return Like(column, parts)


def _simple(column: Path, parts: tuple[str | Wildcard, ...]) -> Predicate | None:
    """Return an equivalent leaf that prunes better; None if none is known."""
    leaf: Predicate | None = None
    match parts:
        case ():
            leaf = Compare(column, Op.EQ, scalar_of("", pa.string()))
        case (str(text),):
            leaf = Compare(column, Op.EQ, scalar_of(text, pa.string()))
        case (Wildcard.ANY,):
            leaf = StartsWith(column, scalar_of("", pa.string()))
        case (str(text), Wildcard.ANY):
            leaf = StartsWith(column, scalar_of(text, pa.string()))
        case (Wildcard.ANY, str(text)):
            leaf = EndsWith(column, scalar_of(text, pa.string()))
        case (Wildcard.ANY, str(text), Wildcard.ANY):
            leaf = Contains(column, scalar_of(text, pa.string()))
        case _ if parts.count(_ONE) == 1 and parts.count(_ANY) == len(parts) - 1 > 0:
            # Any text of at least one character matches.
            leaf = Compare(column, Op.GT, scalar_of("", pa.string()))
    return leaf


def read_pattern(pattern: str, escape: str = DEFAULT_ESCAPE) -> tuple[str | Wildcard, ...]:
    r"""Return the texts and wildcards of a pattern. Raises Refusal where Spark raises.

    >>> read_pattern(r"a%%b\__")
    ('a', <Wildcard.ANY: '%'>, 'b_', <Wildcard.ONE: '_'>)
    """
    parts: list[str | Wildcard] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            _add_text(parts, _escaped(next(letters, ""), escape))
        elif letter not in _WILDCARDS:
            _add_text(parts, letter)
        elif _WILDCARDS[letter] is _ONE or parts[-1:] != [_ANY]:
            parts.append(_WILDCARDS[letter])
    return tuple(parts)


def _escaped(letter: str, escape: str) -> str:
    if letter and letter in {"%", "_", escape}:
        return letter
    where = f"before {letter!r}" if letter else "at the end"
    raise Refusal(f"Spark fails on the escape character {where} of this pattern", f"write {escape}{escape} for itself")


def _add_text(parts: list[str | Wildcard], letter: str) -> None:
    if parts and isinstance(parts[-1], str):
        parts[-1] += letter
    else:
        parts.append(letter)
