"""Files of a table written anew, in groups.

All groups are written in one job: a column that numbers them goes before the sort key, and parts the new files into
directories, so that no file holds rows of two groups.
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

# What a rewrite adds to the rows for its own time: the number of the group, and the file.
GROUP, FILE = "prune_group", "__prune_file"
RESERVED = {GROUP, FILE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """What is written anew of a table at one moment.

    `group_of`: the group of each file, by its number in the index. `rows`: how many rows the files have that are not
    deleted. `layout`: of the new files, by their names for columns, with GROUP as its partition. `decide_again`:
    returns the rewrite of the table as it is now, None for nothing; for tables without versions, once no other writer
    is at work. `where`: what chose the files, as the history shows it.
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
        """The files by their numbers in the index, which ascend."""
        return sorted(self.group_of)

    @property
    def groups(self) -> list[int]:
        """The group of each of the files."""
        return [self.group_of[number] for number in self.numbers]

    @property
    def files(self) -> Sequence[DataFile]:
        """The files."""
        return [self.index.groups.files[number] for number in self.numbers]


class Rewritten(NamedTuple):
    """The paths and bytes of new files, and the paths of those that they replace."""

    added: dict[str, int]
    removed: frozenset[str]


def check_rewrite(table: Table, layout: LayoutSpec) -> None:
    """Refuse a layout that a rewrite of some files of a table cannot honour, before Spark starts."""
    table.format.writing_at(table.name).check_rewrite(table, layout)


def write_groups(
    frame: DataFrame,
    directory: str,
    rewrite: Rewrite,
    *,
    stored: Callable[[DataFrame, Mapping[str, str]], tuple[DataFrame, dict[str, str]]] | None = None,
) -> dict[str, int]:
    """Write rows that have their group; return the paths and bytes of the files.

    `stored`: returns rows and options by the names that files have for columns, where these are others.
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
    """Return the name of a file of a group: the files that one task writes have one name, in a directory for each."""
    stem, _, rest = name.partition(".")
    return f"{stem}-g{group}.{rest}"
