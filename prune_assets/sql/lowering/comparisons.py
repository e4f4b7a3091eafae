"""Lower comparisons of constants with chains of functions on a column, branch by branch.

A column without functions is a chain too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Cause,
    Compare,
    Constant,
    IsNaN,
    IsNull,
    IsTruth,
    OnPartitions,
    Op,
    Or,
    Unsupported,
)
from prune_assets.errors import PredicateTypeError
from prune_assets.sql.functions.coercion import (
    as_decimal,
    check_casts,
    common_type,
    has_too_many_digits,
    to_type,
    wider,
)
from prune_assets.sql.functions.terms import Chain, Fixed, both, pairs
from prune_assets.sql.lowering.column_comparisons import compare_columns, same_columns
from prune_assets.sql.lowering.column_values import (
    ClassifiedValues,
    as_predicate,
    classify_values,
    does_not_raise,
    intersect,
    is_null_predicate,
    is_text,
    only_out_of_domain,
    ordinals_satisfying,
    values_of,
)
from prune_assets.sql.lowering.row_tests import RowTest
from prune_assets.sql.refusal import Refusal, zone_needed
from prune_assets.sql.simplify.flatten import inverse
from prune_assets.sql.simplify.rules import all_of
from prune_assets.sql.syntax.nodes import HOLDS, MIRRORED
from prune_assets.sql.types.date_literals import date_of_string
from prune_assets.sql.types.ranges import NOTHING, ValueRanges, joined, span, union
from prune_assets.sql.types.spark_types import DATE, ON_UNKNOWN_CLOCKS, TIMESTAMP, TIMESTAMP_NTZ
from prune_assets.sql.types.spark_values import SparkValue, ValueKind, kind_text
from prune_assets.sql.types.timestamps import TIMES
from prune_assets.sql.types.zones import DAY, most_shift

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.functions.terms import Term, Value
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.types.spark_types import SparkType

_OF_CHAINS = "a comparison with a function of another column is not supported"
_LONG = 1 << 63
_TRUE, _FALSE, _NULL = (Constant(outcome) for outcome in (Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL))


class Comparisons:
    """Lowers conditions on terms.

    `sql`: source of the whole condition.
    `raising`: list to which lowering adds predicates. All of them are TRUE for a row on which nothing raises. Without
    ansi.enabled nothing raises, but the result that Spark returns instead (a wrapped number or NULL) is unknown.
    `on_rows`: if True, a condition that ranges of values cannot express is tested on rows; otherwise it is refused.
    """

    def __init__(self, sql: str, raising: list[Predicate], semantics: SparkSemantics, *, on_rows: bool) -> None:
        self._sql = sql
        self._raising = raising
        self._semantics = semantics
        self._on_rows = on_rows

    def compare(self, left: Term, op: Op, right: Term) -> Predicate:
        """Return `left op right`. Raises Refusal."""
        return any_of([(guard, self._compare(value, op, other)) for guard, value, other in pairs(left, right)])

    def between(self, term: Term, low: Term, high: Term) -> Predicate:
        """Return `low <= term AND term <= high`, as one range if possible. Raises Refusal."""
        value, least, most = term.single, low.single, high.single
        if isinstance(value, Chain) and isinstance(least, Fixed) and isinstance(most, Fixed) and value.type.is_ordinal:
            self._check([value, least, most], are_compared=True)
            if not (least.is_null or most.is_null):
                self._refuse_clash(value, least)
                self._refuse_clash(value, most)
                lower = self._classify_comparison(value, Op.GE, least)
                upper = self._classify_comparison(value, Op.LE, most)
                both = intersect(lower, upper)
                if both is not None and lower.true and upper.true and not any(both[1:5]):
                    return And((IsNull(value.column.path), _NULL))  # reversed ends: FALSE except for null
                if both is not None:
                    return self._predicate(both)
        return all_of((self.compare(term, Op.GE, low), self.compare(term, Op.LE, high)))

    def is_in(self, term: Term, listed: Sequence[Term]) -> Predicate:
        """Return `term IN listed`, where the list has only constants. Raises Refusal."""
        values = [member.single for member in listed]
        constants = [value for value in values if isinstance(value, Fixed)]
        if len(constants) < len(values):
            raise Refusal("the list of IN has operands that are not literals", "write literals")
        return any_of([(branch.guard, self._is_in(branch.value, constants)) for branch in term.branches])

    def is_null(self, term: Term) -> Predicate:
        """Return `term IS NULL`, which is never NULL itself."""
        return any_of([(branch.guard, self._is_null(branch.value)) for branch in term.branches])

    def is_nan(self, term: Term) -> Predicate:
        """Return `isnan(term)`, FALSE for NULL. Raises Refusal."""
        return any_of([(branch.guard, self._is_nan(branch.value)) for branch in term.branches])

    def null_safe(self, left: Term, right: Term) -> Predicate:
        """Return `left <=> right`. Raises Refusal."""
        return any_of([(guard, self._null_safe(value, other)) for guard, value, other in pairs(left, right)])

    def truth(self, term: Term) -> Predicate:
        """Return a boolean term as a condition. Raises Refusal."""
        return any_of([(branch.guard, self._truth(branch.value)) for branch in term.branches])

    def _compare(self, left: Value, op: Op, right: Value) -> Predicate:
        if isinstance(left, Fixed):
            left, op, right = right, MIRRORED.get(op, op), left
        if isinstance(left, Fixed) and isinstance(right, Fixed):
            self._check([left, right], are_compared=True)
            return _compare_constants(left, op, right)
        assert isinstance(left, Chain)
        if isinstance(right, Chain):
            return self._compare_chains(left, op, right)
        if right.is_null:
            return _NULL
        self._refuse_clash(left, right)
        if not left.type.is_ordinal:
            return Compare(left.column.path, op, scalar_of(_comparable_string(left, right), left.column.type))
        self._check([left, right], are_compared=True)
        if op is Op.NE:
            return inverse(self._compare(left, Op.EQ, right))
        classified = self._classify_comparison(left, op, right)
        between = op is Op.EQ and self._lies_between(left, right, classified)
        return And((IsNull(left.column.path), _NULL)) if between else self._predicate(classified)

    def _are_cast(self, left: Chain, right: Chain) -> bool:
        """Return whether Spark casts one of two compared columns, except between numbers; False unless `on_rows`."""
        return self._on_rows and left.type != right.type and not (left.type.is_number and right.type.is_number)

    def _compare_chains(self, left: Chain, op: Op, right: Chain) -> Predicate:
        """Return a comparison of chains. If one has functions, the comparison is tested on rows. Raises Refusal."""
        if _is_column(left) and _is_column(right) and not self._are_cast(left, right):
            return compare_columns(left.column, op, right.column, ansi=self._semantics.ansi)
        if not self._on_rows:
            raise Refusal(_OF_CHAINS)
        self._check([left, right], are_compared=True)
        kinds = {left.type.kind, right.type.kind}
        if has_too_many_digits([left.type, right.type]) or kinds == {ValueKind.DECIMAL, ValueKind.DOUBLE}:
            raise Refusal("Spark rounds one of the numbers to compare them")
        common = wider(left.type, right.type)
        chains = [value for value in (to_type(left, common), to_type(right, common)) if isinstance(value, Chain)]
        return self._tested(RowTest(tuple(chains), op), Refusal(_OF_CHAINS))

    def _tested(self, test: RowTest, refusal: Refusal) -> OnPartitions:
        """Return a condition that is tested on rows. Raises Refusal if its functions cannot be evaluated."""
        functions = [function for chain in test.chains for function in chain.functions]
        if any(it.doubt or it.needs_zone or it.result == ON_UNKNOWN_CLOCKS for it in functions):
            raise zone_needed()
        if not all(function.is_evaluated for function in functions):
            raise refusal
        return OnPartitions(test.columns, Unsupported(self._sql, ""), test)

    def _lies_between(self, chain: Chain, constant: Fixed, equal: ClassifiedValues) -> bool:
        """Return whether a constant is between two adjacent values of a decimal column.

        Then `=` is FALSE for every value.
        """
        if chain.type.kind is not ValueKind.DECIMAL or chain.functions or equal.true or equal.raises or equal.uncertain:
            return False
        return all(self._classify_comparison(chain, op, constant).true for op in (Op.LT, Op.GT))

    def _classify_comparison(self, chain: Chain, op: Op, constant: Fixed) -> ClassifiedValues:
        """Group the column's values by the outcome of a comparison."""
        _refuse_rounded_order(chain, op, constant)
        constant = _parsed_time(constant, chain.type)
        common = wider(chain.type, constant.type, right_digits=constant.digits)
        written = None if chain.functions else op
        # Spark casts the literal to a local time, not the column or expression. It does cast a computed DATE.
        is_local = not common.is_unzoned and (written is not None or chain.type == TIMESTAMP_NTZ)
        if is_local and (local := _local_range(chain.type, op, constant)) is not None:
            return self._classified(chain, local, written=written)
        value, limit = to_type(chain, common), to_type(constant, common)
        assert isinstance(value, Chain)
        assert isinstance(limit, Fixed)
        if limit.ordinal is None:
            raise Refusal(f"{common} is not supported here")
        wanted = ordinals_satisfying(op, limit.ordinal, common.least, common.greatest)
        doubt = _doubt(chain, [constant], [limit])
        return self._classified(value, wanted, written=written, doubt=doubt)

    def _classified(
        self, chain: Chain, wanted: ValueRanges, *, written: Op | None = None, doubt: int = 0
    ) -> ClassifiedValues:
        try:
            classified = classify_values(chain, wanted, written=written, doubt=doubt)
        except Refusal as refusal:
            if not self._on_rows or doubt:
                raise
            test = self._tested(RowTest((chain,), wanted), refusal)
            return ClassifiedValues(values_of(chain.column), NOTHING, NOTHING, NOTHING, NOTHING, test=test)
        if self._semantics.ansi:
            return classified
        return classified._replace(raises=NOTHING, uncertain=union(classified.raises, classified.uncertain))

    def _refuse_clash(self, chain: Chain, constant: Fixed) -> None:
        """Raise PredicateTypeError if Spark refuses to compare a column with a constant."""
        families = [_family(value.type.kind) for value in (chain, constant)]
        is_known = None not in families and constant.type.kind is not ValueKind.BINARY
        if self._semantics.ansi and not chain.functions and is_known and families[0] != families[1]:
            raise PredicateTypeError(
                f"column {chain.column.name} is {chain.type} and cannot be compared with "
                f"{kind_text(constant.type.kind)}{_quoted_hint(chain.type, constant.type)}"
            )

    def _check(self, values: Sequence[Value], *, are_compared: bool = False) -> None:
        check_casts(values, self._semantics, are_compared=are_compared)

    def _is_in(self, value: Value, constants: Sequence[Value]) -> Predicate:
        self._check([value, *constants], are_compared=all(map(_is_iso_date, constants)))
        fixed = [constant for constant in constants if isinstance(constant, Fixed) and not constant.is_null]
        if not fixed:
            return _NULL
        predicate = self._is_one_of(value, fixed)
        return predicate if len(fixed) == len(constants) else Or((predicate, _NULL))

    def _is_one_of(self, value: Value, constants: Sequence[Fixed]) -> Predicate:
        if isinstance(value, Chain):
            for constant in {constant.type: constant for constant in constants}.values():
                self._refuse_clash(value, constant)
            if not value.type.is_ordinal:
                return is_text(value.column, [_comparable_string(value, constant) for constant in constants])
        kinds = {constant.type.kind for constant in (value, *constants)} - {ValueKind.NULL}
        if ValueKind.STRING in kinds and len(kinds) > 2:
            raise Refusal("the type to which Spark casts the list depends on its order", "write values of one type")
        constants = [_parsed_time(constant, value.type) for constant in constants]
        common = common_type([value, *constants])
        cast = [converted for constant in constants if isinstance(converted := to_type(constant, common), Fixed)]
        if any(converted.plain is not None for converted in cast):
            raise Refusal(f"{common} is not supported here")
        ordinals = [converted.ordinal for converted in cast if converted.ordinal is not None]
        written = None if isinstance(value, Chain) and value.functions else Op.EQ
        doubt = _doubt(value, constants, cast)
        value = to_type(value, common)
        if isinstance(value, Fixed) and (doubt or value.doubt):
            raise zone_needed()
        if isinstance(value, Fixed):
            return _NULL if value.is_null else (_TRUE if value.ordinal in ordinals else _FALSE)
        points = ValueRanges(tuple((ordinal, ordinal) for ordinal in sorted(set(ordinals))))
        classified = self._classified(value, points if written else joined(points.pairs), written=written, doubt=doubt)
        held = sum(last - first + 1 for first, last in classified.true.pairs)
        if 0 < held < len(points.pairs) and classified.column.arrow in {pa.uint8(), pa.uint16()}:
            return Or((self._predicate(classified), only_out_of_domain(classified.column)))
        return self._predicate(classified)

    def _is_null(self, value: Value) -> Predicate:
        if isinstance(value, Fixed):
            return _TRUE if value.is_null else _FALSE
        if not value.functions:
            return IsNull(value.column.path)
        classified = self._classified(value, joined(()))
        self._note(classified)
        return is_null_predicate(classified, self._sql)

    def _is_nan(self, value: Value) -> Predicate:
        if value.type.kind is not ValueKind.DOUBLE:
            raise Refusal("isnan() casts an operand that is not a float")
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
        if _is_column(left) and _is_column(right) and not self._are_cast(left, right):
            return same_columns(left.column, right.column, ansi=self._semantics.ansi)
        same = self._compare(left, Op.EQ, right)
        if isinstance(right, Chain):
            return Or((IsTruth(same, Outcomes.TRUE), And((self._is_null(left), self._is_null(right)))))
        if isinstance(left, Fixed):
            return _TRUE if same == _TRUE else _FALSE
        return IsTruth(same, Outcomes.TRUE)

    def _truth(self, value: Value) -> Predicate:
        if value.type.kind is ValueKind.NULL:
            return _NULL
        if value.type.kind is not ValueKind.BOOLEAN:
            raise Refusal(f"a {value.type} is not a condition", "compare it with something")
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


