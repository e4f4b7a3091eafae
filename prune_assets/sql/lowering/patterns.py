"""Lower conditions on strings: LIKE, regular expressions, and comparisons of string functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.arrow_arrays import scalar_of
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    Contains,
    EndsWith,
    IsNull,
    IsTruth,
    Not,
    Op,
    Or,
    StartsWith,
    Unsupported,
)
from prune_assets.sql.binding.fold_constants import fold_constants
from prune_assets.sql.functions.entry import AFFIXES, Role
from prune_assets.sql.functions.terms import NULL
from prune_assets.sql.functions.texts import KEEP_ONE_CASE
from prune_assets.sql.lowering.like import compare_start, every_value, like
from prune_assets.sql.lowering.regex_prefix import match_regex
from prune_assets.sql.lowering.string_calls import (
    compare_call,
    plain_text,
    read_call,
    read_start,
    read_string_start,
    read_text,
    read_value,
    role_of,
)
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.nodes import DEFAULT_ESCAPE, MIRRORED
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.lowering.string_calls import Start
    from prune_assets.sql.syntax.parsed import ParsedPredicate
    from prune_assets.sql.types.spark_values import SparkValue

# Each value becomes a separate leaf.
MAX_VALUES = 100
_AFFIXES: dict[Role | None, type[StartsWith | EndsWith | Contains]] = {
    Role.STARTS_WITH: StartsWith,
    Role.ENDS_WITH: EndsWith,
    Role.CONTAINS: Contains,
}
_CONDITIONS = frozenset({*AFFIXES, Role.LIKE, Role.ILIKE, Role.REGEX})


def lower_pattern(node: nodes.SyntaxNode, parsed: ParsedPredicate) -> Predicate | None:
    """Lower a condition on the text of a column; None for other conditions. Raises Refusal."""
    match node:
        case nodes.LikeTest(operand, pattern, escape):
            return _like(operand, pattern, escape)
        case nodes.LikeList():
            return _like_list(node)
        case nodes.ILike():
            raise Refusal("ILIKE ignores case, and bounds do not", KEEP_ONE_CASE)
        case nodes.RLike(operand, pattern):
            return _regex(node, operand, pattern, parsed)
        case nodes.Call() if role_of(node) in _CONDITIONS:
            return _condition_call(node, parsed)
        case _:
            return _compared(node)


def _condition_call(node: nodes.Call, parsed: ParsedPredicate) -> Predicate | None:
    role, operands = role_of(node), node.arguments
    if role is Role.ILIKE:
        raise Refusal("ILIKE ignores case, and bounds do not", KEEP_ONE_CASE)
    if role is Role.LIKE and len(operands) == 3:
        escape = read_text(operands[2])
        if escape is None or len(escape) != 1 or escape > "\uffff":
            raise Refusal("the escape is not a single character")
        return _like(operands[0], operands[1], escape)
    if len(operands) != 2:
        return None
    value, pattern = operands
    if role in _AFFIXES:
        return _affix(_AFFIXES[role], value, pattern)
    return _like(value, pattern, DEFAULT_ESCAPE) if role is Role.LIKE else _regex(node, value, pattern, parsed)


def _affix(
    leaf_class: type[StartsWith | EndsWith | Contains], operand: nodes.SyntaxNode, affix: nodes.SyntaxNode
) -> Predicate:
    start, value = read_start(operand), read_value(affix)
    if value.kind is ValueKind.NULL:
        return NULL
    literal = plain_text(start.column, value)
    if not literal:
        return every_value(start.column, holds=True)
    return _restrict_to_start(leaf_class(start.column.path, scalar_of(literal, start.column.type)), start)


def _like(operand: nodes.SyntaxNode, pattern: nodes.SyntaxNode, escape: str) -> Predicate:
    start, pattern_string = read_string_start(operand), read_text(pattern)
    return (
        NULL if pattern_string is None else _restrict_to_start(like(start.column.path, pattern_string, escape), start)
    )


def _like_list(node: nodes.LikeList) -> Predicate:
    conditions = [_like(node.operand, pattern, DEFAULT_ESCAPE) for pattern in _limited(node.patterns)]
    if node.negated:
        conditions = [Not(condition) for condition in conditions]
    if len(conditions) == 1:
        return conditions[0]
    return And(tuple(conditions)) if node.is_all else Or(tuple(conditions))


def _regex(
    node: nodes.SyntaxNode, operand: nodes.SyntaxNode, pattern: nodes.SyntaxNode, parsed: ParsedPredicate
) -> Predicate:
    start, regex = read_string_start(operand), read_text(pattern)
    if regex is None:
        return NULL
    if start.count is not None:
        raise Refusal("a regular expression on a part of a string is not supported", "match the plain column")
    why = "only the literal text at the beginning of a regular expression prunes"
    # The source `s NOT RLIKE 'a'` does not contain the text of the inner condition, `s RLIKE 'a'`.
    within_not = isinstance(node, nodes.RLike) and node.within_not
    sql = f"NOT ({parsed.text(node)})" if within_not else parsed.text(node)
    return match_regex(start.column.path, regex, Unsupported(sql, why, is_whole=True, source=parsed.part(node)))


def _restrict_to_start(leaf: Predicate, start: Start) -> Predicate:
    """Rewrite a leaf on the whole column as one on its first characters. Raises Refusal."""
    if start.count is None:
        return leaf
    match leaf:
        case StartsWith(_, prefix):
            return leaf if len(prefix.as_py()) <= max(start.count, 0) else every_value(start.column, holds=False)
        case Compare(_, op, value):
            return compare_start(start.column, start.count, op, value.as_py())
        case _:
            raise Refusal("this pattern may match beyond the characters that are compared", "match the plain column")


def _compared(node: nodes.SyntaxNode) -> Predicate | None:
    """Lower a comparison of a string function; None for other conditions."""
    match node:
        case nodes.Between() | nodes.ListTest() | nodes.InSubquery() | nodes.NullTest() | nodes.TruthTest():
            call = read_call(node.operand)
            return None if call is None else _lower_ordered(node, call)
        case nodes.NullSafe(left, right):
            op = Op.EQ
        case nodes.Comparison(left, right, op):
            pass
        case _:
            return None
    right = fold_constants(right)
    if not isinstance(right, nodes.Literal):
        left, right, op = right, fold_constants(left), MIRRORED.get(op, op)
    call = read_call(left) if isinstance(right, nodes.Literal) else None
    if call is None:
        return None
    if not isinstance(node, nodes.NullSafe):
        return compare_call(call, op, read_value(right))
    same = _same(call, read_value(right))
    return same if node.is_same else Not(same)


def _lower_ordered(node: nodes.SyntaxNode, call: Start) -> Predicate | None:
    match node:
        case nodes.Between():
            low, high = read_value(node.low), read_value(node.high)
            return And((compare_call(call, Op.GE, low), compare_call(call, Op.LE, high)))
        case nodes.ListTest() if listed := node.listed():
            values = [read_value(value) for value in _limited(listed)]
            conditions = tuple(compare_call(call, Op.EQ, value) for value in values)
            return conditions[0] if len(conditions) == 1 else Or(conditions)
        case nodes.NullTest():
            return IsNull(call.column.path)
        case _:
            return None


def _same(call: Start, value: SparkValue) -> Predicate:
    if value.kind is ValueKind.NULL:
        return IsNull(call.column.path)
    return IsTruth(compare_call(call, Op.EQ, value), Outcomes.TRUE)


def _limited(values: Sequence[nodes.SyntaxNode]) -> Sequence[nodes.SyntaxNode]:
    if len(values) > MAX_VALUES:
        raise Refusal(f"more than {MAX_VALUES} texts are not compared one by one")
    return values
