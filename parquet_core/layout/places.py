"""Names of places in findings: file, row group, column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.storage import name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn


def file_name(index: MetadataIndex, number: int) -> str:
    """Name a file, with the directories of its partition."""
    file = index.files[number]
    return "/".join(file.path.split("/")[-1 - len(index.partitions) :]) if index.partitions else name_of(file)


def row_group_place(index: MetadataIndex, position: int, column: LeafColumn | None = None) -> str:
    """Name one row group, and a column of it."""
    place = f"{file_name(index, int(index.file[position]))}, row group {index.ordinal[position]}"
    return place if column is None else f"{place}, column {column.name}"


def row_groups_place(index: MetadataIndex, positions: Sequence[int], column: LeafColumn) -> str:
    """Name the first of several row groups and say how many more there are."""
    place = row_group_place(index, positions[0], column)
    return place if len(positions) == 1 else f"{place} (and {len(positions) - 1} more row groups)"
