"""How the values of a column lie over the row groups, and how many of them a predicate asks for: as their bounds tell.

Estimates for advice, never for a skip: values are taken to be spread evenly between the bounds of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import numbers_from, scalar_of
from parquet_core.predicate import And, Compare, In, Interval, Op, Or

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.predicate import Predicate
    from parquet_core.trust.bounds import Bounds

    Span = tuple[float, float]

_EVERYTHING = (-np.inf, np.inf)


class Spread(NamedTuple):
    """Shares, from 0 to 1, of all values of a column: what a row group holds on average, what is asked for."""

    of_row_group: float
    asked: float


def spread_of(bounds: Bounds, conjuncts: tuple[Predicate, ...]) -> Spread | None:
    """Return how the values of one column lie and what predicates on it alone ask for together; None when unknown."""
    low, high = _numbers(bounds.lower), _numbers(bounds.upper)
    if low is None or high is None:
        return None
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return None
    least, most = float(low[known].min()), float(high[known].max())
    # One whole number, day or microsecond is one value.
    unit = 0.0 if pa.types.is_floating(bounds.lower.type) or pa.types.is_decimal(bounds.lower.type) else 1.0
    whole = most - least + unit
    if whole <= 0:
        return None
    spans = _common([[(least, most)], *(found for part in conjuncts if (found := _spans(part)) is not None)])
    asked = sum(stop - start + unit for start, stop in spans) / whole
    return Spread(float(np.mean((high - low + unit)[known])) / whole, min(asked, 1.0))


def _spans(predicate: Predicate) -> list[Span] | None:
    """Return what a predicate asks for as closed ranges, None where it is no range."""
    match predicate:
        case Compare(_, op, value) if (number := _number(value)) is not None:
            return _of_comparison(op, number)
        case Interval(_, low, high) if (start := _number(low)) is not None and (stop := _number(high)) is not None:
            return [(start, stop)]
        case In(_, values) if (numbers := _numbers(values)) is not None:
            return [(number, number) for number in numbers.tolist()]
        case Or(children):
            found = [_spans(child) for child in children]
            return None if None in found else [span for part in found if part is not None for span in part]
        case And(children):
            found = [_spans(child) for child in children]
            return _common([part for part in found if part is not None] or [[_EVERYTHING]])
    return None


def _of_comparison(op: Op, number: float) -> list[Span] | None:
    match op:
        case Op.EQ:
            return [(number, number)]
        case Op.LT | Op.LE:
            return [(-np.inf, number)]
        case Op.GT | Op.GE:
            return [(number, np.inf)]
    return None


def _common(parts: list[list[Span]]) -> list[Span]:
    spans, *others = parts
    for wanted in others:
        spans = [both for one in spans for other in wanted if (both := _overlap(one, other)) is not None]
    return spans


def _overlap(one: Span, other: Span) -> Span | None:
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else None


def _number(value: pa.Scalar) -> float | None:
    numbers = _numbers(pa.repeat(value, 1))
    return None if numbers is None or np.isnan(numbers[0]) else float(numbers[0])


def _numbers(values: pa.Array) -> NDArray[np.float64] | None:
    """Return numbers, days or ticks as doubles, NaN where unknown; None for what is no number."""
    kind = values.type
    if pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    doubles = pc.cast(values, pa.float64(), safe=False)
    return numbers_from(pc.fill_null(doubles, scalar_of(np.nan, pa.float64())))
