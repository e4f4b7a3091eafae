"""Rewrite files of a table in groups.

One Spark job writes all groups. A column with the group number precedes the sort key and partitions the new files
into directories, so no file holds rows of two groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import MalformedFile
from parquet_core.storage import list_data_files
from prune_assets.tables.writes.arrange import arrange, write_parquet
from prune_assets.tables.writes.write_options import bind_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.storage import DataFile
    from prune_assets.tables.table import Table

# Temporary columns of a rewrite: the number of the group, and the file.
GROUP, FILE = "prune_group", "__prune_file"
RESERVED = {GROUP, FILE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Files of a table to rewrite, chosen at one moment.

    `group_of`: group of each file, by its index number.
    `rows`: number of live rows in the files.
    `layout`: layout of the new files, with the column names of the files and GROUP as its partition.
    `decide_again`: returns the rewrite for the current table; None if no file needs one. It is used for tables without
    versions, after other writers finished.
    `where`: condition that selected the files, for the table's history.
    """

    table: Table
    index: MetadataIndex
    group_of: Mapping[int, int]
    rows: int
    layout: LayoutSpec
    decide_again: Callable[[], Rewrite | None]
    where: str | None = None

    @property
    def numbers(self) -> list[int]:
        """Index numbers of the files, ascending."""
        return sorted(self.group_of)

    @property
    def groups(self) -> list[int]:
        """Group of each file, in the order of `numbers`."""
        return [self.group_of[file_number] for file_number in self.numbers]

    @property
    def files(self) -> Sequence[DataFile]:
        """The files, in the order of `numbers`."""
        return [self.index.groups.files[file_number] for file_number in self.numbers]


class Rewritten(NamedTuple):
    """Paths and bytes of new files, and paths of the replaced files."""

    added: dict[str, int]
    removed: frozenset[str]


def check_rewrite(table: Table, layout: LayoutSpec) -> None:
    """Refuse a layout that a rewrite of only some files cannot produce, before Spark starts."""
    table.format.writing_at(table.name).check_rewrite(table, layout)


def write_groups(
    frame: DataFrame,
    directory: str,
    rewrite: Rewrite,
    *,
    stored: Callable[[DataFrame, Mapping[str, str]], tuple[DataFrame, dict[str, str]]] | None = None,
) -> dict[str, int]:
    """Write rows with their group column; return the paths and bytes of the new files.

    `stored`: converts rows and options to the column names in files, if they differ.

    Raises MalformedFile if Spark read another number of rows than the files hold.
    """
    arranged, options = arrange(frame, rewrite.layout, bind_layout(frame.schema, rewrite.layout, case_sensitive=False))
    if stored is not None:
        arranged, options = stored(arranged, options)
    rows = write_parquet(arranged, directory, options, partition_by=[GROUP])
    if rows != rewrite.rows:
        raise MalformedFile(
            f"{rewrite.table.name}: Spark read {rows} rows from the picked files, but they hold {rewrite.rows}; "
            "nothing was changed"
        )
    return {file.path: file.size for file in (list_data_files(directory) if rows else [])}


def name_in_group(name: str, group: int | str) -> str:
    """Return a file name that is unique to a group: one task uses the same name in the directory of each group."""
    stem, _, rest = name.partition(".")
    return f"{stem}-g{group}.{rest}"