def beyond_bigint(op: Op, value: SparkValue) -> Constant | None:
    """Return the outcome of comparing an integer with a literal beyond bigint; None for other literals.

    Spark folds this comparison without reading the number, so the outcome also holds for null. It does so only for a
    plain literal, not for other constants or a cast.
    """
    is_order = value.kind is ValueKind.DECIMAL and op not in {Op.EQ, Op.NE}
    if not is_order or -_LONG * 10**value.scale <= value.number <= (_LONG - 1) * 10**value.scale:
        return None
    return Constant(Outcomes.TRUE if (op in {Op.LT, Op.LE}) == (value.number > 0) else Outcomes.FALSE)


def any_of(branches: Sequence[tuple[Predicate | None, Predicate]]) -> Predicate:
    """Return the predicate of the branch whose guard is TRUE.

    Guards are never NULL, and exactly one of them is TRUE.
    """
    if (len(branches) == 1 and branches[0][0] is None) or all(outcome == _NULL for _, outcome in branches):
        return branches[0][1]
    parts = [_guarded(guard, outcome) for guard, outcome in branches if outcome != _FALSE]
    if not parts:
        return _FALSE
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


def _guarded(guard: Predicate | None, outcome: Predicate) -> Predicate:
    if guard is None or outcome == _TRUE:
        return outcome if guard is None else guard
    return both(guard, outcome)


