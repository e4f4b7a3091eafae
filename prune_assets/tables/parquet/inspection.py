"""What `prune inspect` shows of the files of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.inspection import choose_columns, inspect_table
from prune_assets.report.inspection.console import print_table
from prune_assets.tables.table import Inspection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.dataset.metadata_index import MetadataIndex


def inspect_files(name: str, index: MetadataIndex, names: Sequence[str], *, bloom: str | None) -> Inspection:
    """Describe the columns over all files; `names`: as `choose_columns` has them."""
    found = inspect_table(name, index, choose_columns(index, names), bloom=bloom)
    return Inspection(found, lambda console: print_table(found, console))
