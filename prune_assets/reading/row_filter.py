"""Evaluate a predicate in stages.

Conjuncts are grouped by their columns. Each stage is evaluated on the remaining rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.format.comparable_values import bounds_type
from parquet_core.pruning import refuse_unsupported, selected_rows
from parquet_core.pruning.predicate import And, IsNull, OnPartitions, OnValues, Unsupported, columns_of, leaves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning import RowUse
    from parquet_core.pruning.predicate import Predicate

# If a stage keeps more than this share of rows, reading its columns first is not worth the additional requests.
MOST_LEFT = 0.5


@dataclass(slots=True)
class Stage:
    """Conjuncts that are evaluated together.

    `columns`: top-level columns that the conjuncts need.
    `use`: purpose of the test.
    `seen`, `left`: number of rows tested and of rows selected so far.
    """

    conjuncts: tuple[Predicate, ...]
    columns: frozenset[str]
    use: RowUse
    seen: int = 0
    left: int = 0

    @property
    def tested(self) -> list[OnValues]:
        """Conditions that are tested on each distinct value of a column."""
        return [leaf for part in self.conjuncts for leaf in leaves(part) if isinstance(leaf, OnValues)]

    def select(
        self, values: Mapping[str, pa.ChunkedArray], table: Mapping[Path, LeafColumn], count: int
    ) -> NDArray[np.bool_]:
        """Flag the rows, of `count`, that all conjuncts select.

        Raises UnsupportedFeature if the values do not decide a conjunct.
        """
        # Evaluated as one predicate: an unknown outcome does not matter on rows that another conjunct excludes.
        part = And(self.conjuncts) if len(self.conjuncts) > 1 else self.conjuncts[0]
        typed = typed_columns(part)
        compared = {
            path: compared_values(path, values, table[path] if path in typed else None) for path in columns_of(part)
        }
        keep = selected_rows(part, compared, count, self.use)
        self.seen += count
        self.left += int(keep.sum())
        return keep


def stages_of(predicate: Predicate, bytes_per_row: Mapping[str, float], use: RowUse) -> list[Stage]:
    """Split a predicate into stages, cheapest columns first. Raises UnsupportedFeature for an unsupported condition.

    Conjuncts that are unknown for some values come last. `bytes_per_row`: compressed bytes per column.
    """
    refuse_unsupported(predicate, use)
    together: dict[tuple[bool, frozenset[str]], list[Predicate]] = {}
    for conjunct in predicate.children if isinstance(predicate, And) else (predicate,):
        columns = frozenset(path[0] for path in columns_of(conjunct))
        together.setdefault((_is_partly_unknown(conjunct), columns), []).append(conjunct)
    ordered = sorted(together, key=lambda of: (of[0], sum(bytes_per_row.get(name, 0.0) for name in of[1])))
    return [Stage(tuple(together[of]), of[1], use) for of in ordered]


def _is_partly_unknown(conjunct: Predicate) -> bool:
    return any(isinstance(leaf, Unsupported | OnPartitions) for leaf in leaves(conjunct))


def adapted(stages: Sequence[Stage]) -> list[Stage]:
    """Join each stage that kept most of its rows with the next one.

    Reading the columns of both stages together saves requests, and the first stage alone excludes few rows.
    """
    joined: list[Stage] = []
    for stage in stages:
        before = joined[-1] if joined else None
        if before is not None and before.seen and before.left > MOST_LEFT * before.seen:
            joined[-1] = Stage(before.conjuncts + stage.conjuncts, before.columns | stage.columns, stage.use)
        else:
            joined.append(stage)
    return joined


def typed_columns(predicate: Predicate) -> set[Path]:
    """Return the columns whose values are compared, not only tested for null."""
    return {path for leaf in leaves(predicate) if not isinstance(leaf, IsNull) for path in columns_of(leaf)}


def compared_values(path: Path, values: Mapping[str, pa.ChunkedArray], column: LeafColumn | None) -> pa.Array:
    """Return the values of a column in the type that predicates compare.

    Without `column`, the values keep their own type.
    """
    array = values[path[0]]
    for name in path[1:]:
        array = pc.struct_field(array, [array.type.get_field_index(name)])
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return whole if column is None else whole.cast(bounds_type(column))
