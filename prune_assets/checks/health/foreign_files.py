"""Files that share no column with the others, as a finding: what was put beside a table by mistake reads as nulls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.layout.places import file_name
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.dataset.metadata_index import MetadataIndex


def foreign_files(index: MetadataIndex) -> Iterator[Finding]:
    """Warn of files that share no column with most of them, nor with others that do."""
    names = [{column.path[0].casefold() for column in kind.columns} for kind in index.kinds]
    counts = np.bincount(index.kind, minlength=len(names))
    left = {kind for kind in np.flatnonzero(counts).tolist() if names[kind]}
    if len(left) < 2:
        return
    known = set(names[max(left, key=lambda kind: counts[kind])])
    while akin := {kind for kind in left if names[kind] & known}:
        left -= akin
        known.update(*(names[kind] for kind in akin))
    foreign = np.flatnonzero(np.isin(index.kind, sorted(left)))
    if not len(foreign):
        return
    more = f" (and {counted(len(foreign) - 1, 'more file')})" if len(foreign) > 1 else ""
    message = f"shares no column with the other {counted(len(index.files) - len(foreign), 'file')}"
    remedy = "move it out of the table, or write it again with the columns of the table"
    location = f"{file_name(index, int(foreign[0]))}{more}"
    yield Finding("files.foreign", Severity.WARN, location, message, remedy)
