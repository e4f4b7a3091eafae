"""From Spark SQL to the owned predicate tree: what cannot be lowered becomes a leaf that keeps data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from operator import is_
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import PruneError
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Constant, Op, Or, Unsupported, leaves
from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql import clock
from prune_assets.sql.conditions import Conditions
from prune_assets.sql.cursor import text_of
from prune_assets.sql.grammar import parse
from prune_assets.sql.lexer import refuse, tokenize
from prune_assets.sql.over_rows import refuse_over_rows
from prune_assets.sql.render import render
from prune_assets.sql.rewrites.flatten import conjuncts, disjuncts, opposite
from prune_assets.sql.rewrites.join_conditions import join_conditions
from prune_assets.sql.rewrites.join_date_parts import join_date_parts
from prune_assets.sql.rewrites.join_equalities import join_equalities
from prune_assets.sql.rewrites.join_ranges import join_ranges
from prune_assets.sql.rewrites.narrow_choices import narrow_choices
from prune_assets.sql.rewrites.null_columns import null_columns
from prune_assets.sql.rewrites.put_known_values import put_known_values
from prune_assets.sql.scope import Scope
from prune_assets.sql.spark_constants import with_constants
from prune_assets.sql.sqlglot_nodes import exp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Predicate
    from prune_assets.semantics import SparkSemantics
    from prune_assets.sql.sqlglot_nodes import Token

# Of brackets, and of AND, OR and NOT. No consumer of a tree recurses, but what is nested deeper is a mistake.
MAX_DEPTH = 10_000
# Each rewrite of a part is lowered, and may be planned, by itself.
MAX_REWRITES = 10

_NULL = Constant(Outcomes.NULL)
_NO_LEGACY = "unset spark.sql.parser.escapedStringLiterals and spark.sql.legacy.consecutiveStringLiterals.enabled"


@dataclass(frozen=True, slots=True)
class LoweredPredicate:
    """A predicate as it was written and as the planner asks it.

    `conjuncts`: SQL and tree of each operand of the topmost AND, or of the whole; `normalized`: the
    tree as SQL; `rewrites`: the parts that metadata cannot answer for which there is SQL that it can, with its tree.
    `frozen`: the predicate with what the clock said at `now`, in microseconds since 1970-01-01, in place of
    `current_date()` and the like, and with constants that Spark computed; None where it has none of these. Conjuncts
    are those of it. Spark has to be asked it,
    not `sql`, to see the same day.
    """

    sql: str
    predicate: Predicate
    conjuncts: tuple[tuple[str, Predicate], ...]
    normalized: str
    rewrites: tuple[tuple[Unsupported, Predicate], ...] = ()
    frozen: str | None = None
    now: int | None = None

    @property
    def frozen_sql(self) -> str:
        """The predicate that was lowered: as written, but for what the clock said."""
        return self.sql if self.frozen is None else self.frozen


def lower(
    sql: str,
    columns: Sequence[LeafColumn],
    *,
    semantics: SparkSemantics,
    propose: bool = True,
    is_own: Callable[[str], bool] | None = None,
    now: int | None = None,
    fold: Callable[[str], str | None] | None = None,
) -> LoweredPredicate:
    """Turn the text of a WHERE predicate into the owned tree, literals in the types of `columns`.

    `is_own`: tells whether a function's name still is that of Spark's own; None: each is. `now`: the microseconds since
    1970-01-01 that clocks are to say, None for the present. `fold`: says what a constant is as a literal, where the own
    rules do not.
    Raises PredicateSyntaxError, UnknownColumn (saying which is meant) and PredicateTypeError; what
    is Spark SQL but cannot be lowered becomes Unsupported, as small a part as possible. `propose`: look for SQL
    to write instead.
    """
    tokens = tokenize(sql)
    _refuse_deep_brackets(tokens, sql)
    tree = parse(sql, tokens)
    if "${" in sql:
        return refused(sql, "Spark puts variables in place of ${..} first", "write the value")
    if semantics.legacy_literals and ("'" in sql or '"' in sql):
        return refused(sql, "the session reads string literals in the legacy way", _NO_LEGACY)
    refuse_over_rows(tree, tokens, is_own)
    scope = Scope(columns, case_sensitive=semantics.case_sensitive)
    if clock.asks_clock(tokens) and not semantics.legacy_literals:
        now = clock.now() if now is None else now
        frozen = clock.frozen(sql, tokens, tree, clock.Clock.of(semantics, now), scope=scope, is_own=is_own)
        if frozen != sql:
            asked = lower(frozen, columns, semantics=semantics, propose=propose, is_own=is_own, now=now, fold=fold)
            return replace(asked, sql=sql, frozen=asked.frozen_sql, now=now)
    conditions = conditions_on(scope, sql, tokens, semantics, is_own)
    if fold is not None:
        folded = with_constants(sql, tokens, tree, own=conditions.constant, ask=fold)
        if folded != sql:
            asked = lower(folded, columns, semantics=semantics, propose=propose, is_own=is_own, now=now)
            return replace(asked, sql=sql, frozen=folded)
    if any(column.type == pa.null() for column in columns):
        null_columns(tree, scope)
    operands = join_date_parts(_operands(tree, exp.And)) if isinstance(tree, exp.And) else [tree]
    lowered = [_guarded(operand, conditions) for operand in operands]
    parts = put_known_values(lambda: operands, lowered, conditions.lower_with)
    lowered = [And(part) if len(part) > 1 else part[0] for part in parts]
    predicate = _and([*chain.from_iterable(parts)])
    texts = [text_of(operand, sql, tokens) for operand in operands]
    rewrites = _rewrites(predicate, columns, semantics) if propose else ()
    return LoweredPredicate(sql, predicate, tuple(zip(texts, lowered, strict=True)), render(predicate), rewrites)


def conditions_on(
    scope: Scope, sql: str, tokens: Sequence[Token], semantics: SparkSemantics, is_own: Callable[[str], bool] | None
) -> Conditions:
    """Return what lowers the parts of a predicate with this source."""
    conditions = Conditions(scope, partial(text_of, sql=sql, tokens=tokens), semantics, is_own)
    conditions.lower_tree = lambda node: _lower(node, conditions)
    return conditions


def _rewrites(
    predicate: Predicate, columns: Sequence[LeafColumn], semantics: SparkSemantics
) -> tuple[tuple[Unsupported, Predicate], ...]:
    """Lower the rewrites of unsupported parts, those that leave nothing unsupported."""
    parts = dict.fromkeys(leaf for leaf in leaves(predicate) if isinstance(leaf, Unsupported) and leaf.rewrite)
    lowered = [(part, _lowered_wholly(part.rewrite, columns, semantics)) for part in islice(parts, MAX_REWRITES)]
    return tuple((part, instead) for part, instead in lowered if instead is not None)


def _lowered_wholly(sql: str, columns: Sequence[LeafColumn], semantics: SparkSemantics) -> Predicate | None:
    try:
        instead = lower(sql, columns, semantics=semantics, propose=False).predicate
    except PruneError:  # a proposal that is wrong must not fail the plan
        return None
    return None if any(isinstance(leaf, Unsupported) for leaf in leaves(instead)) else instead


def _refuse_deep_brackets(tokens: Sequence[Token], sql: str) -> None:
    depth = 0
    for token in tokens:
        if token.text == "(":
            depth += 1
            if depth > MAX_DEPTH:
                refuse(sql, token.start, f"brackets are nested deeper than {MAX_DEPTH:,} levels")
        elif token.text == ")":
            depth -= 1


def lowered_conjunction(parts: Sequence[LoweredPredicate]) -> LoweredPredicate:
    """Join predicates that were lowered one by one by AND."""
    if len(parts) == 1:
        return parts[0]
    conjuncts = tuple(conjunct for part in parts for conjunct in part.conjuncts)
    predicate = _and([tree for _, tree in conjuncts])
    rewrites = tuple(rewrite for part in parts for rewrite in part.rewrites)
    sql = " AND ".join(part.sql for part in parts)
    lowered = LoweredPredicate(sql, predicate, conjuncts, render(predicate), rewrites[:MAX_REWRITES])
    asked = [part.now for part in parts if part.frozen is not None]
    if not asked:
        return lowered
    return replace(lowered, frozen=" AND ".join(f"({part.frozen_sql})" for part in parts), now=asked[0])


def refused(sql: str, reason: str, remedy: str) -> LoweredPredicate:
    """Return a predicate of which nothing can be lowered."""
    whole = Unsupported(sql.strip(), reason, remedy)
    return LoweredPredicate(sql, whole, ((sql.strip(), whole),), render(whole))


def _guarded(root: exp.Expr, conditions: Conditions) -> Predicate:
    """Lower a conjunct so that it is not certainly TRUE for a row on which a part of it raises."""
    lowered = _lower(root, conditions)
    guards = conditions.take_guards()
    return And((lowered, *guards)) if guards else lowered


def _lower(root: exp.Expr, conditions: Conditions) -> Predicate:
    """Lower a tree bottom up, chains of one connective as one node."""
    done: list[Predicate] = []
    stack: list[tuple[exp.Expr, int, int]] = [(root, 0, 1)]
    while stack:
        node, count, depth = stack.pop()
        children = [] if count else _children(node, conditions)
        if count:
            operands = tuple(done[-count:])
            done[-count:] = [_combine(node, operands, conditions)]
        elif children:
            if depth > MAX_DEPTH:
                raise PredicateSyntaxError(f"predicate: AND, OR and NOT are nested deeper than {MAX_DEPTH:,} levels")
            stack.append((node, len(children), depth))
            stack.extend((child, 0, depth + 1) for child in reversed(children))
        else:
            done.append(conditions.lower(node))
    return done.pop()


def _children(node: exp.Expr, conditions: Conditions) -> list[exp.Expr]:
    if isinstance(node, exp.Not):
        return [_without_double_negation(node)]
    if isinstance(node, exp.And):
        return join_date_parts(_operands(node, exp.And))
    if isinstance(node, exp.Is) and conditions.asks_truth(node):
        return [node.this]
    return _operands(node, exp.Or) if isinstance(node, exp.Or) else []


def _without_double_negation(node: exp.Not) -> exp.Expr:
    child = node.this
    while isinstance(child, exp.Not) and isinstance(child.this, exp.Not):
        child = child.this.this
    assert isinstance(child, exp.Expr)
    return child


def _combine(node: exp.Expr, operands: tuple[Predicate, ...], conditions: Conditions) -> Predicate:
    if isinstance(node, exp.Not):
        return conditions.negate(node, operands[0])
    if isinstance(node, exp.Is):
        return conditions.ask_truth(node, operands[0])
    is_or = isinstance(node, exp.Or)
    parts = put_known_values(lambda: _children(node, conditions), operands, conditions.lower_with, of_or=is_or)
    return (_or if is_or else _and)([*chain.from_iterable(parts)])


def _and(operands: Sequence[Predicate]) -> Predicate:
    joined = _joined(conjuncts(operands))
    known = join_equalities(operands if joined is None else joined, Op.NE)
    return _connected(And, known)


def _or(operands: Sequence[Predicate]) -> Predicate:
    joined = _joined(tuple(map(opposite, disjuncts(operands))))
    known = join_equalities(operands if joined is None else tuple(map(opposite, joined)), Op.EQ)
    return _connected(Or, known)


def _connected(connective: type[And | Or], operands: Sequence[Predicate]) -> Predicate:
    """Return operands connected; a part that is never TRUE, or never FALSE, says so by the NULL beside it: once."""
    found: list[Predicate] = []
    for operand in operands:
        match operand:
            case And((Unsupported(), *_) as parts) | Or((Unsupported(), *_) as parts) if type(operand) is connective:
                found += parts
            case _:
                found.append(operand)
    nulls = [i for i, part in enumerate(found) if part == _NULL]
    for i in reversed(nulls[1:]):
        del found[i]
    return connective(tuple(found)) if len(found) > 1 else found[0]


def _joined(conditions: tuple[Predicate, ...]) -> tuple[Predicate, ...] | None:
    """Return conditions of which all have to hold with those on one column joined, None where there is nothing to."""
    joined = narrow_choices(join_conditions(join_ranges(conditions)))
    same = len(joined) == len(conditions) and all(map(is_, joined, conditions))
    return None if same else joined


def _operands(node: exp.Expr, connective: type[exp.Expr]) -> list[exp.Expr]:
    """Return the operands of a chain of one connective, brackets inside it forgotten, from left to right."""
    found: list[exp.Expr] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, connective):
            stack += [part.args["expression"], part.args["this"]]
        else:
            found.append(part)
    return found
