"""Why a row group was skipped or kept, in words that name leaf, evidence and bounds."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.outcomes import may_match
from parquet_core.predicate import columns_of, conjuncts_of, leaves
from parquet_core.pruning import fold
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Path, Predicate
    from prune_assets.planner.levels import Evaluation
    from prune_assets.planner.question import LevelState

MAX_VALUE_CHARACTERS = 40
# A conjunct may be a list of thousands; in the reason of each row group its beginning does.
MAX_SQL_CHARACTERS = 500
MAX_CONJUNCTS = 20
_BLOCK = 1_024
_EVIDENCE = {
    "bloom_filter": "a bloom filter denies its value; ",
    "dictionary": "no entry of the dictionary satisfies it; ",
}


class _Bounds(NamedTuple):
    """Lower, upper and null count of successive row groups, as text."""

    lower: list[str]
    upper: list[str]
    nulls: list[str]


class Reasons:
    """Words for the row groups of one evaluation; what many of them share is made once."""

    def __init__(self, evaluation: Evaluation, index: MetadataIndex) -> None:
        self._index = index
        by_path = {column.path: column for column in index.columns if not column.unsupported}
        conjuncts = conjuncts_of(evaluation.predicate)
        self._asked = [columns_of(conjunct) for conjunct in conjuncts]
        self._columns = {path: by_path[path] for path in dict.fromkeys(chain(*self._asked)) if path in by_path}
        self._texts: dict[tuple[Path, int], _Bounds] = {}
        self._sql = [_clipped(render(conjunct), MAX_SQL_CHARACTERS) for conjunct in conjuncts]
        self._denied = {state.level: _first_denied(conjuncts, state.by_leaf) for state in evaluation.of_row_groups}

    def skipped_by(self, state: LevelState, position: int) -> str:
        """Say which conjunct is ruled out in a row group once a level was asked."""
        number = int(self._denied[state.level][position])
        if number == len(self._sql):
            return f"no row can satisfy all of: {_some(self._sql)}"
        return f"{self._sql[number]}: {_EVIDENCE.get(state.level, '')}{self._bounds(number, position)}"

    def kept(self, position: int) -> str:
        """Say which conjuncts could not be ruled out, with the bounds that leave them open."""
        bounds = [self._bounds(number, position) for number in range(min(len(self._sql), MAX_CONJUNCTS))]
        said = [f"{sql}: {text}" for sql, text in zip(self._sql, bounds, strict=False) if text]
        return _some(said, len(self._sql) - len(bounds)) if said else "no metadata can answer the predicate"

    def _bounds(self, conjunct: int, position: int) -> str:
        said = []
        for path in self._asked[conjunct]:
            if path in self._index.partition_values:
                value = self._index.partition_values[path][int(self._index.file[position])]
                (text,) = _shown(pa.repeat(value, 1)) if value.is_valid else ("null",)
                said.append(f"{'.'.join(path)} is {text} by its directory")
            if path in self._columns:
                texts, i = self._of_column(self._columns[path], position // _BLOCK), position % _BLOCK
                said.append(f"{'.'.join(path)} in [{texts.lower[i]}, {texts.upper[i]}], {texts.nulls[i]} nulls")
        return ", ".join(said)

    def _of_column(self, column: LeafColumn, block: int) -> _Bounds:
        key = column.path, block
        if key not in self._texts:
            bounds = self._index.bounds(column)
            low, high = block * _BLOCK, min((block + 1) * _BLOCK, len(bounds))
            sides = (bounds.lower, bounds.upper, bounds.null_count)
            self._texts[key] = _Bounds(*(_shown(side[low:high]) for side in sides))
        return self._texts[key]


def _first_denied(conjuncts: Sequence[Predicate], answers: OutcomeArray) -> NDArray[np.int64]:
    """Return by row group the first conjunct that no row satisfies, their number where there is none."""
    denied = np.full(answers.shape[1], len(conjuncts), np.int64)
    first = 0
    for i, conjunct in enumerate(conjuncts):
        count = sum(1 for _ in leaves(conjunct))
        may = may_match(fold(conjunct, answers[first : first + count]))
        denied[~may & (denied == len(conjuncts))] = i
        first += count
    return denied


def _some(texts: Sequence[str], more: int = 0) -> str:
    more += max(0, len(texts) - MAX_CONJUNCTS)
    return "; ".join([*texts[:MAX_CONJUNCTS], *([f"and {more:,} more"] if more else [])])


def _shown(values: pa.Array) -> list[str]:
    # A date beyond year 9999 has no Python value, only a text.
    plain = (values.cast(pa.string()) if pa.types.is_date(values.type) else values).to_pylist()
    return [_show(value) for value in plain]


def _show(value: object) -> str:
    if value is None:
        return "unknown"
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return _clipped(text, MAX_VALUE_CHARACTERS)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
