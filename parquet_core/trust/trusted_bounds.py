"""Decode trusted bounds of containers from written statistics.

Contradictory statistics of a container become unknown. If the counts leave no value for the bounds, both counts and
bounds are dropped. Bounds are dropped if the lower bound is above the upper bound, if the type cannot hold a bound, or
if a bound is NaN. A count is dropped if it is outside its possible range.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of, flags_from, from_numpy, scalar_of, valid_flags, with_validity
from parquet_core.format.compact import MISSING
from parquet_core.format.comparable_values import comparable_values, successor
from parquet_core.format.schema import SortOrder
from parquet_core.spark_rules.calendars import common_calendar_start
from parquet_core.spark_rules.type_promotion import as_read, stored_form
from parquet_core.trust.bounds import Bounds, with_nulls
from parquet_core.trust.count_rules import (
    count_array,
    counts_no_number,
    counts_nulls_alone,
    counts_within,
    crossed,
)
from parquet_core.trust.trust_policy import Deprecated
from parquet_core.trust.writer_fault import Fact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Flags
    from parquet_core.format.plain import PlainValues
    from parquet_core.format.schema import LeafColumn
    from parquet_core.format.written_statistics import WrittenStatistics
    from parquet_core.trust.trust_policy import Trust

    Counts = NDArray[np.int64]
    Step = int | NDArray[np.int64]


class _Pair(NamedTuple):
    """Decoded bounds, and flags of entries whose bounds must be dropped."""

    low: pa.Array
    high: pa.Array
    bad: Flags


def trusted_bounds(
    column: LeafColumn, written: WrittenStatistics, trusts: Sequence[Trust], trust_index: NDArray[np.int64]
) -> Bounds:
    """Decode the trusted statistics of a table's column.

    `trusts`, `trust_index`: `trusts[trust_index[i]]` is the trust in entry i.

    NaN counts of a type without NaN are 0.
    """

    def where(test: Callable[[Trust], bool]) -> Flags:
        answers = np.fromiter((test(trust) for trust in trusts), np.bool_, len(trusts))
        return np.full(len(trust_index), answers.all()) if answers.all() or not answers.any() else answers[trust_index]

    of_pages = written.all_null is not None
    counted = where(lambda trust: trust.counts)
    credible = counted & _has_its_rows(column, written)
    null_count_fact = Fact.PAGE_NULLS if of_pages else Fact.NULL_COUNT
    nulls = _null_counts(
        column, written, credible & ~wrong_null_counts(null_count_fact, written.null_count, trusts, trust_index)
    )
    nans = _nan_counts(column, written, credible, nulls) if _may_be_nan(column) else np.where(counted, 0, MISSING)
    liars = _contradicts_nulls(column, written, nulls)
    usable = credible if written.all_null is None else credible & ~written.all_null
    new = usable & where(lambda trust: trust.page_bounds if of_pages else trust.bounds)
    steps = np.array([trust.step for trust in trusts], np.int64)
    step = 1 if np.all(steps == 1) else steps[trust_index]
    fact_low, fact_high = (Fact.PAGE_BOUNDS,) * 2 if of_pages else (Fact.LOWER_BOUND, Fact.UPPER_BOUND)
    lower = written.min_value.only(new & ~where(lambda trust: fact_low in trust.wrong))
    upper = written.max_value.only(new & ~where(lambda trust: fact_high in trust.wrong))
    pair = _pair(column, lower, upper, step)
    exactness = Fact.PAGE_EXACTNESS if of_pages else Fact.EXACTNESS
    inexact = where(lambda trust: exactness in trust.wrong)
    if inexact.any():
        pair = pair._replace(high=_with_prefixes_raised(pair.high, written, trusts, np.where(inexact, trust_index, -1)))
    old = usable & ~written.min_value.valid & ~written.max_value.valid
    pair = _with_deprecated(
        column,
        written,
        pair,
        step,
        always=old & where(lambda trust: trust.deprecated is Deprecated.ALWAYS),
        when_equal=old & where(lambda trust: trust.deprecated is Deprecated.WHEN_EQUAL),
    )
    liars |= _contradicts_nans(column, written, nulls, nans, pair)
    both = new & written.min_value.valid & written.max_value.valid & ~pair.bad
    nans = np.where((written.nan_count == MISSING) & both & where(lambda trust: trust.nan_in_bounds), 0, nans)
    bad = pair.bad | liars | crossed(pair.low, pair.high)
    rebased = where(lambda trust: trust.rebased)
    low, exact_low = _side(column, pair.low, ~bad, rebased, is_upper=False)
    high, exact_high = _side(column, pair.high, ~bad, rebased, is_upper=True)
    return Bounds(
        lower=low,
        upper=high,
        null_count=count_array(_rows_that_are_null(column, nulls, liars, where(lambda trust: trust.required))),
        row_count=written.row_count,
        nan_count=count_array(np.where(liars, MISSING, nans)),
        min_exact=from_numpy(
            written.min_exact == 1,
            valid=exact_low & new & written.min_value.valid & (written.min_exact >= 0) & ~inexact,
        ),
        max_exact=from_numpy(
            written.max_exact == 1,
            valid=exact_high & new & written.max_value.valid & (written.max_exact >= 0) & ~inexact,
        ),
    )


def wrong_null_counts(
    fact: Fact, counts: NDArray[np.int64], trusts: Sequence[Trust], trust_index: NDArray[np.int64]
) -> Flags:
    """Return flags of null counts that their writer is known to get wrong.

    `trusts`, `trust_index`: `trusts[trust_index[i]]` is the trust in entry i.
    """
    wrong = np.array([fact in trust.wrong for trust in trusts], np.bool_)
    if not wrong.any():
        return np.zeros(len(counts), np.bool_)
    zeros_are_right = np.array([trust.zeros_are_right for trust in trusts], np.bool_)
    untrusted: Flags = wrong[trust_index] & ~(zeros_are_right[trust_index] & (counts == 0))
    return untrusted


def holds_nulls_alone(column: LeafColumn, written: WrittenStatistics) -> Flags:
    """Flag containers that hold only nulls and have consistent statistics. The column must be unrepeated."""
    nulls = _null_counts(column, written, _has_its_rows(column, written))
    nulls_alone: Flags = (nulls == written.row_count) & ~_contradicts_nulls(column, written, nulls)
    return nulls_alone


def _is_floating(column: LeafColumn) -> bool:
    return column.order is SortOrder.FLOATING


def _may_be_nan(column: LeafColumn) -> bool:
    return column.type is None or _is_floating(column)


def _has_its_rows(column: LeafColumn, written: WrittenStatistics) -> Flags:
    # An unrepeated column has one level entry per row, a repeated column at least one. Other counts are wrong.
    repeated = column.max_repetition_level > 0
    has: Flags = written.num_values >= written.row_count if repeated else written.num_values == written.row_count
    return has


def _null_counts(column: LeafColumn, written: WrittenStatistics, credible: Flags) -> Counts:
    """Return null counts; MISSING if unknown. In a repeated column, null and empty lists count too."""
    counts = np.where(credible, counts_within(written.null_count, written.num_values), MISSING)
    if written.all_null is None:
        return counts
    if column.max_repetition_level:
        return np.full(len(written), MISSING)  # the number of levels of a page is unknown, so it cannot be compared
    implied = credible & written.all_null & (written.null_count == MISSING)
    return np.where(implied, written.num_values, counts)


def _nan_counts(column: LeafColumn, written: WrittenStatistics, credible: Flags, nulls: Counts) -> Counts:
    if written.all_null is not None and column.max_repetition_level:
        return np.full(len(written), MISSING)
    most = written.num_values - np.maximum(nulls, 0)
    return np.where(credible, counts_within(written.nan_count, most), MISSING)


def _contradicts_nulls(column: LeafColumn, written: WrittenStatistics, nulls: Counts) -> Flags:
    """Return flags of entries whose null count, null page flag and bounds contradict each other."""
    all_counted = counts_nulls_alone(written.num_values, nulls)
    values = [written.min_value, written.max_value]
    if written.all_null is None:
        values += [value for value in (written.deprecated_min, written.deprecated_max) if value is not None]
        return all_counted & _any_longer_than(values, -1)
    # A null page has empty strings as placeholders for its bounds.
    lies = written.all_null & _any_longer_than(values, 0)
    if column.max_repetition_level == 0:
        lies |= np.where(written.all_null, ~all_counted & (written.null_count != MISSING), all_counted)
    return lies


def _any_longer_than(values: Sequence[PlainValues], length: int) -> Flags:
    flags: Flags = np.any([value.length > length for value in values], axis=0)
    return flags


def _contradicts_nans(
    column: LeafColumn, written: WrittenStatistics, nulls: Counts, nans: Counts, pair: _Pair
) -> Flags:
    """Return flags of entries whose NaN count contradicts their bounds.

    Either a bound is a number although the counts leave only nulls and NaN, or a bound is NaN although the NaN count is
    0.
    """
    liars = counts_no_number(written.num_values, nulls, nans)
    if liars.any():
        liars &= (valid_flags(pair.low) | valid_flags(pair.high)) & ~pair.bad
    if _is_floating(column) and (nans == 0).any():
        liars |= (nans == 0) & (flags_from(pc.is_nan(pair.low)) | flags_from(pc.is_nan(pair.high)))
    return liars


def _pair(column: LeafColumn, lower: PlainValues, upper: PlainValues, step: Step) -> _Pair:
    """Decode both bounds and flag unusable ones.

    A bound is unusable if the type cannot hold it. In floating-point columns, NaN is unusable, and a bound
    without its counterpart is unusable too: the writer may have dropped the counterpart because of NaN.
    """
    low, high = comparable_values(column, lower, step=step), comparable_values(column, upper, step=step)
    bad = (lower.valid & ~valid_flags(low)) | (upper.valid & ~valid_flags(high))
    if _is_floating(column):
        # Writers compute both bounds from the same values: if NaN made one of them unusable, the other is wrong too.
        bad |= flags_from(pc.is_nan(low)) | flags_from(pc.is_nan(high)) | (lower.valid != upper.valid)
    return _Pair(low, high, bad)


def _with_deprecated(
    column: LeafColumn, written: WrittenStatistics, pair: _Pair, step: Step, *, always: Flags, when_equal: Flags
) -> _Pair:
    """Return the bounds, replaced by deprecated ones in the flagged entries.

    `always`: flags of entries whose deprecated bounds are trusted.
    `when_equal`: flags of entries whose deprecated bounds are trusted if they are equal.
    """
    usable = always | when_equal
    if written.deprecated_min is None or written.deprecated_max is None or not usable.any():
        return pair
    old = _pair(column, written.deprecated_min.only(usable), written.deprecated_max.only(usable), step)
    # Equal bounds that may be truncated do not prove a single value.
    constant = flags_from(pc.equal(old.low, old.high)) & (written.min_exact != 0) & (written.max_exact != 0)
    bad = np.where(usable, old.bad | (when_equal & ~constant), pair.bad)
    flags = from_numpy(usable)
    return _Pair(pc.if_else(flags, old.low, pair.low), pc.if_else(flags, old.high, pair.high), bad)


def _with_prefixes_raised(
    high: pa.Array, written: WrittenStatistics, trusts: Sequence[Trust], trust_index: NDArray[np.int64]
) -> pa.Array:
    """Replace each maximum that may be a prefix by a bound above all values with this prefix; null if none exists.

    Entries whose `trust_index` is -1 keep their maximum.
    """
    if not pa.types.is_binary(high.type):
        return high
    least = np.array([*(np.inf if trust.prefix_from is None else trust.prefix_from for trust in trusts), np.inf])[
        trust_index
    ]
    is_prefix = (written.max_value.length >= least) & valid_flags(high)
    values = high.to_pylist()
    for i in np.flatnonzero(is_prefix).tolist():
        values[i] = successor(values[i])
    return array_of(values, high.type)


def _side(
    column: LeafColumn, values: pa.Array, good: Flags, rebased: Flags, *, is_upper: bool
) -> tuple[pa.Array, Flags]:
    """Return one bound with untrusted entries as null, and flags where the claim that it is exact still holds."""
    early = np.zeros(len(values), np.bool_)
    if rebased.any() and (pa.types.is_date32(values.type) or pa.types.is_timestamp(values.type)):
        start = common_calendar_start(values.type)
        early = rebased & flags_from(pc.less(values, start))
        # A conversion between calendars never moves a value across the start.
        values = pc.if_else(from_numpy(early & is_upper), start, values)
        good = good & (~early | is_upper)
    trusted = good & valid_flags(values)
    values = with_validity(values, trusted)
    if not _is_floating(column):
        return values, trusted & ~early
    # Writers do not consistently widen zero bounds, so either zero may represent both.
    zero = 0.0 if is_upper else -0.0
    is_zero = flags_from(pc.equal(values, scalar_of(0.0, values.type)))
    widened = pc.if_else(from_numpy(is_zero), scalar_of(zero, values.type), values) if is_zero.any() else values
    return widened, trusted & ~is_zero


def _rows_that_are_null(column: LeafColumn, nulls: Counts, liars: Flags, required: Flags) -> Counts:
    counts = np.where(liars, MISSING, nulls)
    if column.max_repetition_level:
        return np.full(len(counts), MISSING)  # an empty list is a level entry too
    # A required column has no definition levels, so it cannot hold nulls, whatever its null count is.
    return np.where(required, 0, counts)


def bounds_as_read(
    column: LeafColumn, written: WrittenStatistics, trusts: Sequence[Trust], trust_index: NDArray[np.int64]
) -> Bounds:
    """Decode trusted statistics by the stored type of each file, as bounds of the table's column."""
    decoded = _decoded(column, written, trusts, trust_index)
    otherwise = np.fromiter((trust.nulls_alone for trust in trusts), np.bool_, len(trusts))
    if not otherwise.any():
        return decoded
    return with_nulls(decoded, otherwise[trust_index] & holds_nulls_alone(column, written))


def _decoded(
    column: LeafColumn, written: WrittenStatistics, trusts: Sequence[Trust], trust_index: NDArray[np.int64]
) -> Bounds:
    if all(trust.stored is None for trust in trusts):
        return trusted_bounds(column, written, trusts, trust_index)
    forms: dict[object, int] = {}
    leaves = [column if trust.stored is None else trust.stored for trust in trusts]
    form = np.array([forms.setdefault(stored_form(leaf), len(forms)) for leaf in leaves], np.int64)[trust_index]
    places, parts = [], []
    for index, key in enumerate(forms.values()):
        rows = np.flatnonzero(form == key)
        leaf = next(leaf for leaf in leaves if forms[stored_form(leaf)] == index)
        trusted = trusted_bounds(leaf, written[rows], trusts, trust_index[rows])
        places.append(rows)
        parts.append(replace(trusted, lower=as_read(trusted.lower, column), upper=as_read(trusted.upper, column)))
    return Bounds.concat(parts).take(np.argsort(np.concatenate(places)))
