"""LIKE patterns, lowered to the leaf that says the same with the most evidence for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.predicate import Compare, Contains, EndsWith, Like, Op, StartsWith, Wildcard
from prune_assets.sql.refusal import Refusal

if TYPE_CHECKING:
    from parquet_core.predicate import Path, Predicate

DEFAULT_ESCAPE = "\\"
# What one pattern may cost for every entry of a dictionary.
MAX_CHARACTERS = 1_000
# Spark matches most patterns on decoded text, where this stands for bytes that are no UTF-8.
REPLACEMENT = "\ufffd"
_WILDCARDS = {wildcard.value: wildcard for wildcard in Wildcard}
_ANY, _ONE = Wildcard.ANY, Wildcard.ONE


def like(column: Path, pattern: str, escape: str = DEFAULT_ESCAPE) -> Predicate:
    """Return `column LIKE pattern ESCAPE escape` as a leaf; raises Refusal.

    >>> like(("s",), "a%").prefix.as_py(), like(("s",), "a!%", "!").value.as_py()
    ('a', 'a%')
    """
    if REPLACEMENT in pattern:
        raise Refusal("the replacement character may match bytes that are no UTF-8")
    parts = read_pattern(pattern, escape)
    simple = _simple(column, parts)
    if simple is not None:
        return simple
    if len(pattern) > MAX_CHARACTERS:
        raise Refusal(f"a pattern of more than {MAX_CHARACTERS:,} characters is not looked up")
    return Like(column, parts)


def _simple(column: Path, parts: tuple[str | Wildcard, ...]) -> Predicate | None:
    """Return what another leaf says as well, and better."""
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
            # At least one character, whatever it is.
            leaf = Compare(column, Op.GT, scalar_of("", pa.string()))
    return leaf


def read_pattern(pattern: str, escape: str = DEFAULT_ESCAPE) -> tuple[str | Wildcard, ...]:
    r"""Return the texts and wildcards of a pattern; raises Refusal where Spark raises.

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
