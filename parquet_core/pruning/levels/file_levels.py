"""Pruning levels for whole files, evaluated before this process reads a footer.

The sources are a manifest list, partition values, file statistics in a log, and results of Spark executors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.fix import Fix, Step
from parquet_core.pruning.known_levels import KnownLevel
from parquet_core.pruning.levels.pruning_query import LevelState, PruningLevel
from parquet_core.pruning.outcomes import Outcomes, intersect, may_match
from parquet_core.pruning.predicate import (
    ColumnLeaf,
    Constant,
    MultiColumnLeaf,
    OnPartitions,
    columns_of,
    columns_of_leaf,
)
from parquet_core.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_core.format.schema import Path
    from parquet_core.pruning.known_levels import Status, Unit
    from parquet_core.pruning.levels.pruning_query import PruningQuery

_MANIFESTS = KnownLevel.MANIFEST_LIST.key
_PARTITIONS = KnownLevel.PARTITION_VALUES.key
_LOG_STATISTICS = KnownLevel.DELTA_STATISTICS.key
_EXECUTORS = KnownLevel.EXECUTORS.key


def evaluate_manifests(query: PruningQuery, before: LevelState) -> LevelState | None:
    """Evaluate the partition bounds of a manifest list.

    None if the table has no manifest list.
    """
    by_list = query.files.by_list
    if by_list is None:
        return None
    outcomes = before.by_leaf.copy()
    for i, of_files in enumerate(by_list.by_leaf):
        outcomes[i] = of_files[query.index.groups.file]
    why = f"{by_list.unread:,} of {counted(by_list.lists, 'manifest')} are not read"
    if query.files.by_values.isdisjoint(columns_of(query.predicate)):
        return LevelState(_MANIFESTS, query.fold_leaves(outcomes), outcomes, "not_applicable", _why_not(query), "file")
    return LevelState(_MANIFESTS, query.fold_leaves(outcomes), outcomes, "consulted", why, "file")


MANIFESTS = PruningLevel(_MANIFESTS, evaluate_manifests, is_free=True)


def evaluate_partitions(query: PruningQuery, before: LevelState) -> LevelState:
    """Evaluate the partition values of every file.

    Constants are evaluated here only if the predicate names a partition column; otherwise the level of row-group
    statistics evaluates them.
    """
    files, index = query.files, query.index
    outcomes = before.by_leaf.copy()
    names_partition = not files.by_values.isdisjoint(columns_of(query.predicate))
    for i, leaf in enumerate(query.parts[: query.auxiliary.leaves]):
        is_on_partition = isinstance(leaf, ColumnLeaf | MultiColumnLeaf) and not files.by_values.isdisjoint(
            columns_of_leaf(leaf)
        )
        if is_on_partition or isinstance(leaf, OnPartitions) or (names_partition and isinstance(leaf, Constant)):
            outcomes[i] = files.of_partitions[i][index.groups.file]
    folded = query.fold_leaves(outcomes)
    folded[index.groups.row_count <= 0] = Outcomes.NONE
    unit: Unit = "row group" if index.groups.opened is None else "file"
    if names_partition:
        return LevelState(_PARTITIONS, folded, outcomes, "consulted", "", unit)
    return LevelState(_PARTITIONS, folded, outcomes, "not_applicable", _why_not(query), unit)


def _why_not(query: PruningQuery) -> str:
    partitions = query.index.groups.partitions
    if not partitions and not query.files.by_values:
        return "the table is not partitioned"
    doubtful = [f"{column.name}: {column.unsupported}" for column in partitions if column.unsupported]
    if doubtful:
        return "; ".join(doubtful[:3])
    names = [column.name for column in partitions] or sorted(".".join(path) for path in query.files.by_values)
    return f"the predicate does not depend on {', '.join(names)} alone"


PARTITIONS = PruningLevel(_PARTITIONS, evaluate_partitions, is_free=True)


def evaluate_log_statistics(query: PruningQuery, before: LevelState) -> LevelState | None:
    """Evaluate file statistics in the list of files.

    None if the list has no statistics.
    """
    if query.files.files_with_statistics is None:
        return None
    outcomes = before.by_leaf.copy()
    for i, of_files in enumerate(query.files.by_leaf):
        outcomes[i] = intersect(outcomes[i], of_files[query.index.groups.file])
    status, why = _status(query, query.files.files_with_statistics)
    return LevelState(_LOG_STATISTICS, query.fold_files(outcomes), outcomes, status, why, "file")


def _status(query: PruningQuery, counts: Mapping[Path, int]) -> tuple[Status, str]:
    files, by_path = query.files, {column.path for column in query.index.groups.columns}
    examined = files.examined_files
    paths = [path for path in columns_of(query.predicate) if path in by_path]
    if not query.index.groups.files or np.all(~may_match(files.partitions)):
        return "not_applicable", "partition values leave no file"
    if not paths:
        return "not_applicable", "no part of the predicate can be answered from statistics of files"
    if examined == 0:
        return "not_applicable", "partition values decide every file"
    silent = [".".join(path) for path in paths if not counts.get(path)]
    why = [f"no file has usable statistics for {', '.join(silent)}"] if silent else []
    why += [
        f"{examined - counts[path]:,} of {examined:,} files have no usable statistics for {'.'.join(path)}"
        for path in paths
        if 0 < counts.get(path, 0) < examined
    ]
    why += [f"{Fix(step=Step.INSPECT)} gives the reason"] if why else []
    return ("absent" if len(silent) == len(paths) else "consulted"), "; ".join(why)


LOG_STATISTICS = PruningLevel(_LOG_STATISTICS, evaluate_log_statistics, is_free=True)


def evaluate_executors(query: PruningQuery, before: LevelState) -> LevelState | None:
    """Merge the results of Spark executors, which evaluated all levels.

    None if they did not run.
    """
    elsewhere = query.files.elsewhere
    if elsewhere is None:
        return None
    status: Status = "not_applicable" if elsewhere.kept.all() else "consulted"
    return LevelState(_EXECUTORS, query.fold(before.by_leaf), before.by_leaf, status, elsewhere.why, "file")


EXECUTORS = PruningLevel(_EXECUTORS, evaluate_executors, is_free=True)
