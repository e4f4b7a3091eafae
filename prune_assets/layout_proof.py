"""The layout of a table, proven from its files: of a Delta table from those that its log has, by its own names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from parquet_core.layout.spec import Finding, LayoutSpec


def check(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    layout: LayoutSpec,
    rows: bool = True,
    allow: Sequence[str] = (),
) -> list[Finding]:
    """Prove from the written bytes that a table has its layout.

    Of a Delta table the latest version is looked at, and no file that it does not have. `rows` also reads the sort
    key (and columns without a column index) to prove what bounds alone cannot. Files are compared within a
    partition, and a partition column of the sort key holds by itself. What holds is reported too, as severity
    `info`. `allow`: where files of a Delta table may lie other than below it. Raises LayoutError for a column that
    the table lacks, TableNotFound, MalformedFile, UnsupportedFeature and StorageFailure.
    """
    from parquet_core.layout import check_index
    from prune_assets.tables.opening import read_whole

    index, partition = read_whole(table, allow=allow)
    return check_index(index, layout=layout, rows=rows, partition=partition)
