"""Skip files of a snapshot by partition values and by the bounds in manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.file_answers import ByList, FileAnswers
from parquet_core.pruning.outcomes import intersect, may_match, unknown
from parquet_core.pruning.predicate import ColumnLeaf, Constant, leaves
from parquet_core.pruning.trees import constant_answers, fold
from prune_assets.tables.iceberg.file_bounds import with_statistics
from prune_assets.tables.iceberg.manifests.manifest_skipping import outcomes_of_manifests
from prune_assets.tables.iceberg.metadata_files import wrapping_pyiceberg_errors
from prune_assets.tables.iceberg.partition_values import outcomes_of_partitions

if TYPE_CHECKING:
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf, Predicate
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot
    from prune_assets.tables.iceberg.table import IcebergTable


def skip_files(table: IcebergTable, predicate: Predicate) -> FileAnswers:
    """Return the outcomes of a predicate for every file, without opening data files.

    Reads only the manifests that the manifest list does not exclude.
    """
    snapshot, columns, parts = table.snapshot, table.by_path, list(leaves(predicate))
    named = [columns.get(leaf.column) if isinstance(leaf, ColumnLeaf) else None for leaf in parts]
    with wrapping_pyiceberg_errors(snapshot.metadata_path):
        of_manifests = [_manifest_outcomes(leaf, column, snapshot) for leaf, column in zip(parts, named, strict=True)]
    read = snapshot.open(
        may_match(fold(predicate, of_manifests)), {column.field_id for column in named if column is not None}
    )
    files = snapshot.files
    by_list = [files.by_file(outcomes) for outcomes in of_manifests]
    of_partitions, by_leaf, statistics_flags = [], [], {}
    for leaf, column, outcomes in zip(parts, named, by_list, strict=True):
        if column is not None and isinstance(leaf, ColumnLeaf):
            with wrapping_pyiceberg_errors(snapshot.metadata_path):
                outcomes = intersect(outcomes, outcomes_of_partitions(leaf, column, snapshot))  # noqa: PLW2901 - step by step
        of_partitions.append(outcomes)
        bounds = None if column is None else table.file_bounds(column.leaf.path)
        if bounds is not None and column is not None and isinstance(leaf, ColumnLeaf):
            statistics_flags[column.leaf.path] = with_statistics(bounds)
            outcomes = intersect(outcomes, outcomes_from_bounds(leaf, bounds))  # noqa: PLW2901 - see above
        by_leaf.append(outcomes)
    sources = {field.source for field in snapshot.partition_fields if field.transform != "void"}
    return FileAnswers(
        partitions=fold(predicate, of_partitions),
        outcomes=fold(predicate, by_leaf),
        by_leaf=tuple(by_leaf),
        by_partition=tuple(of_partitions),
        by_values=frozenset(path for path, column in columns.items() if column.field_id in sources),
        files_with_statistics=statistics_flags,
        examined_files=int(files.has_entry.sum()),
        by_list=ByList(tuple(by_list), len(read), int(len(read) - read.sum())),
    )


def _manifest_outcomes(leaf: Leaf, column: IcebergColumn | None, snapshot: IcebergSnapshot) -> OutcomeArray:
    count = len(snapshot.summaries)
    if isinstance(leaf, Constant):
        return constant_answers(leaf, count)
    if column is None or not isinstance(leaf, ColumnLeaf):
        return unknown(count)
    return outcomes_of_manifests(leaf, column, snapshot)
