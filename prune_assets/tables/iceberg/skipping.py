"""The files of a snapshot that may hold rows a predicate selects, by partition values and the bounds of manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.dataset.logged import FileAnswers
from parquet_core.evidence.min_max import outcomes_from_bounds
from parquet_core.outcomes import intersect, unknown
from parquet_core.predicate import ColumnLeaf, Constant, leaves
from parquet_core.pruning import constant_answers, fold
from prune_assets.tables.iceberg.file_bounds import with_statistics
from prune_assets.tables.iceberg.metadata_files import understood
from prune_assets.tables.iceberg.partition_values import outcomes_of_partitions

if TYPE_CHECKING:
    from parquet_core.predicate import Predicate
    from prune_assets.tables.iceberg.table import IcebergTable


def skip_files(table: IcebergTable, predicate: Predicate) -> FileAnswers:
    """Tell of every file whether it may hold rows that a predicate selects, before any is opened."""
    snapshot, count = table.snapshot, len(table.snapshot.files)
    columns = table.by_path
    sources = {field.source for field in snapshot.partition_fields if field.transform != "void"}
    of_partitions, by_leaf, told = [], [], {}
    for leaf in leaves(predicate):
        known = unknown(count)
        if isinstance(leaf, Constant):
            known = constant_answers(leaf, count)
        column = columns.get(leaf.column) if isinstance(leaf, ColumnLeaf) else None
        with understood(snapshot.place):
            if column is not None and isinstance(leaf, ColumnLeaf):
                known = outcomes_of_partitions(leaf, column, snapshot)
        of_partitions.append(known)
        bounds = None if column is None else table.file_bounds(column.leaf.path)
        if bounds is not None and column is not None and isinstance(leaf, ColumnLeaf):
            told[column.leaf.path] = with_statistics(bounds)
            known = intersect(known, outcomes_from_bounds(leaf, bounds))
        by_leaf.append(known)
    return FileAnswers(
        partitions=fold(predicate, of_partitions),
        outcomes=fold(predicate, by_leaf),
        by_leaf=tuple(by_leaf),
        by_partition=tuple(of_partitions),
        by_values=frozenset(path for path, column in columns.items() if column.field_id in sources),
        files_with_statistics=told,
        examined_files=count,
    )