def _compare_constants(left: Fixed, op: Op, right: Fixed) -> Predicate:
    if left.is_null or right.is_null:
        return _NULL
    if left.plain is not None and right.plain is not None and left.type == right.type:
        return _TRUE if HOLDS[op](_bytes(left.plain), _bytes(right.plain)) else _FALSE
    _refuse_rounded_order(left, op, right)
    common = wider(left.type, right.type, left_digits=left.digits, right_digits=right.digits)
    _refuse_skipped_times(left, right)
    left_cast, right_cast = to_type(left, common), to_type(right, common)
    if (
        not isinstance(left_cast, Fixed)
        or not isinstance(right_cast, Fixed)
        or left_cast.ordinal is None
        or right_cast.ordinal is None
    ):
        raise Refusal("the comparison has no column")
    doubt = left_cast.doubt + _doubt(left, [right], [right_cast])
    if doubt and abs(left_cast.ordinal - right_cast.ordinal) <= doubt:
        raise zone_needed()
    return _TRUE if HOLDS[op](left_cast.ordinal, right_cast.ordinal) else _FALSE


def _parsed_time(constant: Fixed, beside: SparkType) -> Fixed:
    """Convert a text that is compared with a timestamp in an unknown zone to a time; other constants do not change."""
    if constant.type.kind is not ValueKind.STRING or not beside.is_unzoned:
        return constant
    parsed = to_type(constant, beside)
    assert isinstance(parsed, Fixed)
    return parsed


