"""Row-group statistics level; it needs no read beyond the footers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning.evidence.many_leaves import outcomes_of_each
from parquet_core.pruning.evidence.several_columns import outcomes_from_several_bounds
from parquet_core.pruning.known_levels import KnownLevel
from parquet_core.pruning.levels.pruning_query import LevelState, PruningLevel
from parquet_core.pruning.outcomes import intersect, may_match
from parquet_core.pruning.predicate import Constant, IsNull, columns_of_leaf
from parquet_core.pruning.trees import constant_answers
from parquet_core.trust.known_faults import reason_of_faults
from parquet_core.trust.writer_fault import Fact

if TYPE_CHECKING:
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.known_levels import Status
    from parquet_core.pruning.levels.pruning_query import PruningQuery
    from parquet_core.pruning.predicate import ColumnLeaf

_NAME = KnownLevel.ROW_GROUP_STATISTICS.key


def evaluate(query: PruningQuery, before: LevelState) -> LevelState:
    """Evaluate the statistics of every row group, and constants."""
    outcomes = before.by_leaf.copy()
    for i, leaf in enumerate(query.parts):
        if isinstance(leaf, Constant):
            outcomes[i] = intersect(outcomes[i], constant_answers(leaf, len(query.index)))
    for column, leaf_indices in query.by_column():
        of_column = outcomes_of_each(query.column_leaves(leaf_indices), query.index.footers.bounds(column))
        outcomes[leaf_indices] = intersect(outcomes[leaf_indices], of_column)
    for i, several in query.of_several_columns():
        of_columns = {
            path: query.index.footers.bounds(query.columns[path])
            for path in columns_of_leaf(several)
            if path in query.columns
        }
        bounds = query.files.with_partitions(several, of_columns, query.index.groups.file)
        outcomes[i] = intersect(outcomes[i], outcomes_from_several_bounds(several, bounds, len(query.index)))
    folded = query.fold(outcomes)
    columns = query.columns_with_metadata()
    if query.index.groups.opened is not None and not before.remaining.any():
        source = "directory names leave" if query.files.files_with_statistics is None else "the log leaves"
        return LevelState(_NAME, folded, outcomes, "not_applicable", f"{source} no file to open")
    if not columns and before.remaining.any() and not may_match(folded).any():
        return LevelState(
            _NAME, folded, outcomes, "consulted", "no row can match, by the constants of the predicate alone"
        )
    if not columns:
        why = "no part of the predicate can be answered from what files say about their columns"
        return LevelState(_NAME, folded, outcomes, "not_applicable", why)
    silent = [column.name for column in columns if not _has_statistics_of(query.index, column)]
    why = f"no row group has statistics that may be trusted for {', '.join(silent)}" if silent else ""
    status: Status = "absent" if len(silent) == len(columns) else "consulted"
    return LevelState(_NAME, folded, outcomes, status, why)


def _has_statistics_of(index: MetadataIndex, column: LeafColumn) -> bool:
    bounds = index.footers.bounds(column)
    return any(len(array) > array.null_count for array in (bounds.lower, bounds.upper, bounds.null_count))


def explain(_: LevelState, query: PruningQuery, leaf: ColumnLeaf, column: LeafColumn, position: int) -> str:
    """Return why the statistics for a leaf are not trusted, or ""."""
    footers = query.index.footers
    why = footers.why_doubted(column, position)
    if not why and footers.faulty(column):
        needed = Fact.NULL_COUNT if isinstance(leaf, IsNull) else ~Fact.NULL_COUNT
        faults = footers.faults(column, np.array([position]))
        why = reason_of_faults(fault for fault in faults if fault.wrong & needed)
    return f"statistics: {why}" if why else ""


STATISTICS = PruningLevel(_NAME, evaluate, is_free=True, explain=explain)
