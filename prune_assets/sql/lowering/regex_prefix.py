"""Lower regular expressions that begin with plain text, which every matching value contains.

The syntax is Java's (java.util.regex.Pattern), matched anywhere in the value as RLIKE does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pyarrow as pa

from parquet_core.arrow_arrays import array_of, scalar_of
from parquet_core.pruning.predicate import And, Contains, EndsWith, In, Or, StartsWith
from prune_assets.sql.lowering.like import REPLACEMENT
from prune_assets.sql.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Predicate, Unsupported

MAX_CHOICES = 50
# `$` also matches before a final line terminator.
_ENDS = ("", "\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029")
_TEXT = re.compile(r"(?:[^\\^$.|?*+()\[\]{}]|\\[^0-9A-Za-z])*", re.DOTALL)
_CHARACTER = re.compile(r"\\.|[^\\]", re.DOTALL)
_CHOICE = re.compile(rf"\((?:\?:)?({_TEXT.pattern}(?:\|{_TEXT.pattern})+)\)(?![*?{{])", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SPLIT = re.compile(r"(?:\\.|[^\\|])*", re.DOTALL)
_BARE = re.compile(r"\\.|\(\?:", re.DOTALL)


_Affix: TypeAlias = StartsWith | EndsWith | Contains


class _Regex(NamedTuple):
    """Beginning of a regular expression.

    `literals`: texts, one of which comes first.
    `anchored`: True if that text must be at the start of the value.
    `rest`: the rest of the expression.
    """

    anchored: bool
    literals: tuple[str, ...]
    rest: str


def match_regex(column: Path, regex: str, unknown: Unsupported) -> Predicate:
    """Return `column RLIKE regex`. Raises Refusal.

    `unknown`: condition that is added if only the beginning of the expression prunes.

    >>> match_regex(("s",), "^ab", None).prefix.as_py()
    'ab'
    """
    read = _read(regex)
    whole = _whole(column, read)
    if whole is not None:
        return whole
    if "" in read.literals:
        raise Refusal("this regular expression begins with no plain text", "write LIKE or startswith()")
    needed = _any(_leaves(_leaf_class(read), column, read.literals))
    return And((needed, unknown))


def _read(regex: str) -> _Regex:
    if REPLACEMENT in regex:
        raise Refusal("the replacement character may match bytes that are not UTF-8")
    if regex.startswith("(?"):
        raise Refusal("flags of a regular expression are not supported", "write the expression without flags")
    anchored = regex.startswith("^")
    body = regex[1:] if anchored else regex.removeprefix(".*")
    source = _read_literal(body)
    rest = body[len(source) :]
    literals: tuple[str, ...] = (_ESCAPE.sub(r"\1", source),)
    choice = _CHOICE.match(rest)
    if choice is not None:
        ends = [_ESCAPE.sub(r"\1", end) for end in _alternatives(choice.group(1))]
        literals, rest = tuple(literals[0] + end for end in ends), rest[choice.end() :]
    if _may_have_alternatives(rest):
        raise Refusal("alternatives of a regular expression are not supported", "write them with OR")
    if len(literals) > MAX_CHOICES:
        raise Refusal(f"more than {MAX_CHOICES} alternatives are not supported")
    return _Regex(anchored, literals, rest)


def _read_literal(body: str) -> str:
    """Return the plain text at the beginning, in its source form, without a last character that is optional."""
    match = _TEXT.match(body)
    assert match is not None
    source = match.group()
    optional = body[len(source) : len(source) + 1] in {"*", "?", "{"}
    return "".join(_CHARACTER.findall(source)[:-1]) if optional else source


def _alternatives(source: str) -> list[str]:
    ends, position = [], 0
    while position <= len(source):
        match = _SPLIT.match(source, position)
        assert match is not None
        ends.append(match.group())
        position = match.end() + 1
    return ends


def _may_have_alternatives(rest: str) -> bool:
    """Return whether alternatives may occur outside of all brackets; True if uncertain."""
    bare = _BARE.sub(lambda found: "(" if found.group() == "(?:" else "", rest)
    if "[" in bare or "(?" in bare or "\\Q" in rest:
        return "|" in rest
    depth = 0
    for letter in bare:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "|" and depth <= 0:
            return True
    return False


def _whole(column: Path, read: _Regex) -> Predicate | None:
    """Return a predicate that is equivalent to the whole expression; None if there is none."""
    if read.rest in {"", ".*"}:
        return _any(_leaves(_leaf_class(read), column, read.literals))
    if read.rest != "$" or any(literal.endswith("\r") for literal in read.literals):
        return None
    ends = tuple(dict.fromkeys(literal + end for literal in read.literals for end in _ENDS))
    if read.anchored:
        return In(column, array_of(ends, pa.string()))
    return _any(_leaves(EndsWith, column, ends))


def _leaves(leaf_class: type[_Affix], column: Path, literals: Sequence[str]) -> list[Predicate]:
    """Return one leaf per text; if a text is empty, only its leaf, because every value contains the empty text."""
    if "" in literals:
        return [StartsWith(column, scalar_of("", pa.string()))]
    return [leaf_class(column, scalar_of(literal, pa.string())) for literal in dict.fromkeys(literals)]


def _leaf_class(read: _Regex) -> type[_Affix]:
    return StartsWith if read.anchored else Contains


def _any(predicates: Sequence[Predicate]) -> Predicate:
    return Or(tuple(predicates)) if len(predicates) > 1 else predicates[0]