def _doubt(value: Value, constants: Sequence[Fixed], cast: Sequence[Fixed]) -> int:
    """Return the largest error of constants under an unknown zone, in microseconds.

    `constants`: the constants as written.
    `cast`: the constants cast to the type of the comparison.

    In an unknown zone an instant is cast to a local time, which includes its maximum error. Spark compares instants:
    where clocks change, two instants are nearer or further apart than their local times.
    """
    doubts = [converted.doubt for converted in cast]
    for i, (constant, converted) in enumerate(zip(constants, cast, strict=True)):
        if (
            converted.type == ON_UNKNOWN_CLOCKS
            and TIMESTAMP not in (value.type, constant.type)
            and converted.ordinal is not None
        ):
            doubts[i] += most_shift(converted.ordinal)
    return max(doubts, default=0)


def _refuse_rounded_order(left: Value, op: Op, right: Value) -> None:
    """Raise Refusal if Spark rounds to compare an integer with a decimal constant by `<` or `>`.

    Spark does not round the decimal if it is a literal.
    """
    for operand, other in ((left, right), (right, left)):
        if op not in MIRRORED or operand.type.kind is not ValueKind.INTEGER or other.type.kind is not ValueKind.DECIMAL:
            continue
        whole = as_decimal(operand.type, operand.digits if isinstance(operand, Fixed) else 0)
        if isinstance(other, Fixed) and has_too_many_digits([whole, other.type]):
            raise Refusal("Spark rounds this decimal, because it is not a literal", "write fewer digits")


