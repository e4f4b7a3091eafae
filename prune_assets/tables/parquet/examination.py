"""Inspect tables of plain Parquet files, and list the partition values that directory names claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.arrow_arrays import from_numpy
from parquet_core.format.comparable_values import bounds_type
from parquet_core.inspection import choose_columns, inspect_table
from parquet_core.storage import local_path
from parquet_core.trust.bounds import Bounds
from prune_assets.tables.examination import Claims, Examination, Inspection
from prune_assets.tables.parquet.table import ParquetTable

if TYPE_CHECKING:
    from parquet_core.format.schema import Path
    from prune_assets.tables.examination import InspectOptions


def inspect_files(table: ParquetTable, options: InspectOptions) -> Inspection:
    """Describe the columns over all files."""
    from prune_assets.report.inspection.console import print_table

    index = table.read_all()
    inspection = inspect_table(table.name, index, choose_columns(index, options.names), bloom=options.bloom)
    return Inspection(inspection, lambda console: print_table(inspection, console))


def is_file(table: ParquetTable) -> bool:
    """Return True if the table is named by the path of its only file."""
    path = table.name
    path = local_path(path) if path.lower().startswith("file:") else path
    return [file.path for file in table.listed.files] == [path]


@dataclass(slots=True)
class DirectoryClaims(Claims):
    """What directory names claim about files: partition values."""

    table: ParquetTable
    name = "the directory"
    partition_remedy = "move the file to the partition of its rows, or write it without the column"

    def partition(self, path: Path, file: int) -> Bounds | None:
        """Return the value of a partition column in a file; None if it is not certain."""
        index = self.table.schema
        values = index.groups.partition_values.get(path)
        if values is None:
            return None
        (column,) = (column for column in index.groups.partitions if column.path == path)
        value = values[file : file + 1].cast(bounds_type(column))
        return Bounds.of(value, value, from_numpy(np.array([value.null_count], np.int64)), np.ones(1, np.int64))


EXAMINATION = Examination(
    inspect=inspect_files,
    claims=DirectoryClaims,
    read_partitioned=ParquetTable.read_partitioned,
    deleted_rows=lambda table: np.zeros(len(table.listed.files), np.int64),
    is_file=is_file,
)
