"""How the files of a table stand, as findings: what keeps them from being skipped, whatever the layout asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.bloom import estimated_fpp
from parquet_core.format.schema import Physical
from parquet_core.inspection import choose_columns, inspect_table
from parquet_core.layout.spec import Finding, Severity
from parquet_core.printable import redacted
from parquet_core.quantities import bytes_text
from prune_assets.tables.log_health import MAX_SMALL_FILES, SMALL_BYTES
from prune_assets.tables.opening import read_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.inspection.facts import ColumnFacts

# A filter that errs more often than this is hardly worth its bytes.
MAX_FPP = 0.1
# So many filters of a column are looked at, spread over the table.
FILTERS = 16


def check_files(
    table: str | os.PathLike[str],
    *,
    columns: Sequence[str] = (),
    max_small_files: int = MAX_SMALL_FILES,
    allow: Sequence[str] = (),
) -> list[Finding]:
    """Tell what is wrong with the files of a table, by their footers and a few bloom filters.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": [1, 2], "x": ["a", "b"]}), f"{table}/0.parquet", write_statistics=["id"])
    >>> [(finding.code, finding.location.rpartition(" ")[2]) for finding in check_files(table)]
    [('statistics.missing', 'x')]

    `columns`: those to look at; by default all by which predicates prune. `max_small_files`: how many files may be
    smaller than 32 MiB. `allow`: as `plan` has it. Raises as opening a table does.
    """
    index, _ = read_whole(table, allow=allow)
    name = redacted(str(table))
    found = list(_sizes(index, name, max_small_files))
    asked = [column for column in choose_columns(index, columns) if columns or is_pruned_on(column)]
    for column, facts in zip(asked, inspect_table(name, index, asked).columns, strict=True):
        place = f"{name}, column {column.name}"
        found += [*_statistics(facts, place), *_filters(index, column, facts, place)]
    return found


def is_pruned_on(column: LeafColumn) -> bool:
    """Tell whether predicates prune by a column, or would if it were written as another type."""
    return not column.unsupported or column.physical is Physical.INT96


def _sizes(index: MetadataIndex, place: str, most: int) -> Iterator[Finding]:
    small = [file.size for file in index.files if file.size < SMALL_BYTES]
    if len(small) > most:
        message = (
            f"{len(small):,} of {len(index.files):,} files are smaller than {bytes_text(SMALL_BYTES)}, "
            f"{bytes_text(sum(small))} together; {most:,} are allowed"
        )
        yield Finding("files.small", Severity.ERROR, place, message, "write them together: prune optimize TABLE")


def _statistics(facts: ColumnFacts, place: str) -> Iterator[Finding]:
    if facts.physical == "INT96":
        message = "it is INT96, whose bounds nobody may believe: no predicate on it skips anything"
        remedy = "write it as TIMESTAMP_MICROS: spark.sql.parquet.outputTimestampType"
        yield Finding("statistics.int96", Severity.ERROR, place, message, remedy)
        return
    # Of a file without statistics of a column, and of one with bounds that are only partly believed, some are used.
    if not facts.without_bounds:
        return
    share = f"{facts.without_bounds:,} of {facts.row_groups:,} row groups"
    if facts.untrusted:
        message = f"the bounds of {share} are not believed: {'; '.join(facts.untrusted)}"
        remedy = "write these files again by another writer"
        yield Finding("statistics.untrusted", Severity.WARN, place, message, remedy)
        return
    message = f"{share} have no bounds, and are not skipped by it"
    yield Finding("statistics.missing", Severity.ERROR, place, message, "write these files again, with statistics")


def _filters(index: MetadataIndex, column: LeafColumn, facts: ColumnFacts, place: str) -> Iterator[Finding]:
    if not facts.with_bloom_filter:
        return
    there = np.flatnonzero(index.footers.chunks(column).bloom_filter[:, 0] > 0)
    sample = there[np.linspace(0, len(there) - 1, min(FILTERS, len(there))).astype(np.int64)]
    filters = [found for found in index.bloom_filters.read(column, sample) if not isinstance(found, str)]
    worst = max((estimated_fpp(found) for found in filters), default=0.0)
    if worst > MAX_FPP:
        message = f"its bloom filters say 'maybe' of {worst:.0%} of all values that are not there"
        remedy = "write with a lower probability, or expect more distinct values: bloom in layout.yaml"
        yield Finding("bloom_filter.full", Severity.WARN, place, message, remedy)