def _bytes(value: SparkValue) -> bytes:
    """Return the bytes by which strings and binaries are compared."""
    if isinstance(value.value, str):
        return value.value.encode()
    assert isinstance(value.value, bytes)
    return value.value


_CLOCKS_CHANGE = (
    "the clocks of the session's time zone change near this time, so a later time may have a smaller value",
    "write TIMESTAMP_NTZ",
)


def _local_range(column: SparkType, op: Op, constant: Fixed) -> ValueRanges | None:
    """Return the days or local times that satisfy a comparison with `constant`; None for other types.

    Raises Refusal where clocks change.
    """
    wanted, zone = constant.ordinal, constant.type.zone
    if wanted is None or constant.type.kind not in TIMES:
        return None
    if column == TIMESTAMP_NTZ and zone is not None:
        if not zone.is_steady(wanted):
            # Spark casts the constant instead of the column, which gives another result where a local time is skipped.
            raise Refusal(*_CLOCKS_CHANGE, cause=Cause.CLOCKS_CHANGE)
        return ordinals_satisfying(op, zone.local(wanted), column.least, column.greatest)
    if column != DATE:
        return None
    # Spark casts a day to its midnight, which never moves backwards from one day to the next.
    near = (wanted if zone is None else zone.local(wanted)) // DAY
    starts = {day: day * DAY if zone is None else zone.start_of_day(day) for day in range(near - 3, near + 5)}
    reached = next(day for day, start in starts.items() if start >= wanted)
    passed = next(day for day, start in starts.items() if start > wanted)
    if op is Op.EQ:
        return span(reached, passed - 1)
    return ordinals_satisfying(op, passed - 1 if op in {Op.LE, Op.GT} else reached, column.least, column.greatest)


def _refuse_skipped_times(left: Fixed, right: Fixed) -> None:
    """Raise Refusal for two constants, a local time and an instant near a change of clocks, as for columns."""
    for operand, other in ((left, right), (right, left)):
        if operand.type == TIMESTAMP_NTZ:
            _local_range(operand.type, Op.EQ, other)


def _is_column(value: Value) -> TypeGuard[Chain]:
    return isinstance(value, Chain) and not value.functions


def _family(kind: ValueKind) -> ValueKind | None:
    """Return one kind that represents all kinds that Spark compares with each other; None for kinds that it casts."""
    if kind in {ValueKind.STRING, ValueKind.NULL, ValueKind.OTHER}:
        return None
    if kind in {ValueKind.DECIMAL, ValueKind.DOUBLE}:
        return ValueKind.INTEGER
    return ValueKind.DATE if kind in TIMES else kind


def _quoted_hint(column: SparkType, constant: SparkType) -> str:
    """Return the hint that a date needs quotes: Spark reads 2024-01-31 as the number 1992."""
    if not constant.is_number or column.kind not in {ValueKind.DATE, *TIMES}:
        return ""
    example = "DATE '2024-01-31'" if column.kind is ValueKind.DATE else "TIMESTAMP '2024-01-31 12:00:00'"
    return f"; write the value in quotes, such as {example}"


def _comparable_string(chain: Chain, constant: Fixed) -> object:
    """Return the constant with which a string or binary column is compared. Raises Refusal for other types."""
    if constant.type == chain.type and constant.plain is not None and not chain.functions:
        return constant.plain.value
    if chain.type.kind is ValueKind.BINARY:
        raise Refusal("Spark casts values that are compared with a binary column", "write X'1C07'")
    if constant.type.kind in {ValueKind.INTEGER, ValueKind.DECIMAL}:
        raise Refusal(
            "Spark casts the strings of the column to numbers; with ansi.enabled it raises an error "
            "for a string that is not a number",
            "put the number in quotes",
        )
    raise Refusal(
        f"Spark casts the strings of the column to compare them with a {constant.type.kind}", "write a string"
    )


def _is_iso_date(constant: Value) -> bool:
    """Return whether a constant is not a text, or is a text yyyy-MM-dd.

    Such a text has the same meaning as a text and as a date.
    """
    string = constant.plain.value if isinstance(constant, Fixed) and constant.plain is not None else None
    return not isinstance(string, str) or (len(string) == len("2024-01-01") and date_of_string(string) is not None)
