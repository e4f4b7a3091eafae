"""Comparisons of terms: chains of functions on a column beside constants, branch by branch."""

from __future__ import annotations

from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Constant, IsNaN, IsNull, IsTruth, Op, Or
from prune_assets.sql.functions.coercion import (
    as_decimal,
    check_casts,
    common_type,
    has_too_many_digits,
    to_type,
    wider,
)
from prune_assets.sql.functions.terms import Chain, Fixed, both, pairs, without_literals
from prune_assets.sql.lowering.comparisons import compare, is_in
from prune_assets.sql.lowering.function_chains import (
    as_predicate,
    classify_values,
    does_not_raise,
    intersect,
    is_null_predicate,
    wanted_by,
)
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax.operators import MIRRORED
from prune_assets.sql.types.ranges import NOTHING, joined, union
from prune_assets.sql.types.spark_values import Kind, SparkValue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_core.predicate import Predicate
    from prune_assets.semantics import SparkSemantics
    from prune_assets.sql.functions.terms import Term, Value
    from prune_assets.sql.lowering.function_chains import ClassifiedValues
    from prune_assets.sql.types.ranges import Ranges

_TRUE, _FALSE, _NULL = (Constant(outcome) for outcome in (Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL))
_HOLDS: dict[Op, Callable[[Any, Any], bool]] = {Op.EQ: eq, Op.NE: ne, Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}


class TermComparisons:
    """Lowers conditions on terms; `sql` is the source of the whole condition, `raising` collects what may not match.

    Each of `raising` is TRUE for every row on which nothing raises. Without ansi.enabled nothing does: what Spark comes
    to instead, a number wrapped around or NULL, is not known.
    """

    def __init__(self, sql: str, raising: list[Predicate], semantics: SparkSemantics) -> None:
        self._sql = sql
        self._raising = raising
        self._semantics = semantics

    def compare(self, left: Term, op: Op, right: Term) -> Predicate:
        """Return `left op right`; raises Refusal."""
        return any_of([(guard, self._compare(one, op, other)) for guard, one, other in pairs(left, right)])

    def between(self, term: Term, low: Term, high: Term) -> Predicate:
        """Return `low <= term AND term <= high`, as one range where it is one; raises Refusal."""
        value, least, most = term.single, low.single, high.single
        if isinstance(value, Chain) and isinstance(least, Fixed) and isinstance(most, Fixed):
            self._check([value, least, most], are_compared=True)
            lower, upper = self._classify_comparison(value, Op.GE, least), self._classify_comparison(value, Op.LE, most)
            both = None if lower is None or upper is None else intersect(lower, upper)
            if both is not None:
                return self._predicate(both)
        return And((self.compare(term, Op.GE, low), self.compare(term, Op.LE, high)))

    def is_in(self, term: Term, listed: Sequence[Term]) -> Predicate:
        """Return `term IN listed`, the list being constants; raises Refusal."""
        values = [member.single for member in listed]
        constants = without_literals([value for value in values if isinstance(value, Fixed)])
        if len(constants) < len(values):
            raise Refusal("the list of IN holds more than literals", "write literals")
        return any_of([(branch.guard, self._is_in(branch.value, constants)) for branch in term.branches])

    def is_null(self, term: Term) -> Predicate:
        """Return `term IS NULL`, never NULL itself."""
        return any_of([(branch.guard, self._is_null(branch.value)) for branch in term.branches])

    def is_nan(self, term: Term) -> Predicate:
        """Return `isnan(term)`, FALSE for NULL; raises Refusal."""
        return any_of([(branch.guard, self._is_nan(branch.value)) for branch in term.branches])

    def null_safe(self, left: Term, right: Term) -> Predicate:
        """Return `left <=> right`; raises Refusal."""
        return any_of([(guard, self._null_safe(one, other)) for guard, one, other in pairs(left, right)])

    def truth(self, term: Term) -> Predicate:
        """Return a term of type boolean as a condition; raises Refusal."""
        return any_of([(branch.guard, self._truth(branch.value)) for branch in term.branches])

    def _compare(self, left: Value, op: Op, right: Value) -> Predicate:
        self._check([left, right], are_compared=True)
        if isinstance(left, Fixed):
            left, op, right = right, MIRRORED.get(op, op), left
        if isinstance(left, Fixed) and isinstance(right, Fixed):
            return _of_constants(left, op, right)
        if not isinstance(right, Fixed):
            raise Refusal("two columns are not compared yet")
        assert isinstance(left, Chain)
        if not left.functions and left.type == right.type and right.plain is not None:
            return compare(left.column, op, right.plain, ansi=True)
        found = self._classify_comparison(left, op, right)
        return _NULL if found is None else self._predicate(found)

    def _classify_comparison(self, chain: Chain, op: Op, constant: Fixed) -> ClassifiedValues | None:
        """Sort the column's values by a comparison, None for one with NULL."""
        if constant.is_null:
            return None
        _refuse_rounded_order(chain, op, constant)
        common = wider(chain.type, constant.type, right_digits=constant.digits)
        value, limit = to_type(chain, common), to_type(constant, common)
        assert isinstance(value, Chain)
        assert isinstance(limit, Fixed)
        if limit.ordinal is None:
            raise Refusal(f"{common} is not turned into a range here")
        return self._classified(value, wanted_by(op, limit.ordinal, common.least, common.greatest))

    def _classified(self, chain: Chain, wanted: Ranges) -> ClassifiedValues:
        found = classify_values(chain, wanted)
        if self._semantics.ansi:
            return found
        return found._replace(raises=NOTHING, uncertain=union(found.raises, found.uncertain))

    def _check(self, values: Sequence[Value], *, are_compared: bool = False) -> None:
        check_casts(values, self._semantics, are_compared=are_compared)

    def _is_in(self, value: Value, constants: Sequence[Value]) -> Predicate:
        self._check([value, *constants])
        if isinstance(value, Chain) and not value.functions and _are_plain(value, constants):
            return is_in(value.column, [_literal(constant) for constant in constants], ansi=True)
        kinds = {constant.type.kind for constant in (value, *constants)} - {Kind.NULL}
        if Kind.STRING in kinds and len(kinds) > 2:
            raise Refusal("what the list is cast to depends on its order", "write values of one type")
        common = common_type(without_literals([value, *constants]))
        cast = [to_type(constant, common) for constant in constants]
        ordinals = [one.ordinal for one in cast if isinstance(one, Fixed) and one.ordinal is not None]
        if any(isinstance(one, Fixed) and one.plain is not None for one in cast):
            raise Refusal(f"{common} is not turned into a range here")
        value = to_type(value, common)
        if isinstance(value, Fixed):
            found: Predicate = _NULL if value.is_null else (_TRUE if value.ordinal in ordinals else _FALSE)
        else:
            found = self._predicate(self._classified(value, joined((ordinal, ordinal) for ordinal in ordinals)))
        return found if len(ordinals) == len(constants) else Or((found, _NULL))

    def _is_null(self, value: Value) -> Predicate:
        if isinstance(value, Fixed):
            return _TRUE if value.is_null else _FALSE
        if not value.functions:
            return IsNull(value.column.path)
        found = self._classified(value, joined(()))
        self._note(found)
        return is_null_predicate(found, self._sql)

    def _is_nan(self, value: Value) -> Predicate:
        if value.type.kind is not Kind.DOUBLE:
            raise Refusal("isnan() of what is no float is a cast")
        nan = value.type.nan
        if isinstance(value, Fixed):
            return _TRUE if value.ordinal == nan else _FALSE
        if not value.functions:
            return IsNaN(value.column.path)
        return IsTruth(self._predicate(self._classified(value, joined([(nan, nan)]))), Outcomes.TRUE)

    def _null_safe(self, left: Value, right: Value) -> Predicate:
        if isinstance(left, Fixed):
            left, right = right, left
        if isinstance(right, Fixed) and right.is_null:
            return self._is_null(left)
        return IsTruth(self._compare(left, Op.EQ, right), Outcomes.TRUE)

    def _truth(self, value: Value) -> Predicate:
        if value.type.kind is Kind.NULL:
            return _NULL
        if value.type.kind is not Kind.BOOLEAN:
            raise Refusal(f"a {value.type} is no condition", "compare it with something")
        if isinstance(value, Fixed):
            return _NULL if value.ordinal is None else (_TRUE if value.ordinal else _FALSE)
        return self._predicate(self._classified(value, joined([(1, 1)])))

    def _predicate(self, values: ClassifiedValues) -> Predicate:
        self._note(values)
        return as_predicate(values, self._sql)

    def _note(self, values: ClassifiedValues) -> None:
        guard = does_not_raise(values)
        if guard is not None:
            self._raising.append(guard)


