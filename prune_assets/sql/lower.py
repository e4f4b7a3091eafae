"""Lower Spark SQL to the predicate tree; unsupported parts become leaves that keep data."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.pruning.predicate import And, Unsupported
from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.binding import clock
from prune_assets.sql.binding.clock import with_constants
from prune_assets.sql.binding.non_scalar import refuse_non_scalar
from prune_assets.sql.binding.scope import Scope, bind_names
from prune_assets.sql.functions.clock_calls import Clock
from prune_assets.sql.lowering.conditions import Conditions
from prune_assets.sql.render import render
from prune_assets.sql.simplify.rules import all_of
from prune_assets.sql.syntax.nodes import Parameter
from prune_assets.sql.syntax.parsed import parse_predicate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.syntax.parsed import ParsedPredicate

# Cache of lowered predicates: number of entries, and the longest text in characters.
_REMEMBERED = 64
_MOST_REMEMBERED_TEXT = 1024

_NO_LEGACY = "unset spark.sql.parser.escapedStringLiterals and spark.sql.legacy.consecutiveStringLiterals.enabled"


@dataclass(frozen=True, slots=True)
class LoweredPredicate:
    """A predicate in SQL and as a tree for the planner.

    `conjuncts`: SQL and tree of each operand of the topmost AND, or of the whole predicate.
    `normalized`: the tree as SQL.
    `frozen`: the predicate with literals in place of `current_date()` and similar functions, evaluated at `now`, and
    with constants that Spark computed. None if it has neither. `conjuncts` refer to `frozen`; pass `frozen`, not `sql`,
    to Spark to get the same day.
    `now`: microseconds since 1970-01-01. None without clock functions.
    `parsed`: each conjunct with bound names. None for a conjunct that was not parsed.
    """

    sql: str
    predicate: Predicate
    conjuncts: tuple[tuple[str, Predicate], ...]
    normalized: str
    frozen: str | None = None
    now: int | None = None
    parsed: tuple[ParsedPredicate | None, ...] = field(default=(), repr=False, compare=False)

    @property
    def frozen_sql(self) -> str:
        """The SQL that was lowered: `frozen`, or `sql` if there is no `frozen`."""
        return self.sql if self.frozen is None else self.frozen


def lower(
    sql: str,
    columns: Sequence[LeafColumn],
    *,
    semantics: SparkSemantics,
    is_builtin: Callable[[str], bool] | None = None,
    now: int | None = None,
    fold: Callable[[str], str | None] | None = None,
) -> LoweredPredicate:
    """Lower the text of a WHERE predicate to the predicate tree.

    `columns`: columns of the table. A literal is converted to the type of the column that it is compared with.
    `is_builtin`: returns whether a name still refers to Spark's own function. None if every name does.
    `now`: the current time in microseconds since 1970-01-01. None for the system clock.
    `fold`: returns a constant as a literal, for constants that this package does not compute.

    Raises PredicateSyntaxError, UnknownColumn (with a suggestion) and PredicateTypeError. The smallest parts of valid
    Spark SQL that cannot be lowered become Unsupported.
    """
    if is_builtin is None and fold is None and now is None and len(sql) <= _MOST_REMEMBERED_TEXT:
        remembered = _lower_unless_clock(sql, tuple(columns), semantics, semantics.zone_span)
        if isinstance(remembered, LoweredPredicate):
            return remembered
        return _lower(remembered, columns, semantics=semantics)
    return _lower(_parsed(sql, columns), columns, semantics=semantics, is_builtin=is_builtin, now=now, fold=fold)


def _parsed(sql: str, columns: Sequence[LeafColumn]) -> ParsedPredicate:
    try:
        return parse_predicate(sql)
    except PredicateSyntaxError as error:
        raise PredicateSyntaxError(f"{error}{_needing_backquotes(sql, columns)}") from None


@lru_cache(_REMEMBERED)
def _lower_unless_clock(
    sql: str, columns: tuple[LeafColumn, ...], semantics: SparkSemantics, _zone_span: tuple[int, int] | None
) -> LoweredPredicate | ParsedPredicate:
    """Lower a predicate; if it has clock functions, only parse it.

    The value of clock functions changes, so their result must not be cached. `_zone_span`: a separate part of the cache
    key, because settings that differ only in their zone span are equal.
    """
    parsed = _parsed(sql, columns)
    return parsed if clock.uses_clock(parsed) else _lower(parsed, columns, semantics=semantics)


def _lower(
    parsed: ParsedPredicate,
    columns: Sequence[LeafColumn],
    *,
    semantics: SparkSemantics,
    is_builtin: Callable[[str], bool] | None = None,
    now: int | None = None,
    fold: Callable[[str], str | None] | None = None,
) -> LoweredPredicate:
    sql = parsed.sql
    if "${" in sql:
        return refused(sql, "Spark first substitutes variables for ${..}", "write the value")
    if not semantics.knows_literals_of(sql):
        return refused(sql, "the session reads string literals in the legacy way", _NO_LEGACY)
    refuse_non_scalar(parsed, is_builtin)
    _refuse_parameters(parsed)
    if clock.uses_clock(parsed) and not semantics.legacy_literals:
        now = clock.now() if now is None else now
        scope = Scope(columns, case_sensitive=semantics.case_sensitive)
        parsed = clock.frozen(parsed, Clock.of(semantics, now), scope=scope, is_builtin=is_builtin)
    now = now if parsed.sql != sql else None
    parsed = bind_names(parsed, columns, semantics, is_builtin)
    if fold is not None:
        parsed = with_constants(parsed, own=Conditions(parsed, semantics).constant, ask=fold)
    lowered = _lowered(parsed, Conditions(parsed, semantics))
    return lowered if parsed.sql == sql else replace(lowered, sql=sql, frozen=parsed.sql, now=now)


def _needing_backquotes(sql: str, columns: Sequence[LeafColumn]) -> str:
    """Return a hint on a column that needs backquotes; "" if there is none.

    The column has spaces in its name, and the predicate contains its words without backquotes.
    """
    for name in dict.fromkeys(part for column in columns for part in column.path if " " in part.strip()):
        words = r"\s+".join(map(re.escape, name.split()))
        if re.search(rf"(?<![`\w]){words}(?![`\w])", sql, re.IGNORECASE):
            return f"; the column `{name}` needs backquotes"
    return ""


def _refuse_parameters(parsed: ParsedPredicate) -> None:
    parameter = next(parsed.tree.all_of(Parameter), None)
    if parameter is not None:
        name = parsed.text(parameter)
        raise WrongUse(f"predicate: the parameter {name} has no value; put its value into the text itself")


def _lowered(parsed: ParsedPredicate, conditions: Conditions) -> LoweredPredicate:
    parts = conditions.lower_conjuncts(parsed.tree)
    lowered = [And(part) if len(part) > 1 else part[0] for part in parts]
    predicate = all_of([*chain.from_iterable(parts)])
    written = parsed.conjuncts()
    sources = [part.text(part.tree) for part in written]
    conjuncts = tuple(zip(sources, lowered, strict=True))
    return LoweredPredicate(parsed.sql, predicate, conjuncts, render(predicate), parsed=tuple(written))


def lowered_conjunction(parts: Sequence[LoweredPredicate]) -> LoweredPredicate:
    """Join separately lowered predicates with AND."""
    if len(parts) == 1:
        return parts[0]
    conjuncts = tuple(conjunct for part in parts for conjunct in part.conjuncts)
    predicate = all_of([tree for _, tree in conjuncts])
    sql = " AND ".join(part.sql for part in parts)
    parsed = tuple(chain.from_iterable(part.parsed for part in parts))
    lowered = LoweredPredicate(sql, predicate, conjuncts, render(predicate), parsed=parsed)
    clocks = [part.now for part in parts if part.frozen is not None]
    if not clocks:
        return lowered
    return replace(lowered, frozen=" AND ".join(f"({part.frozen_sql})" for part in parts), now=clocks[0])


def refused(sql: str, reason: str, remedy: str) -> LoweredPredicate:
    """Return a predicate that is Unsupported as a whole."""
    whole = Unsupported(sql.strip(), reason, remedy)
    return LoweredPredicate(sql, whole, ((sql.strip(), whole),), render(whole), parsed=(None,))
