"""The condition on a MERGE's target that follows from its ON condition and the keys of its source.

An engine skips files of the target by conditions on the target alone. The keys of the source imply such conditions: a
list of partition values, and disjoint ranges of keys, with gaps for the files that hold no key. Adding a condition that
ON implies does not change the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of_scalars, flags_from
from parquet_core.pruning.evidence.listed_values import listed_values
from parquet_core.pruning.predicate import And, Compare, Constant, In, Interval, InTuples, IsNull, Op, Or
from prune_assets.planner.join_keys import literal_type
from prune_assets.planner.spark_reader.survivors import can_be_written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Flags
    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Predicate
    from parquet_core.trust.bounds import Bounds
    from prune_assets.planner.join_keys import JoinKeys
    from prune_assets.tables.table import Table

# Maximum number of ranges of a column, because Spark evaluates the condition on each row of the files that it reads.
# The second maximum is used if too many files without a key remain with the first one.
_RANGES = (32, 128)
# Up to this number, keys are listed one by one, because equalities also skip row groups inside files.
_MOST_LISTED = 32
_MOST_VALUES = 1_000
_MOST_PARTITIONS = 64
# More ranges are tried if the opened files have more than this factor of the bytes of the files that hold a key.
_ENOUGH = 1.1


class ImpliedCondition(NamedTuple):
    """A condition that the join implies, and the files that have to be opened with it.

    `predicate`: the condition; None if no condition restricts the target.
    `opened`: flags of the files that partition values and statistics of files do not exclude.
    """

    predicate: Predicate | None
    opened: Flags


class KeyColumn(NamedTuple):
    """Keys of one joined column, in the type of the target's column.

    `values`: distinct keys, without null.
    `has_null`: True if null is a key too.
    """

    path: Path
    values: pa.Array
    has_null: bool


def implied_condition(
    join: JoinKeys, table: Table, written: Predicate, sizes: NDArray[np.int64], held: Flags
) -> ImpliedCondition:
    """Return the condition with which an engine opens the fewest bytes.

    `written`: the condition on the target that the statement has already. `sizes`: bytes of each file. `held`: flags of
    the files that may hold a key according to all metadata.
    """
    before = table.answers(written).kept
    enough = _ENOUGH * int(sizes[before & held].sum())
    best = ImpliedCondition(None, before)
    for most in _RANGES:
        conditions = _Conditions(table, sizes * before, most)
        for predicate in conditions.without_keys() if _has_no_key(join) else conditions.candidates(*key_columns(join)):
            opened = before & table.answers(predicate).kept
            if sizes[opened].sum() < sizes[best.opened].sum():
                best = ImpliedCondition(predicate, opened)
        if sizes[best.opened].sum() <= enough:
            break
    return best


def _has_no_key(join: JoinKeys) -> bool:
    """Return True if no row of the source has a key that a row of the target can equal."""
    return any(isinstance(tree, Constant) for _, tree in join.conjuncts)


def key_columns(join: JoinKeys) -> tuple[list[KeyColumn], InTuples | None]:
    """Return the keys of each column, and the tuples of keys if several columns are joined."""
    columns: list[KeyColumn] = []
    tuples = None
    for _, tree in join.conjuncts:
        has_null = isinstance(tree, Or) and isinstance(tree.children[-1], IsNull)
        leaf = tree.children[0] if isinstance(tree, Or) else tree
        match leaf:
            case In(path, values):
                columns.append(KeyColumn(path, values, has_null))
            case Compare(path, Op.EQ, value):
                columns.append(KeyColumn(path, array_of_scalars([value]), has_null))
            case InTuples():
                tuples = leaf
    return columns, tuples


class _Conditions:
    """Conditions on a table that follow from keys.

    `sizes`: bytes of each file; 0 for a file that is not opened anyway.
    `most`: maximum number of ranges.
    """

    def __init__(self, table: Table, sizes: NDArray[np.int64], most: int) -> None:
        self._table, self._sizes, self._most = table, sizes, most
        self._partitions = {column.path for column in table.partitions}

    def candidates(self, columns: Sequence[KeyColumn], tuples: InTuples | None) -> list[Predicate]:
        """Return the conditions to choose from: one for each column, one for all columns, and one by partition."""
        each = [condition for column in columns if (condition := self._of_column(column)) is not None]
        candidates = [*each]
        if len(each) > 1:
            candidates.append(_all_of(each))
        if tuples is not None and (by_partition := self._by_partition(tuples)) is not None:
            candidates.append(by_partition)
        return candidates

    def without_keys(self) -> list[Predicate]:
        """Return conditions that no row of the table fulfils.

        Every condition follows from an ON that is never true. Spark fails on some MERGEs with the condition `false`, so
        the condition selects only values below the bounds of all files.
        """
        conditions: list[Predicate] = []
        for column in self._table.columns:
            is_usable = not (column.max_repetition_level or column.unsupported or column.type is None)
            bounds = self._table.file_bounds(column.path) if is_usable else None
            if bounds is None or bounds.lower.null_count or not len(bounds) or not _ends(bounds.lower):
                continue
            least = _ends(bounds.lower)[0].cast(literal_type(column))
            if can_be_written(least):
                conditions.append(Compare(column.path, Op.LT, least))
                break
        return conditions

    def _of_column(self, column: KeyColumn) -> Predicate | None:
        path, values, has_null = column
        if not all(map(can_be_written, _ends(values))):
            return None
        if path in self._partitions and len(values) <= _MOST_VALUES:
            condition: Predicate = _list(path, values)
        elif pa.types.is_boolean(values.type):
            return None if len(values) > 1 else _list(path, values)
        else:
            bounds = None if path in self._partitions else self._table.file_bounds(path)
            gaps = [] if bounds is None else _gaps(values, bounds, self._sizes)
            cuts = [gap for gap, _ in gaps[: self._most - 1]]
            condition = _any_of(_ranges(path, _ascending(values), cuts))
        return Or((condition, IsNull(path))) if has_null else condition

    def _by_partition(self, tuples: InTuples) -> Predicate | None:
        """Return ranges of one column within each partition.

        None if no partition column is joined, if no other column has bounds, or for too many partitions.
        """
        own = [i for i, path in enumerate(tuples.columns) if path in self._partitions]
        if not all(can_be_written(end) for i in own for end in _ends(tuples.values[i])):
            return None
        bounded = ((i, self._table.file_bounds(path)) for i, path in enumerate(tuples.columns) if i not in own)
        ranged, bounds = next(((i, each) for i, each in bounded if each is not None), (0, None))
        if not own or bounds is None or not all(map(can_be_written, _ends(tuples.values[ranged]))):
            return None
        keys = pa.table([*tuples.values], names=[str(i) for i in range(len(tuples.columns))])
        groups = keys.group_by([str(i) for i in own]).aggregate([(str(ranged), "list")])
        if groups.num_rows > _MOST_PARTITIONS:
            return None
        partitions = [
            _all_of([Compare(tuples.columns[i], Op.EQ, groups[str(i)][group]) for i in own])
            for group in range(groups.num_rows)
        ]
        values = [each.values.unique() for each in groups[f"{ranged}_list"]]
        gaps = [
            (saved, group, gap)
            for group, (partition, of_group) in enumerate(zip(partitions, values, strict=True))
            for gap, saved in _gaps(of_group, bounds, self._sizes * self._table.answers(partition).kept)
        ]
        chosen = sorted(gaps, reverse=True)[: max(0, self._most - len(partitions))]
        ranges = []
        for group, of_group in enumerate(values):
            cuts = [gap for _, number, gap in chosen if number == group]
            ranges.append(_any_of(_ranges(tuples.columns[ranged], _ascending(of_group), cuts)))
        return _any_of([And(each) for each in zip(partitions, ranges, strict=True)])


def _gaps(values: pa.Array, bounds: Bounds, sizes: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the gaps between keys that contain whole files, and the bytes of these files, the largest first.

    Gap i is between the keys i - 1 and i, in ascending order.
    """
    listed = listed_values(values, bounds.lower.type)
    low, high = listed.places(bounds.lower), listed.places(bounds.upper)
    has_bounds = flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid()))
    inside = has_bounds & (low == high) & (low % 2 == 0) & (low > 0) & (low < 2 * len(listed.ascending))
    saved = np.bincount(low[inside] // 2, weights=sizes[inside].astype(np.float64), minlength=1)
    order = np.argsort(-saved, kind="stable")
    return [(int(gap), int(saved[gap])) for gap in order.tolist() if saved[gap] > 0]


def _ranges(path: Path, ascending: pa.Array, gaps: Sequence[int]) -> list[Predicate]:
    """Return the ranges of keys between the gaps; the single keys if they are few."""
    if len(ascending) <= _MOST_LISTED or len(ascending) <= len(gaps) + 1:
        return [Compare(path, Op.EQ, value) for value in ascending]
    starts = [0, *sorted(gaps)]
    spans = zip(starts, [*starts[1:], len(ascending)], strict=True)
    ends = [(ascending[start], ascending[stop - 1]) for start, stop in spans]
    return [Compare(path, Op.EQ, low) if low == high else Interval(path, low, high) for low, high in ends]


def _ascending(values: pa.Array) -> pa.Array:
    """Return keys in the order in which bounds are compared."""
    compared = values.cast(pa.binary()) if pa.types.is_string(values.type) else values
    return values.take(pc.sort_indices(compared))


def _ends(values: pa.Array) -> list[pa.Scalar]:
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type) or pa.types.is_boolean(values.type):
        return []
    ends = pc.min_max(values)
    has_nan = pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py()
    return [ends["min"], ends["max"], *([pa.scalar(float("nan"))] if has_nan else [])]


def _list(path: Path, values: pa.Array) -> Predicate:
    return Compare(path, Op.EQ, values[0]) if len(values) == 1 else In(path, values)


def _all_of(predicates: Sequence[Predicate]) -> Predicate:
    return predicates[0] if len(predicates) == 1 else And(tuple(predicates))


def _any_of(predicates: Sequence[Predicate]) -> Predicate:
    return predicates[0] if len(predicates) == 1 else Or(tuple(predicates))
