"""Why a row group was skipped or kept, in words that name leaf, evidence and bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.outcomes import may_match
from parquet_core.predicate import ColumnLeaf, conjuncts_of, leaves
from parquet_core.pruning import fold
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Predicate
    from prune_assets.planner.levels import Evaluation
    from prune_assets.planner.question import LevelState

MAX_VALUE_CHARACTERS = 40
_EVIDENCE = {
    "bloom_filter": "a bloom filter denies its value; ",
    "dictionary": "no entry of the dictionary satisfies it; ",
}


class Reasons:
    """Words for the row groups of one evaluation; the folds of its conjuncts are made once."""

    def __init__(self, evaluation: Evaluation, index: MetadataIndex) -> None:
        self._index = index
        self._by_path = {column.path: column for column in index.columns if not column.unsupported}
        self._conjuncts = conjuncts_of(evaluation.predicate)
        self._folds = {state.level: _fold_each(self._conjuncts, state.by_leaf) for state in evaluation.of_row_groups}

    def skipped_by(self, state: LevelState, position: int) -> str:
        """Say which conjunct is ruled out in a row group once a level was asked."""
        return self._first_denied(self._folds[state.level], position, _EVIDENCE.get(state.level, ""))

    def kept(self, position: int) -> str:
        """Say which conjuncts could not be ruled out, with the bounds that leave them open."""
        open_ = [conjunct for conjunct in self._conjuncts if self._bounds(conjunct, position)]
        said = [f"{render(conjunct)}: {self._bounds(conjunct, position)}" for conjunct in open_]
        return "; ".join(said) if said else "no metadata can answer the predicate"

    def _first_denied(self, folds: Sequence[OutcomeArray], position: int, evidence: str) -> str:
        for conjunct, answers in zip(self._conjuncts, folds, strict=True):
            if not may_match(answers[position : position + 1])[0]:
                return f"{render(conjunct)}: {evidence}{self._bounds(conjunct, position)}"
        return f"no row can satisfy all of: {'; '.join(map(render, self._conjuncts))}"

    def _bounds(self, predicate: Predicate, position: int) -> str:
        asked = dict.fromkeys(leaf.column for leaf in leaves(predicate) if isinstance(leaf, ColumnLeaf))
        said = []
        for path in asked:
            if path in self._index.partition_values:
                value = self._index.partition_values[path][int(self._index.file[position])]
                said.append(f"{'.'.join(path)} is {_show(value) if value.is_valid else 'null'} by its directory")
            if path not in self._by_path:
                continue
            column = self._by_path[path]
            bounds = self._index.bounds(column)
            low, high, nulls = bounds.lower[position], bounds.upper[position], bounds.null_count[position]
            said.append(f"{column.name} in [{_show(low)}, {_show(high)}], {_show(nulls)} nulls")
        return ", ".join(said)


def _fold_each(conjuncts: Sequence[Predicate], answers: Sequence[OutcomeArray]) -> list[OutcomeArray]:
    folds, first = [], 0
    for conjunct in conjuncts:
        count = sum(1 for _ in leaves(conjunct))
        folds.append(fold(conjunct, answers[first : first + count]))
        first += count
    return folds


def _show(value: pa.Scalar) -> str:
    if not value.is_valid:
        return "unknown"
    # A date beyond year 9999 has no Python value, only a text.
    if pa.types.is_timestamp(value.type):
        # Cast with its zone it would be looked up in the machine's database.
        return f"{value.cast(pa.timestamp(value.type.unit)).cast(pa.string())}{'Z' if value.type.tz else ''}"
    plain = (value.cast(pa.string()) if pa.types.is_date(value.type) else value).as_py()
    text = plain.decode("utf-8", "replace") if isinstance(plain, bytes) else str(plain)
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[:MAX_VALUE_CHARACTERS]}…"
