"""Bounds of several columns as evidence for a list of tuples.

A container may hold a listed tuple only if all values of one tuple are within the bounds of their columns. Values and
bounds are mapped to ranks among the listed values of a column, so a container is a box of ranks and a tuple is a point.

The tuples are sorted once for each column, by this column first. All tuples in a box are between its two corners in
each of these orders; the candidates come from the order with the fewest tuples between the corners. If only the last
column of an order has several ranks in the box, for example next to partition columns, then each candidate is in the
box.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import from_numpy, scalar_of, valid_flags
from parquet_core.columnar import Columnar
from parquet_core.pruning.evidence.listed_values import listed_values
from parquet_core.pruning.evidence.min_max import outcomes_of
from parquet_core.pruning.evidence.sorted_search import search
from parquet_core.ragged import spans
from parquet_core.ranks import ranks
from parquet_core.trust.bounds import presence_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_core.arrays import Flags, Numbers
    from parquet_core.format.schema import Path
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import InTuples
    from parquet_core.trust.bounds import Bounds

# How many candidates of each container are tested first: in most containers with many candidates, one of these matches.
SAMPLES = (2, 16)
# Limits on the candidates that are tested together and in total. Containers beyond the total limit are kept.
MAX_CELLS = 1 << 18
MAX_TESTS = 8 << 20
_MOST_KEYS = 1 << 62


class _Column(NamedTuple):
    """The values of one column of the tuples.

    `distinct`: its distinct values in ascending order, without NaN. `ranks`: the rank of each tuple's value; NaN has
    the rank after all others.
    """

    distinct: pa.Array
    ranks: Numbers
    has_nan: bool


class _Order(NamedTuple):
    """The tuples in the order of their keys.

    `weights`: weight of each column's rank in a key; 0 for a column that does not fit into a 64-bit key.
    `keys`: ascending keys. `tuples`: for each key, the number of its tuple.
    """

    weights: tuple[int, ...]
    keys: Numbers
    tuples: Numbers


class ListedTuples(NamedTuple):
    """A list of tuples, prepared for searches."""

    columns: tuple[_Column, ...]
    orders: tuple[_Order, ...]


class _Side(NamedTuple):
    """One side of the boxes: the ranks of a column's listed values that each container may hold.

    `low`, `high`: ranks of values other than NaN; `high` is below `low` if there are none.
    `nan`: flags of containers that may hold a listed NaN.
    `last`: the highest rank, including the rank of NaN.
    `is_single`: flags of containers whose values other than null are all equal to one listed value.
    """

    low: Numbers
    high: Numbers
    nan: Flags
    last: Numbers
    is_single: Flags


@dataclass(frozen=True, slots=True)
class _Candidates(Columnar):
    """Tuples that each box may hold: `count` tuples from position `start` on, in the order with the number `order`."""

    box: Numbers
    order: Numbers
    start: Numbers
    count: Numbers


def outcomes_from_bounds_of_columns(leaf: InTuples, bounds: Mapping[Path, Bounds]) -> OutcomeArray:
    """Return the outcome set of each container from the bounds of its columns.

    `bounds`: bounds of at least one of the leaf's columns, all of the same containers.
    """
    listed = listed_tuples(leaf.values)
    count = len(next(bounds[path] for path in leaf.columns if path in bounds))
    rows, valued = np.ones(count, np.bool_), np.ones(count, np.bool_)
    null = np.zeros(count, np.bool_)
    sides = []
    for path, column in zip(leaf.columns, listed.columns, strict=True):
        of_column = bounds.get(path)
        if of_column is None:
            null[:] = True
            sides.append(_unbounded(column, count))
            continue
        presence = presence_of(of_column)
        rows &= of_column.row_count > 0
        null |= presence.null
        valued &= presence.value | presence.nan
        sides.append(_side(column, of_column, presence.value, presence.nan))
    held, proven = _held(listed, sides, rows & valued)
    is_single = np.logical_and.reduce([side.is_single for side in sides])
    return outcomes_of(true=held, false=rows & valued & ~(proven & is_single), null=rows & null)


def _unbounded(column: _Column, count: int) -> _Side:
    high = np.full(count, len(column.distinct) - 1)
    nan = np.full(count, column.has_nan)
    return _Side(np.zeros(count, np.int64), high, nan, high + nan, np.zeros(count, np.bool_))


def _side(column: _Column, bounds: Bounds, value: Flags, nan: Flags) -> _Side:
    count, none = len(column.distinct), np.zeros(len(bounds), np.bool_)
    listed_nan = nan if column.has_nan else none
    if count == 0:
        low, high = np.zeros(len(bounds), np.int64), np.full(len(bounds), -1)
        is_equal = none
    else:
        lower, upper = bounds.lower, bounds.upper
        if pa.types.is_boolean(lower.type):
            lower, upper = lower.cast(pa.uint8()), upper.cast(pa.uint8())
        listed = listed_values(column.distinct, lower.type)
        least = listed.places(lower)
        most = least if upper is lower else listed.places(upper)
        has_lower, has_upper = valid_flags(lower), valid_flags(upper)
        low = np.where(has_lower, least // 2, 0)
        high = np.where(has_upper, (most + 1) // 2 - 1, count - 1)
        high[~value] = -1
        is_equal = has_lower & has_upper & (least == most) & (least % 2 == 1)
    only_nan = listed_nan & ~value
    low[only_nan] = count
    return _Side(low, high, listed_nan, np.where(listed_nan, count, high), (is_equal & value & ~nan) | only_nan)


def _held(listed: ListedTuples, sides: Sequence[_Side], possible: Flags) -> tuple[Flags, Flags]:
    """Flag boxes that may hold a tuple, and boxes in which a tuple was found."""
    open_ = np.flatnonzero(possible & np.logical_and.reduce([side.low <= side.last for side in sides]))
    found = np.zeros(len(possible), np.bool_)
    candidates = _candidates(listed, sides, open_)
    for size in SAMPLES:
        _test(listed, sides, candidates, size, found)
        candidates = candidates.take(np.flatnonzero((candidates.count > size) & ~found[candidates.box]))
    candidates = candidates.take(np.argsort(candidates.count, kind="stable"))
    is_tested = np.cumsum(candidates.count) <= MAX_TESTS
    _test(listed, sides, candidates.take(np.flatnonzero(is_tested)), None, found)
    held = found.copy()
    held[candidates.box[~is_tested]] = True
    return held, found


def _test(
    listed: ListedTuples, sides: Sequence[_Side], candidates: _Candidates, size: int | None, found: Flags
) -> None:
    """Flag in `found` the boxes that hold a candidate; `size`: candidates to test in each box, None for all."""
    for i, order in enumerate(listed.orders):
        of_order = candidates.take(np.flatnonzero((candidates.order == i) & (candidates.count > 0)))
        steps = of_order.count if size is None else np.minimum(of_order.count, size)
        for part in _parts(steps):
            box, first, count, tested = of_order.box[part], of_order.start[part], of_order.count[part], steps[part]
            at = spans(np.zeros(len(part), np.int64), tested)
            if size is not None:
                at = at * np.repeat(count - 1, tested) // np.repeat(np.maximum(tested - 1, 1), tested)
            tuples = order.tuples[at + np.repeat(first, tested)]
            inside = np.ones(len(tuples), np.bool_)
            for column, side in zip(listed.columns, sides, strict=True):
                rank = column.ranks[tuples]
                holds = (rank >= np.repeat(side.low[box], tested)) & (rank <= np.repeat(side.high[box], tested))
                if column.has_nan:
                    holds |= np.repeat(side.nan[box], tested) & (rank == len(column.distinct))
                inside &= holds
            found[box] = np.logical_or.reduceat(inside, np.cumsum(tested) - tested)


def _candidates(listed: ListedTuples, sides: Sequence[_Side], boxes: Numbers) -> _Candidates:
    """Return the candidate tuples of each box, taken from the sort order that leaves the fewest."""
    chosen, first = np.zeros(len(boxes), np.int64), np.zeros(len(boxes), np.int64)
    count = np.full(len(boxes), np.iinfo(np.int64).max)
    for i, order in enumerate(listed.orders):
        wide = np.flatnonzero(count > SAMPLES[0])
        low, high = np.zeros(len(wide), np.int64), np.zeros(len(wide), np.int64)
        for weight, side in zip(order.weights, sides, strict=True):
            low += weight * side.low[boxes[wide]]
            high += weight * side.last[boxes[wide]]
        start, stop = search(order.keys, low), search(order.keys, high + 1)
        better = stop - start < count[wide]
        chosen[wide[better]], first[wide[better]] = i, start[better]
        count[wide[better]] = (stop - start)[better]
    return _Candidates(boxes, chosen, first, count)


def _parts(counts: Numbers) -> Iterator[Numbers]:
    """Split boxes into parts of about `MAX_CELLS` candidates."""
    part = np.cumsum(counts) // MAX_CELLS
    yield from (each for each in np.split(np.arange(len(counts)), np.flatnonzero(np.diff(part)) + 1) if len(each))


# Keyed by the identities of live arrays.
_KNOWN: dict[tuple[int, ...], ListedTuples] = {}


def listed_tuples(values: tuple[pa.Array, ...]) -> ListedTuples:
    """Return the sorted tuples.

    The result is cached as long as the arrays live.
    """
    key = tuple(map(id, values))
    listed = _KNOWN.get(key)
    if listed is None:
        columns = tuple(map(_column, values))
        listed = ListedTuples(columns, tuple(_order(columns, i) for i in range(len(columns))))
        _KNOWN[key] = listed
        for array in values:
            weakref.finalize(array, _KNOWN.pop, key, None).atexit = False
    return listed


def _column(values: pa.Array) -> _Column:
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    if pa.types.is_floating(values.type):
        values = pc.add(values, scalar_of(0.0, values.type))  # -0.0 becomes 0.0
    (rank,) = ranks(values)
    rank = rank - 1
    first = np.zeros(int(rank.max()) + 1, np.int64)
    first[rank[::-1]] = np.arange(len(rank) - 1, -1, -1)
    distinct = values.take(from_numpy(first))
    has_nan = pa.types.is_floating(values.type) and bool(pc.is_nan(distinct[-1]).as_py())
    return _Column(distinct[:-1] if has_nan else distinct, rank, has_nan)


def _order(columns: Sequence[_Column], leading: int) -> _Order:
    """Return the order by the column at `leading` and then the columns after it."""
    weights, total = [0] * len(columns), 1
    names = [(leading + i) % len(columns) for i in range(len(columns))]
    sizes = [len(column.distinct) + column.has_nan for column in columns]
    room = [name for i, name in enumerate(names) if np.prod([float(sizes[it]) for it in names[: i + 1]]) < _MOST_KEYS]
    for name in reversed(room):
        weights[name], total = total, total * sizes[name]
    keys = np.sum([weight * column.ranks for weight, column in zip(weights, columns, strict=True)], axis=0)
    tuples = np.argsort(keys, kind="stable")
    return _Order(tuple(weights), keys[tuples], tuples)
