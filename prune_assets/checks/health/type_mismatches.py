"""Columns that files store in types that Spark cannot read as the table's, as findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.layout.places import file_name
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.dataset.unread_columns import UnreadColumn


def type_mismatches(index: MetadataIndex, unread: Iterable[UnreadColumn]) -> Iterator[Finding]:
    """Report each column and stored type once, with the first of its files."""
    for column in unread:
        first, others = file_name(index, int(column.files[0])), len(column.files) - 1
        more = f" (and {counted(others, 'more file')})" if others else ""
        like = f", as in {file_name(index, int(column.others[0]))}" if len(column.others) else ""
        wanted = f"the table has {column.wanted}{like}"
        message = f"the file stores {column.name} as {column.stored}, {wanted}: Spark cannot read it"
        yield Finding("files.type_mismatch", Severity.ERROR, f"{first}{more}", message, column.remedy, (column.name,))
