"""Files of other columns, as findings: those that share none with the table, and those that hold more than it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.dataset.extra_columns import extra_columns
from parquet_core.layout.places import files_place
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex

_MERGE = (
    "write the table again with the schemas merged: "
    "pr.write(spark.read.option('mergeSchema', True).parquet(..), .., layout=..)"
)


def files_of_other_columns(index: MetadataIndex) -> Iterator[Finding]:
    """Warn of files that share no column with the table, and of columns that its schema lacks."""
    foreign = foreign_files(index)
    if len(foreign):
        message = f"shares no column with the other {counted(len(index.files) - len(foreign), 'file')}"
        remedy = "move it out of the table, or write it again with the columns of the table"
        yield Finding("files.foreign", Severity.WARN, files_place(index, foreign), message, remedy)
    for column in extra_columns(index):
        if len(own := np.setdiff1d(column.files, foreign)):
            message = f"column {column.name} is not in the table's schema, so Spark does not read it"
            location = files_place(index, own)
            yield Finding("files.extra_column", Severity.WARN, location, message, _MERGE, (column.name,))


def foreign_files(index: MetadataIndex) -> NDArray[np.int64]:
    """Return the files that share no column with most of them, nor with others that do, by their numbers."""
    names = [{column.path[0].casefold() for column in kind.columns} for kind in index.kinds]
    counts = np.bincount(index.kind, minlength=len(names))
    left = {kind for kind in np.flatnonzero(counts).tolist() if names[kind]}
    if len(left) < 2:
        return np.zeros(0, np.int64)
    known = set(names[max(left, key=lambda kind: counts[kind])])
    while akin := {kind for kind in left if names[kind] & known}:
        left -= akin
        known.update(*(names[kind] for kind in akin))
    return np.flatnonzero(np.isin(index.kind, sorted(left)))
