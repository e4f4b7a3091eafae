"""The columns that files of a plain table hold and its schema lacks, so that Spark does not read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.ragged import distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn


@dataclass(frozen=True, slots=True, eq=False)
class ExtraColumn:
    """A column, or a field of a struct, and the `files` that hold it, which are numbers and ascend."""

    name: str
    files: NDArray[np.int64]


def extra_columns(index: MetadataIndex) -> list[ExtraColumn]:
    """Return what files with rows hold beside the table's schema, which Spark takes from one file."""
    groups = index.read_from()
    files = distinct(index.file[groups[index.row_count[groups] > 0]])
    known = {name for column in (*index.columns, *index.partitions) for name in _names(column)}
    found: dict[str, list[NDArray[np.int64]]] = {}
    of_kinds: dict[int, tuple[str, ...]] = {}
    for number in distinct(index.kind[files]).tolist():
        columns = index.kinds[number].columns
        # Footers of one schema share its columns.
        extra = of_kinds.setdefault(id(columns), _extra(columns, known))
        for name in extra:
            found.setdefault(name, []).append(files[index.kind[files] == number])
    return [ExtraColumn(name, np.sort(np.concatenate(parts))) for name, parts in found.items()]


def _extra(columns: Sequence[LeafColumn], known: set[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the outermost parts of columns that are not known, by their names."""
    extra: dict[str, None] = {}
    for column in columns:
        unknown = next((name for name in _names(column) if name not in known), None)
        if unknown is not None:
            extra[".".join(column.path[: len(unknown)])] = None
    return tuple(extra)


def _names(column: LeafColumn) -> list[tuple[str, ...]]:
    """Return a column and the fields of structs on the way to it; of a list or map no more than the column.

    Writers call the parts of lists and maps by different names, and Spark compares names without case.
    """
    path = tuple(part.casefold() for part in column.path)
    depth = 1 if column.max_repetition_level else len(path)
    return [path[: end + 1] for end in range(depth)]
