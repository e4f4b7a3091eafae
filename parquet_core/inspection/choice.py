"""The choice of columns by the names that a caller gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError, UnknownColumn
from parquet_core.layout.check import find_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn


def choose_columns(index: MetadataIndex, names: Sequence[str]) -> tuple[LeafColumn, ...]:
    """Return the leaves of these dotted names, all leaves of a struct, list or map; every leaf without a name.

    Raises UnknownColumn for a column that is not there, and says which may be meant.
    """
    if not names:
        return index.columns
    chosen = {column.path for name in names for column in _under(index, name)}
    return tuple(column for column in index.columns if column.path in chosen)


def _under(index: MetadataIndex, name: str) -> Sequence[LeafColumn]:
    exact = [column for column in index.columns if column.name == name or column.name.startswith(f"{name}.")]
    try:
        return exact or [find_column(name, index, "--column")]
    except LayoutError as error:
        raise UnknownColumn(str(error)) from None
