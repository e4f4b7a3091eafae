"""Locations in findings, and the partition of each file.

Order is checked only within partitions, since the sort key does not apply across them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.quantities import counted
from parquet_core.storage import name_of
from parquet_core.storage.partition_discovery import unescape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn


def file_name(index: MetadataIndex, file_number: int) -> str:
    """Return the name of a file, including the directories of its partition."""
    file = index.groups.files[file_number]
    return (
        "/".join(file.path.split("/")[-1 - len(index.groups.partitions) :])
        if index.groups.partitions
        else name_of(file)
    )


def files_place(index: MetadataIndex, file_numbers: Sequence[int] | NDArray[np.int64]) -> str:
    """Return the name of the first file, and how many follow."""
    location = file_name(index, int(file_numbers[0]))
    return location if len(file_numbers) == 1 else f"{location} (and {counted(len(file_numbers) - 1, 'more file')})"


def row_group_place(index: MetadataIndex, position: int, column: LeafColumn | None = None) -> str:
    """Return the location of a row group or a column in it."""
    location = f"{file_name(index, int(index.groups.file[position]))}, row group {index.groups.ordinal[position]}"
    return location if column is None else f"{location}, column {column.name}"


def row_groups_place(index: MetadataIndex, positions: Sequence[int], column: LeafColumn) -> str:
    """Return the location of the first row group, and how many follow."""
    location = row_group_place(index, positions[0], column)
    return location if len(positions) == 1 else f"{location} (and {counted(len(positions) - 1, 'more row group')})"


def share_of_files(index: MetadataIndex, positions: Sequence[int] | NDArray[np.int64]) -> str:
    """Return how many files are affected as text, such as "2 of 5 files".

    Row groups are counted instead if there is only one file.
    """
    files, lacking = (
        len(np.unique(index.groups.file[row_groups])) for row_groups in (index.groups.row_count > 0, positions)
    )
    if files == 1:
        return f"{len(positions):,} of {counted(int((index.groups.row_count > 0).sum()), 'row group')}"
    return f"any of {files:,} files" if lacking == files else f"{lacking:,} of {files:,} files"


def partition_of_files(index: MetadataIndex) -> NDArray[np.int64]:
    """Return a partition number per file, from its `name=value` directories."""
    names = {column.path[0].casefold() for column in index.groups.partitions}
    if not names:
        return np.zeros(len(index.groups.files), np.int64)
    number_of: dict[tuple[str, ...], int] = {}
    partitions = (_values(file.path, names) for file in index.groups.files)
    return np.array([number_of.setdefault(values, len(number_of)) for values in partitions], np.int64)


def _values(path: str, names: set[str]) -> tuple[str, ...]:
    directories = path.split("/")[:-1]
    return tuple(part for part in directories if "=" in part and unescape(part.partition("=")[0]).casefold() in names)
