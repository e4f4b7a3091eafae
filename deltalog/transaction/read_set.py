"""The read set of a change: the files of a version that it may have read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from deltalog.log.text_arrays import path_array
from deltalog.stats.partition_match import place_files
from deltalog.stats.partition_values import outcomes_of_partition
from parquet_core.arrow_arrays import flags_from
from parquet_core.outcomes import may_match, must_match, unknown
from parquet_core.predicate import ColumnLeaf, Constant, leaves
from parquet_core.pruning import constant_answers, fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deltalog.log.file_block import FileBlock
    from deltalog.table.schema import TableSchema
    from deltalog.transaction.change import Reads
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Predicate


class Selected(NamedTuple):
    """Of each file of a block, whether a predicate selects all of its rows for certain, and whether it may any."""

    certain: NDArray[np.bool_]
    possible: NDArray[np.bool_]


def may_have_read(reads: Reads, schema: TableSchema, block: FileBlock) -> NDArray[np.bool_]:
    """Tell which files of a block a change has read, or would have if they had been there."""
    if reads.everything:
        return np.ones(len(block), np.bool_)
    found = np.zeros(len(block), np.bool_)
    if reads.where is not None:
        found |= select_files(reads.where, schema, block).possible
    if reads.partitions:
        found |= place_files(schema, reads.partitions, block).possible
    if reads.files:
        found |= flags_from(pc.is_in(block.path, value_set=path_array(sorted(reads.files))))
    return found


def select_files(predicate: Predicate, schema: TableSchema, block: FileBlock) -> Selected:
    """Ask a predicate of the files of a block, by their partition values alone."""
    outcomes = fold(predicate, [_answers(part, schema, block) for part in leaves(predicate)])
    return Selected(must_match(outcomes), may_match(outcomes))


def _answers(part: Leaf, schema: TableSchema, block: FileBlock) -> OutcomeArray:
    if isinstance(part, Constant):
        return constant_answers(part, len(block))
    column = schema.by_path().get(part.column) if isinstance(part, ColumnLeaf) else None
    if column is None or column.partition is None or not isinstance(part, ColumnLeaf):
        return unknown(len(block))
    return outcomes_of_partition(part, column, block)
