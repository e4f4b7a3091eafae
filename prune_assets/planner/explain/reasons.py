"""Reasons why a row group was skipped or kept, each with leaf, evidence and bounds."""

from __future__ import annotations

import math
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.pruning.evidence.listed_values import listed_values
from parquet_core.pruning.levels import LEVELS
from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import (
    ColumnLeaf,
    Compare,
    Constant,
    In,
    IsNaN,
    IsNull,
    MultiColumnLeaf,
    OnPartitions,
    OnValues,
    Op,
    Unsupported,
    columns_of,
    conjuncts_of,
    leaves,
)
from parquet_core.pruning.trees import fold, open_outcomes
from parquet_core.quantities import counted
from parquet_core.spark_rules.spark_schema import has_reliable_nulls
from prune_assets.report.quantities import value_text
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning import Evaluation
    from parquet_core.pruning.levels.pruning_query import LevelState
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Predicate
    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.table import Table


# A leaf may be a list of thousands of values; each row group's reason shows only its beginning.
MAX_SQL_CHARACTERS = 500
_MOST_LEAVES = 20
# Bounds of a log's files are shown up to this number of files.
MAX_LOGGED = 2_000
_BLOCK = 1_024
_PROVEN = {Outcomes.TRUE: "true", Outcomes.FALSE: "false"}


_SILENT = "no metadata is available for it"


class Reasons:
    """Reasons for the row groups of one evaluation.

    Reasons read no further metadata; they say which metadata a level did not read. Parts that several row groups share
    are computed once, on first use.
    """

    def __init__(self, evaluation: Evaluation, index: MetadataIndex, table: Table) -> None:
        self._index = index
        self._table = table
        self._evaluation = evaluation
        self._in_paths = evaluation.query.files.by_values
        self._by_path = {column.path: column for column in index.groups.columns if has_reliable_nulls(column)}
        self._conjuncts = conjuncts_of(evaluation.predicate)
        self._leaves = tuple(leaves(evaluation.predicate))
        # All row groups share these few texts.
        self._sql_of_conjunct = cache(lambda i: _sql(self._conjuncts[i]))
        self._sql_of_leaf = cache(lambda i: _sql(self._leaves[i]))
        self._denied: dict[str, NDArray[np.int64]] = {}
        self._blocks: dict[int, tuple[list[OutcomeArray], list[OutcomeArray]]] = {}

    def skipped_by(self, state: LevelState, position: int) -> str:
        """Return the conjunct that excludes a row group by the evidence of a level and of the levels before it."""
        if state.level not in self._denied:
            self._denied[state.level] = _first_denied(self._conjuncts, state.by_leaf)
        denied = int(self._denied[state.level][position])
        if denied == len(self._conjuncts):
            all_of = [self._sql_of_conjunct(i) for i in range(min(denied, _MOST_LEAVES))]
            all_of += [f"and {denied - _MOST_LEAVES:,} more"] if denied > _MOST_LEAVES else []
            return f"no row can satisfy all of: {'; '.join(all_of)}"
        conjunct = self._conjuncts[denied]
        denies = next(level.denies for level in LEVELS if level.name == state.level)
        evidence = f"{denies}{self._bounds(conjunct, position, of_log=state.unit == 'file')}"
        return f"{self._sql_of_conjunct(denied)}: {evidence or 'no row matches'}"

    def kept_by(self, position: int) -> tuple[int, ...]:
        """Return the numbers of the leaves that could not skip the row group, at most the first 20."""
        (_, opened), offset = self._block(position), position % _BLOCK
        return tuple(islice((i for i, outcomes in enumerate(opened) if outcomes[offset]), _MOST_LEAVES))

    def kept(self, position: int) -> str:
        """Explain, for each leaf, why it could not skip the row group."""
        reasons = [f"{self._sql_of_leaf(i)}: {self._open_because(i, position)}" for i in self.kept_by(position)]
        if len(reasons) == _MOST_LEAVES:
            reasons.append("and more")
        return "; ".join(reasons) if reasons else "no metadata can answer the predicate"

    def _block(self, position: int) -> tuple[list[OutcomeArray], list[OutcomeArray]]:
        """Return the outcomes of each leaf in the block around `position`, and the outcomes that keep row groups."""
        block_index = position // _BLOCK
        if block_index not in self._blocks:
            # Row groups are visited in order, so earlier blocks are not needed any more.
            self._blocks.clear()
            block = slice(block_index * _BLOCK, (block_index + 1) * _BLOCK)
            outcomes = [answer[block] for answer in self._evaluation.row_groups.by_leaf]
            self._blocks[block_index] = outcomes, open_outcomes(self._evaluation.predicate, outcomes)
        return self._blocks[block_index]

    def _open_because(self, leaf_index: int, position: int) -> str:
        (outcomes, opened), offset = self._block(position), position % _BLOCK
        leaf, wanted = self._leaves[leaf_index], Outcomes(int(opened[leaf_index][offset]))
        if isinstance(leaf, (Unsupported, Constant)):
            return f"does not prune: {leaf.reason}" if isinstance(leaf, Unsupported) else "the result is constant"
        proven = int(outcomes[leaf_index][offset]) == wanted
        if isinstance(leaf, MultiColumnLeaf | OnPartitions) or leaf.column in self._in_paths:
            return self._bounds(leaf, position) or _SILENT
        column = self._by_path.get(leaf.column)
        if column is None:
            return _SILENT
        if proven:
            why = why_open(leaf, self._index.footers.bounds(column), position, wanted, proven=proven)
            return f"{why}: {_PROVEN.get(wanted, 'decided')} for every row"
        if isinstance(leaf, OnValues):
            return self._explain_values(leaf, column, position)
        why = why_open(leaf, self._index.footers.bounds(column), position, wanted)
        return "; ".join([why, *self._notes(leaf, column, position)])

    def _explain_values(self, leaf: OnValues, column: LeafColumn, position: int) -> str:
        """Explain why a test of the column's values did not exclude the row group, or why the values are unknown."""
        (dictionary,) = self._index.dictionaries.cached(column, np.array([position]))
        if dictionary is None or isinstance(dictionary, str):
            why = "was not read" if dictionary is None else f"is not usable: {dictionary}"
            return f"does not prune: {leaf.part.reason}, and the values are unknown: the dictionary {why}"
        values = counted(len(dictionary), "dictionary value")
        if leaf.test.limits:
            return f"does not prune: {leaf.part.reason}, and not all of {values} were tested: {leaf.test.limits}"
        return f"at least one of {values} matches or raises"

    def _notes(self, leaf: ColumnLeaf, column: LeafColumn, position: int) -> list[str]:
        """Explain, for each level, why it did not decide a leaf."""
        query, states = self._evaluation.query, {state.level: state for state in self._evaluation.states}
        explaining = [(states[level.name], level.explain) for level in LEVELS if level.explain and level.name in states]
        notes = [explain(state, query, leaf, column, position) for state, explain in explaining]
        return [note for note in notes if note]

    def _bounds(self, predicate: Predicate, position: int, *, of_log: bool = False) -> str:
        bounds_texts = []
        for path in columns_of(predicate):
            if path in self._in_paths:
                bounds_texts.append(
                    f"{'.'.join(path)} is {self._table.partition_text(path, int(self._index.groups.file[position]))}"
                )
            if path not in self._by_path:
                continue
            column, offset = self._by_path[path], position
            bounds = self._index.footers.bounds(column)
            if of_log:
                offset = int(self._index.groups.file[position])
                logged = self._table.file_bounds(path) if len(self._index.groups.files) <= MAX_LOGGED else None
                if logged is None:
                    continue
                bounds = logged
            low, high, nulls = bounds.lower[offset], bounds.upper[offset], bounds.null_count[offset]
            bounds_texts.append(f"{column.name} in [{value_text(low)}, {value_text(high)}], {value_text(nulls)} nulls")
        return ", ".join(bounds_texts)


