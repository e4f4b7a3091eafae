"""Comparisons of a column with literals, lowered to leaves whose values have the column's own type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquet_core.arrow_arrays import array_of, scalar_of
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import Compare, Constant, In, Op, Or
from prune_assets.errors import PredicateTypeError
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.date_literals import date_of_string
from prune_assets.sql.types.domain import (
    domain_of,
    is_any_read_wider,
    members,
    multiples,
    never,
    plain,
    snap,
    unequal_to_all,
)
from prune_assets.sql.types.floats import as_double, is_in_floats, snap_float
from prune_assets.sql.types.spark_values import DIGITS_OF_BITS, MAX_DIGITS, Kind, SparkValue
from prune_assets.sql.types.timestamps import INTERVALS, TIMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Predicate

NULL = Constant(Outcomes.NULL)
_LONG = 1 << 63
_EXACT = frozenset({Kind.INTEGER, Kind.DECIMAL})
_NUMBERS = _EXACT | {Kind.DOUBLE}
_FLOAT_INTEGERS = 1 << 24  # up to which a float holds every integer
_EXAMPLES = {"boolean": "TRUE or FALSE", "binary": "X'1C07'"}
_INTERVALS = INTERVALS | {Kind.INTERVAL}
# What Spark refuses to compare with ansi.enabled, by the family of the column.
_CLASHES = {
    "number": TIMES | _INTERVALS | {Kind.DATE, Kind.BOOLEAN},
    "date": _NUMBERS | {Kind.BOOLEAN} | _INTERVALS,
    "string": frozenset[Kind](),
    "float": TIMES | _INTERVALS | {Kind.DATE, Kind.BOOLEAN},
    "boolean": _NUMBERS | TIMES | _INTERVALS | {Kind.DATE},
    "binary": _NUMBERS | TIMES | _INTERVALS | {Kind.DATE, Kind.BOOLEAN},
}


def compare(column: LeafColumn, op: Op, value: SparkValue, *, ansi: bool) -> Predicate:
    """Return `column op value` as a leaf; raises Refusal, and PredicateTypeError where Spark would refuse."""
    if value.kind is Kind.NULL:
        return NULL
    _check(column, [value], ansi=ansi)
    domain = domain_of(column.type)
    if domain is not None:
        return snap(column.path, domain, op, value)
    if pa.types.is_floating(column.type):
        return snap_float(column.path, column.type, op, _as_double(value))
    return Compare(column.path, op, scalar_of(_stored(column, value), column.type))


def is_in(column: LeafColumn, values: Sequence[SparkValue], *, ansi: bool) -> Predicate:
    """Return `column IN values` as leaves; raises as `compare` does."""
    known = [value for value in values if value.kind is not Kind.NULL]
    if not known:
        return NULL
    _check(column, known, ansi=ansi)
    if _family(column) == "float" and any(value.kind is Kind.STRING for value in known):
        raise Refusal("what a string among numbers is cast to depends on the others", "write double('NaN')")
    found = _membership(column, known)
    return found if len(known) == len(values) else Or((found, NULL))


def _membership(column: LeafColumn, values: list[SparkValue]) -> Predicate:
    domain = domain_of(column.type)
    if pa.types.is_floating(column.type):
        return is_in_floats(column.path, column.type, map(_as_double, values))
    if domain is None:
        return _is_one_of(column, list(dict.fromkeys(_stored(column, value) for value in values)))
    kept = [plain(domain, number) for number in members(domain, values)]
    if not kept:
        finer = pa.types.is_decimal(domain.type) and not multiples(domain, values)
        return unequal_to_all(column.path, Op.EQ) if finer else never(column.path, domain)
    found = _is_one_of(column, kept)
    return Or((found, never(column.path, domain))) if is_any_read_wider(domain, values) else found


def _is_one_of(column: LeafColumn, kept: list[Any]) -> Predicate:
    if len(kept) == 1:
        return Compare(column.path, Op.EQ, scalar_of(kept[0], column.type))
    return In(column.path, array_of(kept, column.type))


def _check(column: LeafColumn, values: list[SparkValue], *, ansi: bool) -> None:
    family = _family(column)
    for value in values:
        if ansi and value.kind in _CLASHES[family]:
            raise PredicateTypeError(
                f"column {column.name} is {_type_name(column)} and cannot be compared "
                f"with a literal of kind {value.kind}"
            )
        if value.kind is Kind.DOUBLE and family == "number":
            raise Refusal("Spark compares this as double, which rounds", "write the literal without E, D or F")
        if value.value is None:
            raise Refusal(f"this {value.kind} literal has no value that is certain before Spark runs")
    domain = domain_of(column.type)
    if domain is not None:
        _check_numbers(values)
    elif family == "date":
        _check_dates(values)
    elif family == "string":
        _check_strings(values)
    elif family == "float":
        _check_floats(column, values, ansi=ansi)
    elif any(value.kind != family for value in values):
        raise Refusal(f"Spark casts what is compared with a {family}", f"write {_EXAMPLES[family]}")


def is_rounded(
    column: LeafColumn, values: Sequence[SparkValue], *, count_digits: bool, are_written_ends: bool = False
) -> bool:
    """Tell whether Spark rounds exact numbers, or the column's, to compare them in one type of decimals.

    `count_digits`: an integer counts with the digits that it is written with, as beside an operator, not in a list.
    `are_written_ends`: each is a literal beside one of `< <= > >=`, to which a whole number is compared exactly.
    """
    if is_whole(column) and (are_written_ends or all(value.kind is Kind.INTEGER for value in values)):
        return False
    domain = domain_of(column.type)
    if domain is None:
        return False
    exact = [value for value in values if value.is_exact_number]
    whole = _most_before_point(column, exact, count_digits=count_digits)
    scale = max((value.scale for value in exact), default=0)
    return max(whole, domain.digits - domain.scale) + max(scale, domain.scale) > MAX_DIGITS


def is_column_rounded(column: LeafColumn, values: Sequence[SparkValue], *, count_digits: bool) -> bool:
    """Tell whether it is the column that Spark rounds to compare it with exact numbers; `count_digits` as above."""
    domain = domain_of(column.type)
    exact = [value for value in values if value.is_exact_number]
    whole = _most_before_point(column, exact, count_digits=count_digits)
    return domain is not None and whole + domain.scale > MAX_DIGITS


def _most_before_point(column: LeafColumn, values: Sequence[SparkValue], *, count_digits: bool) -> int:
    """Return how many digits before the point the numbers have at most, as they count beside the column."""
    counts = count_digits and not is_whole(column)
    return max(
        (value.digits - value.scale if counts or not value.bits else DIGITS_OF_BITS[value.bits] for value in values),
        default=0,
    )


def is_whole(column: LeafColumn) -> bool:
    """Tell whether Spark reads a column as one of its types of whole numbers."""
    return bool(pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type))


def beyond_bigint(op: Op, value: SparkValue) -> Constant | None:
    """Return what a whole number compared with a literal beyond bigint is, null or not; None for other literals.

    Spark answers without asking the number: of a literal as it is written, not of what others come to, nor of a cast.
    """
    is_order = value.kind is Kind.DECIMAL and op not in {Op.EQ, Op.NE}
    if not is_order or -_LONG * 10**value.scale <= value.number <= (_LONG - 1) * 10**value.scale:
        return None
    return Constant(Outcomes.TRUE if (op in {Op.LT, Op.LE}) == (value.number > 0) else Outcomes.FALSE)


def _check_numbers(values: list[SparkValue]) -> None:
    for value in values:
        if value.kind is Kind.STRING:
            raise Refusal("Spark casts between number and string here", f"write {value.value!s} without quotes")
        if value.kind not in _EXACT:
            raise Refusal(f"a number compared with a {value.kind} is cast", "write a plain number")


def _check_dates(values: list[SparkValue]) -> None:
    kinds = {value.kind for value in values}
    if kinds == {Kind.DATE}:
        return
    if kinds != {Kind.STRING}:
        raise Refusal("a date compared with other types is cast", "write DATE 'yyyy-MM-dd'")
    if any(date_of_string(str(value.value)) is None for value in values):
        raise Refusal("only a string in the form yyyy-MM-dd surely means a date", "write DATE 'yyyy-MM-dd'")


def _check_strings(values: list[SparkValue]) -> None:
    for value in values:
        if value.kind in _EXACT:
            raise Refusal("Spark casts the strings of the column to numbers", "put the number in quotes")
        if value.kind is not Kind.STRING:
            raise Refusal(
                f"Spark casts the strings of the column to compare them with a {value.kind}", "write a string"
            )


def _check_floats(column: LeafColumn, values: list[SparkValue], *, ansi: bool) -> None:
    for value in values:
        if value.kind is Kind.STRING and as_double(value, ansi=ansi) is None:
            raise Refusal("Spark casts the string to a number here", f"write {value.value!s} without quotes")
        if value.kind not in _NUMBERS | {Kind.STRING}:
            raise Refusal(f"a float compared with a {value.kind} is cast", "write a plain number")
        # With ansi.enabled a FLOAT meets an integer as double, without as float: alike for what a float can hold.
        if value.kind is Kind.INTEGER and not ansi and pa.types.is_float32(column.type) and _as_float_rounds(value):
            raise Refusal("Spark compares this as float, which rounds", "write the literal with D")


def _as_float_rounds(value: SparkValue) -> bool:
    magnitude = abs(value.number)
    return magnitude > _FLOAT_INTEGERS and magnitude % (1 << magnitude.bit_length() - 24) != 0


def _as_double(value: SparkValue) -> float:
    double = as_double(value)
    assert double is not None
    return double


def _stored(column: LeafColumn, value: SparkValue) -> object:
    if _family(column) == "date" and value.kind is Kind.STRING:
        return date_of_string(str(value.value))
    return value.value


def _family(column: LeafColumn) -> str:
    if domain_of(column.type) is not None:
        return "number"
    if pa.types.is_date32(column.type):
        return "date"
    if pa.types.is_string(column.type):
        return "string"
    if pa.types.is_floating(column.type):
        return "float"
    if pa.types.is_boolean(column.type):
        return "boolean"
    if pa.types.is_binary(column.type):
        return "binary"
    raise Refusal(f"columns of type {column.type} are not pruned on yet")


def _type_name(column: LeafColumn) -> str:
    return "date" if pa.types.is_date32(column.type) else str(column.type)
