"""Skip files of a snapshot by partition values and by the bounds in manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.evidence.several_columns import columns_in_several, outcomes_from_several_bounds
from parquet_core.pruning.file_answers import ByList, FileAnswers
from parquet_core.pruning.outcomes import intersect, may_match, unknown
from parquet_core.pruning.predicate import ColumnLeaf, Constant, MultiColumnLeaf, columns_of, leaves
from parquet_core.pruning.trees import constant_answers, fold
from parquet_core.trust.bounds import first_known
from prune_assets.tables.iceberg.file_bounds import with_statistics
from prune_assets.tables.iceberg.manifests.manifest_skipping import outcomes_of_manifests
from prune_assets.tables.iceberg.metadata_files import wrapping_pyiceberg_errors
from prune_assets.tables.iceberg.partition_values import bounds_of_files, outcomes_of_partitions

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
    in_several = {path: columns[path] for path in columns_in_several(parts) if path in columns}
    with wrapping_pyiceberg_errors(snapshot.metadata_path):
        of_manifests = [_manifest_outcomes(leaf, column, snapshot) for leaf, column in zip(parts, named, strict=True)]
    ids = {column.field_id for column in (*named, *in_several.values()) if column is not None}
    read = snapshot.open(may_match(fold(predicate, of_manifests)), ids)
    files = snapshot.files
    by_list = [files.by_file(outcomes) for outcomes in of_manifests]
    with wrapping_pyiceberg_errors(snapshot.metadata_path):
        of_values = {
            path: bounds
            for path, column in in_several.items()
            if (bounds := bounds_of_files(column, snapshot)) is not None
        }
    statistics = {path: table.file_bounds(path) for path in dict.fromkeys(columns_of(predicate)) if path in columns}
    statistics_flags = {path: with_statistics(bounds) for path, bounds in statistics.items() if bounds is not None}
    in_files = of_values | {
        path: first_known(bounds, of_values[path]) if path in of_values else bounds
        for path, bounds in statistics.items()
        if bounds is not None and path in in_several
    }
    of_partitions, by_leaf = [], []
    for leaf, column, outcomes in zip(parts, named, by_list, strict=True):
        partition, both = outcomes, outcomes
        if isinstance(leaf, MultiColumnLeaf):
            partition = outcomes_from_several_bounds(leaf, of_values, len(files))
            both = intersect(partition, outcomes_from_several_bounds(leaf, in_files, len(files)))
        elif column is not None and isinstance(leaf, ColumnLeaf):
            with wrapping_pyiceberg_errors(snapshot.metadata_path):
                both = partition = intersect(outcomes, outcomes_of_partitions(leaf, column, snapshot))
            if (bounds := statistics[column.leaf.path]) is not None:
                both = intersect(partition, outcomes_from_bounds(leaf, bounds))
        of_partitions.append(partition)
        by_leaf.append(both)
    sources = {field.source for field in snapshot.partition_fields if field.transform != "void"}
    return FileAnswers(
        partitions=fold(predicate, of_partitions),
        outcomes=fold(predicate, by_leaf),
        by_leaf=tuple(by_leaf),
        by_partition=tuple(of_partitions),
        by_values=frozenset(path for path, column in columns.items() if column.field_id in sources),
        files_with_statistics=statistics_flags,
        examined_files=int(files.has_entry.sum()),
        bounds=of_values,
        by_list=ByList(tuple(by_list), len(read), int(len(read) - read.sum())),
    )


def _manifest_outcomes(leaf: Leaf, column: IcebergColumn | None, snapshot: IcebergSnapshot) -> OutcomeArray:
    count = len(snapshot.summaries)
    if isinstance(leaf, Constant):
        return constant_answers(leaf, count)
    if column is None or not isinstance(leaf, ColumnLeaf):
        return unknown(count)
    return outcomes_of_manifests(leaf, column, snapshot)