def _first_denied(conjuncts: Sequence[Predicate], outcomes: OutcomeArray) -> NDArray[np.int64]:
    """Return, for each row group, the number of the first conjunct that no row satisfies; `len(conjuncts)` if none."""
    denied, first = np.full(outcomes.shape[1], len(conjuncts), np.int64), 0
    for i, conjunct in enumerate(conjuncts):
        count = sum(1 for _ in leaves(conjunct))
        may = may_match(fold(conjunct, outcomes[first : first + count]))
        denied[~may & (denied == len(conjuncts))] = i
        first += count
    return denied


def _sql(predicate: Predicate) -> str:
    sql = render(predicate)
    return sql if len(sql) <= MAX_SQL_CHARACTERS else f"{sql[:MAX_SQL_CHARACTERS]}…"


def why_open(leaf: ColumnLeaf, bounds: Bounds, position: int, wanted: Outcomes, *, proven: bool = False) -> str:
    """Explain why the bounds of a container do not decide a leaf.

    `wanted`: the outcomes that remain possible.
    `proven`: True if every row has one of these outcomes.
    """
    low, high = bounds.lower[position], bounds.upper[position]
    match leaf:
        case IsNull():
            return _nulls(bounds, position, wanted)
        case IsNaN():
            count = bounds.nan_count[position]
            return f"{count.as_py():,} NaN" if count.is_valid else "the number of NaN is unknown"
    if not low.is_valid and not high.is_valid:
        nulls = bounds.null_count[position]
        return f"min and max are unknown, {value_text(nulls)} nulls"
    if proven or wanted != Outcomes.TRUE:
        return f"min {value_text(low)}, max {value_text(high)}"
    if pa.types.is_floating(low.type) and not is_inside(leaf, low, high):
        return f"min {value_text(low)}, max {value_text(high)}; NaN is possible, which bounds ignore"
    return (
        _members(leaf.values, low, high) if isinstance(leaf, In) else f"min {value_text(low)}, max {value_text(high)}"
    )


def _nulls(bounds: Bounds, position: int, wanted: Outcomes) -> str:
    nulls, rows = bounds.null_count[position], int(bounds.row_count[position])
    if not nulls.is_valid:
        return "the number of nulls is unknown"
    if wanted == Outcomes.FALSE:
        return f"{rows - nulls.as_py():,} of {rows:,} rows are not null"
    return f"{nulls.as_py():,} of {rows:,} rows are null"


def is_inside(leaf: ColumnLeaf, low: pa.Scalar, high: pa.Scalar) -> bool:
    """Return True if the bounds of floats keep a container; False if only a possible NaN keeps it."""
    least = low.as_py() if low.is_valid else -math.inf
    most = high.as_py() if high.is_valid else math.inf
    match leaf:
        case Compare(_, Op.EQ, value):
            inside = least <= value.as_py() <= most
        case Compare(_, Op.GT, value):
            inside = most > value.as_py()
        case Compare(_, Op.GE, value):
            inside = most >= value.as_py()
        case Compare(_, Op.NE, value):
            inside = not least == most == value.as_py()
        case _:
            inside = True
    return bool(inside)


def _members(values: pa.Array, low: pa.Scalar, high: pa.Scalar) -> str:
    first = listed_values(values, low.type).between(low, high)
    example = f", such as {value_text(first[0])}" if len(first) else ""
    inside = f"{len(first):,} of {counted(len(values), 'value')} between"
    return f"{inside} min {value_text(low)} and max {value_text(high)}{example}"