def any_of(branches: Sequence[tuple[Predicate | None, Predicate]]) -> Predicate:
    """Return what the branch comes to whose guard holds; guards are never NULL and one of them is TRUE."""
    if len(branches) == 1 and branches[0][0] is None:
        return branches[0][1]
    parts = [_guarded(guard, outcome) for guard, outcome in branches if outcome != _FALSE]
    if not parts:
        return _FALSE
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


def _guarded(guard: Predicate | None, outcome: Predicate) -> Predicate:
    if guard is None or outcome == _TRUE:
        return outcome if guard is None else guard
    return both(guard, outcome)


def _of_constants(left: Fixed, op: Op, right: Fixed) -> Predicate:
    if left.is_null or right.is_null:
        return _NULL
    if left.plain is not None and right.plain is not None and left.type == right.type:
        return _TRUE if _HOLDS[op](_bytes(left.plain), _bytes(right.plain)) else _FALSE
    _refuse_rounded_order(left, op, right)
    common = wider(left.type, right.type, left_digits=left.digits, right_digits=right.digits)
    one, other = to_type(left, common), to_type(right, common)
    if not isinstance(one, Fixed) or not isinstance(other, Fixed) or one.ordinal is None or other.ordinal is None:
        raise Refusal("no column is asked about")
    return _TRUE if _HOLDS[op](one.ordinal, other.ordinal) else _FALSE


def _refuse_rounded_order(left: Value, op: Op, right: Value) -> None:
    """Raise Refusal for a whole number beside a decimal that is rounded to compare them, unless it is a literal."""
    for one, other in ((left, right), (right, left)):
        if op not in MIRRORED or one.type.kind is not Kind.INTEGER or other.type.kind is not Kind.DECIMAL:
            continue
        whole = as_decimal(one.type, one.digits if isinstance(one, Fixed) else 0)
        if isinstance(other, Fixed) and has_too_many_digits([whole, other.type]):
            raise Refusal("Spark rounds this decimal, but where it is a literal", "write fewer digits")


def _bytes(value: SparkValue) -> bytes:
    """Return what texts and bytes are compared by."""
    if isinstance(value.value, str):
        return value.value.encode()
    assert isinstance(value.value, bytes)
    return value.value


def _are_plain(value: Chain, constants: Sequence[Value]) -> bool:
    """Tell whether all constants are texts or bytes, as the column is, and nothing is cast."""
    return not value.type.is_ordinal and all(
        isinstance(constant, Fixed) and (constant.is_null or constant.type == value.type) for constant in constants
    )


def _literal(constant: Value) -> SparkValue:
    assert isinstance(constant, Fixed)
    return SparkValue(Kind.NULL) if constant.plain is None else constant.plain
