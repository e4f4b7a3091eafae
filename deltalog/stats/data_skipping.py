"""Data skipping: choose the files that may match a predicate, by partition values and statistics."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from deltalog.log.file_block import in_parallel
from deltalog.stats.file_bounds import statistics_query
from deltalog.stats.partition_values import bounds_of_partitions, outcomes_of_partitions
from deltalog.stats.statistics_query import answers
from parquet_core.arrow_arrays import flags_from
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.evidence.satisfiable import may_be_true
from parquet_core.pruning.evidence.several_columns import columns_in_several, outcomes_from_several_bounds
from parquet_core.pruning.file_answers import FileAnswers
from parquet_core.pruning.outcomes import Outcomes, intersect, may_match, must_match, unknown
from parquet_core.pruning.predicate import ColumnLeaf, IsNull, MultiColumnLeaf, columns_of_leaf, leaves
from parquet_core.pruning.trees import fold
from parquet_core.trust.bounds import Bounds, unknown_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import FileBlock
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.schema import TableColumn
    from parquet_core.format.schema import Path
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf, Predicate


def skip_files(snapshot: Snapshot, predicate: Predicate) -> FileAnswers:
    """Return which live files may match a predicate, from the log alone.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import deltalog
    >>> from parquet_core.pruning.predicate import Compare, Op
    >>> table, names = tempfile.mkdtemp(), ("low.parquet", "high.parquet")
    >>> created = deltalog.create_table(table, pa.schema({"id": pa.int64()}))
    >>> for name, first in zip(names, (0, 100)):
    ...     pq.write_table(pa.table({"id": range(first, first + 100)}), f"{table}/{name}")
    >>> snapshot = deltalog.open_snapshot(table)
    >>> adds = deltalog.adds_of(table, snapshot.schema, [deltalog.NewFile(name) for name in names])
    >>> appended = deltalog.append(snapshot, adds)
    >>> snapshot = deltalog.open_snapshot(table)
    >>> answers = deltalog.skip_files(snapshot, Compare(("id",), Op.LT, pa.scalar(50)))
    >>> snapshot.paths(answers.kept)
    ['low.parquet']

    `predicate`: its columns are logical paths, and its literals have the types of `snapshot.schema.leaves`. A condition
    on a column that is missing in the table, or unknown in the log, does not skip files.
    """
    columns = snapshot.schema.by_path()
    if not may_be_true(predicate, columns=columns):
        return _never(snapshot, predicate, _partitions(columns))
    parts = tuple(leaves(predicate))
    nullable = snapshot.schema.nullable()
    by_part = [
        [column for path in columns_of_leaf(part) if (column := known.get(path)) is not None]
        if isinstance(part, ColumnLeaf | MultiColumnLeaf)
        else []
        for part, known in ((part, nullable if isinstance(part, IsNull) else columns) for part in parts)
    ]
    snapshot.settle()
    ask = partial(
        _outcomes_of_block, snapshot=snapshot, predicate=predicate, parts=parts, by_part=by_part, columns=columns
    )
    by_block = list(in_parallel(ask, snapshot.blocks, files=snapshot.file_count))
    in_several = columns_in_several(parts)
    return FileAnswers(
        partitions=_joined([answers.partitions for answers in by_block]),
        outcomes=_joined([answers.outcomes for answers in by_block]),
        by_leaf=tuple(_joined([answers.by_leaf[i] for answers in by_block]) for i in range(len(parts))),
        by_partition=tuple(_joined([answers.of_partitions[i] for answers in by_block]) for i in range(len(parts)))
        if in_several
        else None,
        by_values=_partitions(columns),
        bounds={
            path: Bounds.concat([bounds_of_partitions(columns[path], block) for block in snapshot.blocks])
            for path in in_several & _partitions(columns)
            if snapshot.blocks
        },
        files_with_statistics=sum((Counter(answers.files_with_statistics) for answers in by_block), Counter()),
        examined_files=sum(answers.examined_files for answers in by_block),
    )


def _partitions(columns: Mapping[Path, TableColumn]) -> frozenset[Path]:
    return frozenset(path for path, column in columns.items() if column.partition is not None)


def _never(snapshot: Snapshot, predicate: Predicate, by_values: frozenset[Path]) -> FileAnswers:
    """Return the answers for a predicate that contradicts itself, so that no file can match."""
    open_ = unknown(snapshot.file_count)
    never = np.full(snapshot.file_count, Outcomes.FALSE | Outcomes.NULL, np.uint8)
    by_leaf = tuple(open_ for _ in leaves(predicate))
    return FileAnswers(partitions=never, outcomes=never, by_leaf=by_leaf, by_values=by_values)


def _joined(arrays: list[OutcomeArray]) -> OutcomeArray:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.uint8)


def _outcomes_of_block(
    block: FileBlock,
    *,
    snapshot: Snapshot,
    predicate: Predicate,
    parts: Sequence[Leaf],
    by_part: Sequence[Sequence[TableColumn]],
    columns: Mapping[Path, TableColumn],
) -> FileAnswers:
    of_partitions = tuple(outcomes_of_partitions(part, columns, block) for part in parts)
    partitions = fold(predicate, of_partitions)
    wanted = may_match(partitions) & ~must_match(partitions)
    of_files = list(dict.fromkeys(column for of_part in by_part for column in of_part if column.partition is None))
    if not of_files or not wanted.any():
        return FileAnswers(partitions, partitions, of_partitions)
    by_leaf = [outcomes.copy() for outcomes in of_partitions]
    of_values = {
        column: bounds_of_partitions(column, block)
        for part, of_part in zip(parts, by_part, strict=True)
        for column in of_part
        if isinstance(part, MultiColumnLeaf) and column.partition is not None
    }
    with_statistics: Counter[Path] = Counter()
    for positions, of_columns in answers(snapshot, block, statistics_query(of_files), wanted):
        bounds = dict(zip(of_files, of_columns, strict=True))
        with_statistics.update(
            {column.leaf.path: count_files_with_statistics(of_column) for column, of_column in bounds.items()}
        )
        bounds |= {column: of_column.take(positions) for column, of_column in of_values.items()}
        for answer, part, of_part in zip(by_leaf, parts, by_part, strict=True):
            if any(column.partition is None for column in of_part):
                of_statistics = _of_bounds(part, {it.leaf.path: bounds[it] for it in of_part}, len(positions))
                answer[positions] = intersect(answer[positions], of_statistics)
    return FileAnswers(
        partitions,
        fold(predicate, by_leaf),
        tuple(by_leaf),
        files_with_statistics=with_statistics,
        examined_files=int(wanted.sum()),
        by_partition=of_partitions,
    )


def _of_bounds(leaf: Leaf, bounds: Mapping[Path, Bounds], count: int) -> OutcomeArray:
    if isinstance(leaf, MultiColumnLeaf):
        return outcomes_from_several_bounds(leaf, bounds, count)
    assert isinstance(leaf, ColumnLeaf)
    return outcomes_from_bounds(leaf, bounds[leaf.column])


def count_files_with_statistics(bounds: Bounds) -> int:
    """Return the number of files with any statistics of a column's values."""
    sides = bounds.lower, bounds.upper, bounds.null_count
    return int(np.count_nonzero(np.logical_or.reduce([flags_from(side.is_valid()) for side in sides])))


def file_bounds(snapshot: Snapshot, columns: Sequence[TableColumn]) -> list[Bounds]:
    """Return bounds of columns for every live file, in the order of the blocks."""
    by_column: list[list[Bounds]] = [[] for _ in columns]
    query = statistics_query(columns)
    snapshot.settle()
    for block in snapshot.blocks:
        here = query.silent(len(block))
        for positions, bounds in answers(snapshot, block, query, np.ones(len(block), np.bool_)):
            here = [_put(whole, of_batch, positions) for whole, of_batch in zip(here, bounds, strict=True)]
        for parts, whole in zip(by_column, here, strict=True):
            parts.append(whole)
    none = np.zeros(0, np.int64)
    return [
        Bounds.concat(parts) if parts else unknown_bounds(column.leaf, none)
        for parts, column in zip(by_column, columns, strict=True)
    ]


def _put(whole: Bounds, part: Bounds, at: NDArray[np.int64]) -> Bounds:
    order = np.arange(len(whole))
    order[at] = len(whole) + np.arange(len(at))
    return Bounds.concat([whole, part]).take(order)
