"""Evaluate a lowered predicate for one row, in the simplest possible way."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from itertools import product
from operator import eq, ge, gt, le, lt, ne

import pyarrow as pa

from parquet_core.format.schema import Path
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    CompareColumns,
    Constant,
    Contains,
    EndsWith,
    In,
    Interval,
    IsNaN,
    IsNull,
    IsTruth,
    Like,
    Not,
    Op,
    Or,
    Pattern,
    Predicate,
    StartsWith,
    Unsupported,
    Wildcard,
    children_of,
)

EPOCH = date(1970, 1, 1).toordinal()
OPERATORS = {Op.EQ: eq, Op.NE: ne, Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}
CONSTANTS = {Outcomes.TRUE: True, Outcomes.FALSE: False, Outcomes.NULL: None}
OPPOSITES = {True: False, False: True, None: None}
RANKS = {False: 0, None: 1, True: 2}


def outcomes_of(predicate: Predicate, row: dict[str, object]) -> set[bool | None]:
    """Return the possible outcomes of the predicate for a row of Python values; one outcome unless it may raise."""
    match predicate:
        case Constant(outcomes):
            return {value for outcome, value in CONSTANTS.items() if outcome in outcomes}
        case Unsupported(null_with=paths) if any(value_of(path, row) is None for path in paths):
            return {None}
        case Unsupported():
            return set(CONSTANTS.values())
        case IsTruth(child, truth):
            return {answer is CONSTANTS[truth] for answer in outcomes_of(child, row)}
        case Not(child):
            return {OPPOSITES[answer] for answer in outcomes_of(child, row)}
        case And(children):
            return {min(answers, key=RANKS.get) for answers in product(*(outcomes_of(part, row) for part in children))}
        case Or(children):
            return {max(answers, key=RANKS.get) for answers in product(*(outcomes_of(part, row) for part in children))}
        case _:
            return {interpret(predicate, row)}


def may_raise(predicate: Predicate, row: dict[str, object]) -> bool:
    """True if a part of the predicate raises for the row or is unsupported; Spark may not evaluate that part."""
    match predicate:
        case Constant(Outcomes.UNKNOWN) | Unsupported():
            return True
        case And((left, Constant(Outcomes.UNKNOWN) | Unsupported())):
            return outcomes_of(left, row) == {True} or may_raise(left, row)
        case Or((left, Constant(Outcomes.UNKNOWN) | Unsupported())):
            return outcomes_of(left, row) == {False} or may_raise(left, row)
        case _:
            return any(may_raise(child, row) for child in children_of(predicate))


def interpret(predicate: Predicate, row: dict[str, object]) -> bool | None:
    """Return the result of a leaf for a row: True, False, or None for NULL."""
    match predicate:
        case IsNull(column):
            return value_of(column, row) is None
        case IsNaN(column):
            value = value_of(column, row)
            return isinstance(value, float) and math.isnan(value)
        case CompareColumns(left, op, right):
            values = value_of(left, row), value_of(right, row)
            if None in values:
                return None
            if any(isinstance(value, float) for value in values):
                values = tuple(map(float, values))
            return OPERATORS[op](*map(comparable, values))
        case Compare() | Interval() | In() | StartsWith() | EndsWith() | Contains() | Like():
            value = value_of(predicate.column, row)
            return None if value is None else of_value(predicate, comparable(value))
        case _:
            raise AssertionError(predicate)


def of_value(leaf: Compare | Interval | In | Pattern, value: object) -> bool:
    match leaf:
        case Compare(_, op, literal):
            return OPERATORS[op](value, comparable(plain(literal)))
        case Interval(_, low, high):
            return comparable(plain(low)) <= value <= comparable(plain(high))  # type: ignore[operator]
        case In(_, values):
            return value in map(comparable, map(plain, values))
        case _:
            return holds(leaf, value)


def holds(pattern: Pattern, value: object) -> bool:
    assert isinstance(value, bytes)
    match pattern:
        case StartsWith(_, text):
            return value.startswith(comparable(text.as_py()))  # type: ignore[arg-type]
        case EndsWith(_, text):
            return value.endswith(comparable(text.as_py()))  # type: ignore[arg-type]
        case Contains(_, text):
            return comparable(text.as_py()) in value  # type: ignore[operator]
        case Like(_, parts):
            expressions = {Wildcard.ANY: ".*", Wildcard.ONE: "."}
            regex = "".join(re.escape(part) if isinstance(part, str) else expressions[part] for part in parts)
            return re.fullmatch(regex, value.decode(), re.DOTALL) is not None


def value_of(column: Path, row: dict[str, object]) -> object:
    """Return the value at a path: null where a struct on the way is."""
    value: object = row
    for name in column:
        value = None if value is None else value[name]  # type: ignore[index]
    return value


def plain(literal: pa.Scalar) -> object:
    """Return a literal as Python's own; a date or time as its number, because Python's calendar ends."""
    return literal.value if pa.types.is_temporal(literal.type) else literal.as_py()


def comparable(value: object) -> object:
    """Strings compare as their bytes in UTF-8, NaN equals itself and is larger than everything."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001
    if isinstance(value, date):
        return value.toordinal() - EPOCH
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value
