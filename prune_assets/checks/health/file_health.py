"""Health of the files of a table, as findings.

Findings are about properties that prevent skipping under any layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.bloom import estimated_fpp
from parquet_core.dataset.unread_columns import extra_columns, unread_columns
from parquet_core.fix import Fix, Setting, Step
from parquet_core.format.leaf_type import counts_nanoseconds
from parquet_core.format.schema import Physical
from parquet_core.inspection import choose_columns, inspect_table
from parquet_core.layout.clustering import FEWEST, MOST_KEPT, kept_by_equality
from parquet_core.layout.column_indexes import REWRITE_WITH_INDEXES, nan_remedy
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.places import file_name, files_place, row_groups_place, share_of_files
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import bytes_text, counted
from parquet_core.trust.trust_policy import OTHER_TYPE
from prune_assets.checks.health.writers import newer_format, writer_faults
from prune_assets.tables.small_files import small_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.dataset.unread_columns import UnreadColumn
    from parquet_core.format.schema import LeafColumn
    from parquet_core.inspection.facts import ColumnFacts

# A row group is small if it has fewer rows and fewer bytes.
SMALL_ROWS, SMALL_BYTES = 10_000, 1 << 20
# Warn if a merge within the files would remove at least this many row groups.
SPARE_ROW_GROUPS = 100

# A bloom filter with more false positives is hardly worth its bytes.
MAX_FPP = 0.1
# Number of bloom filters read per column, spread over the table.
FILTERS = 16
# A row group with fewer rows is a single page by default, so no part of it can be skipped.
PAGE_ROWS = 20_000
_MERGE = (
    "write the table again with the schemas merged: "
    "pr.write(spark.read.option('mergeSchema', True).parquet(..), .., layout=..)"
)
_MICROS = "spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedFiles:
    """Files of a table, described by their footers.

    `partition`: partition number of each file.
    `columns`: columns to check; by default all columns by which predicates prune.
    `clustered_by`: columns that cluster the table according to its log.
    `by_log`: True if a log lists the files and their columns.
    """

    name: str
    index: MetadataIndex
    partition: NDArray[np.int64]
    columns: Sequence[str] = ()
    clustered_by: Sequence[str] = ()
    max_small_files: int | None = None
    by_log: bool = False


def check_footers(files: ExaminedFiles) -> Iterator[Finding]:
    """Check the files of a table by their footers and a few bloom filters."""
    index, name = files.index, files.name
    chosen = [column for column in choose_columns(index, files.columns) if files.columns or is_pruned_on(column)]
    facts = dict(zip(chosen, inspect_table(name, index, chosen).columns, strict=True))
    yield from small_files("files.small", name, index.groups.sizes_of_files(), files.partition, files.max_small_files)
    yield from small_row_groups(name, index)
    yield from writer_faults(name, index, chosen)
    if not files.by_log:
        yield from files_of_other_columns(index)
    yield from newer_format(name, index, facts)
    unread = [each for each in unread_columns(index) if not files.columns or each.name in files.columns]
    yield from type_mismatches(index, unread)
    explained = {each.name for each in unread}
    for column, of in facts.items():
        location = f"{name}, column {column.name}"
        if column.name not in explained or set(of.untrusted) != {OTHER_TYPE}:
            yield from _statistics(of, location)
        yield from (*_nanoseconds(column, location), *_filters(index, column, of, location))
        yield from _page_index(index, column, of)
    yield from _clustering(files, facts)


def is_pruned_on(column: LeafColumn) -> bool:
    """Return True if predicates prune by a column.

    Also True for columns that would prune if they were written as another type.
    """
    return not column.unsupported or column.physical is Physical.INT96 or has_nanoseconds(column)


def has_nanoseconds(column: LeafColumn) -> bool:
    """Return True for a column of nanosecond timestamps outside of lists and maps."""
    return not column.max_repetition_level and counts_nanoseconds(column.type, column.physical)


def _statistics(facts: ColumnFacts, location: str) -> Iterator[Finding]:
    name = (facts.name,)
    if facts.physical == "INT96":
        message = "it is INT96, whose bounds cannot be trusted: no predicate on it skips anything"
        fix = Fix("write microseconds: ", Step.WRITE_TABLE, f", or {_MICROS}")
        yield Finding("statistics.int96", Severity.ERROR, location, message, columns=name, fix=fix)
        return
    # Files without statistics of a column, and files with partly trusted bounds, still have some usable bounds.
    if not facts.without_bounds:
        return
    share = f"{facts.without_bounds:,} of {facts.row_groups:,} row groups"
    if facts.untrusted:
        message = f"the bounds of {share} are not trusted: {'; '.join(facts.untrusted)}"
        fix = Fix("write these files again by another writer: ", Step.WRITE_TABLE)
        yield Finding("statistics.untrusted", Severity.WARN, location, message, columns=name, fix=fix)
        return
    if facts.writer_faults:
        return
    message = f"{share} have no bounds, so no predicate on it skips them"
    if facts.physical in {"FLOAT", "DOUBLE"} and facts.null_count is not None:
        message = f"{message}; row groups of floats with NaN lack bounds"
        yield Finding("statistics.missing", Severity.INFO, location, message, nan_remedy(facts.name), name)
        return
    fix = Fix("write these files again, with statistics: ", Step.WRITE_TABLE)
    yield Finding("statistics.missing", Severity.ERROR, location, message, columns=name, fix=fix)


def _nanoseconds(column: LeafColumn, location: str) -> Iterator[Finding]:
    if has_nanoseconds(column):
        message = "timestamps of nanoseconds: Spark reads them as numbers or not at all"
        by_writer = "coerce_timestamps='us', allow_truncated_timestamps=True in pandas and pyarrow"
        # Spark cannot read nanosecond timestamps inside a struct.
        fix = Fix(f"write microseconds: {by_writer}")
        if len(column.path) == 1:
            fix = Fix("write microseconds: ", Step.WRITE_TABLE, f", or {by_writer}")
        yield Finding("statistics.nanoseconds", Severity.WARN, location, message, columns=(column.name,), fix=fix)


def _filters(index: MetadataIndex, column: LeafColumn, facts: ColumnFacts, location: str) -> Iterator[Finding]:
    if not facts.with_bloom_filter:
        return
    there = np.flatnonzero(index.footers.chunks(column).bloom_filter[:, 0] > 0)
    sample = there[np.linspace(0, len(there) - 1, min(FILTERS, len(there))).astype(np.int64)]
    filters = [read for read in index.bloom_filters.read(column, sample) if not isinstance(read, str)]
    worst = max((estimated_fpp(read) for read in filters), default=0.0)
    if worst > MAX_FPP:
        message = f"about {worst:.0%} false positives of its bloom filters"
        fix = Fix("lower the probability in `bloom` of layout.yaml, and rewrite the files: ", Step.WRITE_TABLE)
        yield Finding("bloom_filter.full", Severity.WARN, location, message, columns=(column.name,), fix=fix)


def _page_index(index: MetadataIndex, column: LeafColumn, facts: ColumnFacts) -> Iterator[Finding]:
    """Report row groups without a page index.

    The finding is a warning if one of these row groups has more rows than a page has by default.
    """
    chunks = index.footers.chunks(column)
    without = chunks.present & (index.groups.row_count > 0) & (chunks.offset_index[:, 0] <= 0)
    if not without.any() or facts.physical == "INT96":
        return
    lacking = np.flatnonzero(without)
    large = int(index.groups.row_count[lacking].max()) > PAGE_ROWS
    location = row_groups_place(index, lacking.tolist(), column)
    message = f"no page index in {share_of_files(index, lacking)}"
    severity, fix = (Severity.WARN, REWRITE_WITH_INDEXES) if large else (Severity.INFO, None)
    yield Finding("page_index.absent", severity, location, message, columns=(column.name,), fix=fix)


def _clustering(files: ExaminedFiles, facts: Mapping[LeafColumn, ColumnFacts]) -> Iterator[Finding]:
    """Report how much of the table an equality on one column reads.

    The column is a clustering column of the table or, without one, the column whose bounds overlap least.
    """
    index, partition, name = files.index, files.partition, files.name
    groups = int(np.count_nonzero(index.groups.row_count > 0))
    depths = {column: of.overlap_depth for column, of in facts.items() if of.overlap_depth}
    declared = [
        column for column in index.groups.columns if column.name in files.clustered_by and not column.unsupported
    ]
    # In a partitioned table, queries usually skip by the partition columns.
    if groups < FEWEST or not (depths or declared) or (not declared and partition.any()):
        return
    stands_out = declared or len(depths) == 1 or len(set(depths.values())) > 1
    chosen = declared or [min(depths, key=lambda column: depths[column] or 0.0)]
    groups_read = {column: kept_by_equality(index, column, partition)[0] for column in chosen}
    best = min(groups_read, key=lambda column: groups_read[column])
    what = (
        f"the table is clustered by {best.name}"
        if declared
        else f"row groups overlap {'less' if stands_out else 'no less'} on {best.name} than on other columns"
    )
    message = f"{what}: an equality on it reads {groups_read[best]:.1f} of {groups:,} row groups on average"
    if groups_read[best] <= MOST_KEPT * groups:
        if not stands_out:
            return
        yield Finding("files.clustering", Severity.INFO, f"{name}, column {best.name}", message)
        return
    fix, location = Fix("sort by a column that queries filter by: ", Step.OPTIMIZE), f"{name}, column {best.name}"
    yield Finding("files.clustering", Severity.WARN, location, message, columns=(best.name,), fix=fix)


FILES_ARE_HEALTHY = Check(
    "files_are_healthy",
    "Files have metadata for pruning; files and row groups are large enough.",
    {
        "files.small": Code(
            "Many files are smaller than 32 MiB. Opening them costs more than reading them. It is a warning "
            "where a merge within their partitions would save 10 files or more, and an error where there are more than "
            "1,000, or more than `max_small_files` allows.",
            "Write them together: `prune optimize TABLE --layout layout.yaml`.",
        ),
        "files.small_row_groups": Code(
            "Files have many row groups of less than 1 MiB and fewer than 10,000 rows on average: reading the "
            "metadata of each row group costs more than skipping it saves. pyarrow's `write_to_dataset` writes such "
            "files "
            "into directories. It is a warning if merging row groups within the files would save 100 row groups or "
            "more.",
            "Rewrite the files with `prune write`, or write with `min_rows_per_group=100_000` in pyarrow.",
        ),
        "files.foreign": Code(
            "A file in the directory of a plain table shares no column with the other files: Spark reads nulls of it, "
            "or of all others.",
            "Move it out of the table, or write it again with the columns of the table.",
        ),
        "files.extra_column": Code(
            "Files of a plain table hold a column that is not in the table's schema, which Spark takes from one file: "
            "Spark does not read the column, and a copy of the table does not have it.",
            "Write the table again from `spark.read.option('mergeSchema', True).parquet(..)`, which has the columns of "
            "all files. `prune write` refuses to copy such a table.",
        ),
        "files.type_mismatch": Code(
            "Files store a column in a type that Spark cannot read as the table's, such as text where the table has "
            "numbers: every query that reads the column there fails. Types that Spark widens, such as int16 to int32, "
            "are no such mismatch.",
            "Write these files again with the column in the type of the table.",
        ),
        "files.newer_format": Code(
            "Files use features that current readers do not support: a future encoding, compression codec or logical "
            "type, or column chunks without a path (`write_path_in_schema` of arrow-rs). Spark does not read the "
            "column, or does not open the file; plans still skip by its statistics.",
            "Configure the writer for features that Spark reads, and write these files again.",
        ),
        "statistics.float_order": Code(
            "The bounds of floats compare by the IEEE 754 total order, as parquet-java writes them since 1.18. Plans "
            "skip by them. Spark up to 4.3 (parquet-java before 1.18) and pyarrow up to 26 do not know the order and "
            "ignore them; DuckDB 2.0, DataFusion 55 and Polars 2.1 skip by them.",
            "Not needed if a plan chooses the files. If such readers should skip by themselves, write the files with "
            "Spark 4.3 or older.",
        ),
        "statistics.missing": Code(
            "Row groups have no bounds of a column: no predicate on it skips them. Of floats whose statistics count "
            "nulls it is only a note: NaN leaves them without bounds.",
            "Write these files again, with statistics.",
        ),
        "statistics.untrusted": Code(
            "Bounds of this type or order cannot be trusted, so no plan skips by them.",
            "Write these files again with another writer, or a newer version of it.",
        ),
        "statistics.writer_fault": Code(
            "The writer of the files is known to write wrong statistics of this type ([known faults of "
            "writers](known_faults.md)). Plans do not trust these statistics; the others stay in use. Spark and other "
            "readers trust them and may lose rows.",
            "Rewrite these files with `prune write`, or with a newer version of their writer.",
        ),
        "statistics.nanoseconds": Code(
            "The column holds timestamps of nanoseconds, which Spark reads as numbers or not at all.",
            "Write microseconds: `prune write` rounds the timestamps of top-level columns down to them. Nested columns "
            "take `coerce_timestamps='us', allow_truncated_timestamps=True` in pandas and pyarrow.",
        ),
        "page_index.absent": Code(
            "Row groups have no page index, so pages inside of them cannot be skipped. It is a warning where a row "
            "group has more rows than a page has by default, 20,000; smaller ones have nothing to skip inside.",
            "Rewrite the files with `prune write`, or write with Spark, or with `write_page_index=True` in pyarrow.",
        ),
        "files.clustering": Code(
            "The share of row groups that an equality keeps, on the clustering column of the log or, without one, on "
            "the column whose bounds overlap least. If it is more than 60% of at least 16 row groups, and the table "
            "has no partitions, no column skips much.",
            "Sort by a column that queries filter by: `prune optimize TABLE --layout layout.yaml`.",
        ),
        "statistics.int96": Code(
            "The column is INT96, whose bounds cannot be trusted: no predicate on it skips anything.",
            "Write it as microseconds: `spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS`.",
        ),
        "bloom_filter.full": Code(
            "A bloom filter has a false-positive rate of more than 10%.",
            "Write with a lower probability, or for more distinct values: `bloom` in `layout.yaml`.",
        ),
    },
    check_footers,
)


def type_mismatches(index: MetadataIndex, unread: Iterable[UnreadColumn]) -> Iterator[Finding]:
    """Report each column and stored type once, with the first of its files."""
    for column in unread:
        location = files_place(index, column.files)
        like = f", as in {file_name(index, int(column.others[0]))}" if len(column.others) else ""
        wanted = f"the table has {column.wanted}{like}"
        message = f"the file stores {column.name} as {column.stored}, {wanted}: Spark cannot read it"
        yield Finding("files.type_mismatch", Severity.ERROR, location, message, column.remedy, (column.name,))


def small_row_groups(location: str, index: MetadataIndex) -> Iterator[Finding]:
    """Warn of files with many small row groups.

    A file counts if its row groups are small on average. The files are reported if merging row groups inside them would
    save many row groups.
    """
    filled, files = index.groups.row_count > 0, len(index.groups.files)
    groups = np.bincount(index.groups.file[filled], minlength=files)
    rows, size = np.bincount(index.groups.file, index.groups.row_count, minlength=files), index.groups.sizes_of_files()
    small = (groups > 1) & (rows < SMALL_ROWS * groups) & (size < SMALL_BYTES * groups)
    count = int(groups[small].sum())
    enough = np.maximum(1, np.maximum(rows // SMALL_ROWS, size // SMALL_BYTES)[small])
    if count - int(enough.sum()) < SPARE_ROW_GROUPS:
        return
    message = (
        f"{count:,} row groups in {counted(int(small.sum()), 'file')} are small, on average "
        f"{counted(int(rows[small].sum()) // count, 'row')} and {bytes_text(int(size[small].sum()) // count)}"
    )
    fix = Fix("write larger row groups: ", Step.WRITE_TABLE, setting=Setting.LARGE_ROW_GROUPS)
    yield Finding("files.small_row_groups", Severity.WARN, location, message, fix=fix)


def files_of_other_columns(index: MetadataIndex) -> Iterator[Finding]:
    """Warn of columns that the table's schema lacks.

    Also warn of files that share no column with the table.
    """
    foreign = foreign_files(index)
    if len(foreign):
        message = f"shares no column with the other {counted(len(index.groups.files) - len(foreign), 'file')}"
        remedy = "move it out of the table, or write it again with the columns of the table"
        yield Finding("files.foreign", Severity.WARN, files_place(index, foreign), message, remedy)
    for column in extra_columns(index):
        if len(own := np.setdiff1d(column.files, foreign)):
            message = f"column {column.name} is not in the table's schema, so Spark does not read it"
            location = files_place(index, own)
            yield Finding("files.extra_column", Severity.WARN, location, message, _MERGE, (column.name,))


def foreign_files(index: MetadataIndex) -> NDArray[np.int64]:
    """Return the numbers of files with unrelated columns.

    Such files share no column with the majority, directly or through other files.
    """
    names = [{column.path[0].casefold() for column in footer_kind.columns} for footer_kind in index.groups.provenances]
    counts = np.bincount(index.groups.provenance_ids, minlength=len(names))
    left = {kind_index for kind_index in np.flatnonzero(counts).tolist() if names[kind_index]}
    if len(left) < 2:
        return np.zeros(0, np.int64)
    majority = set(names[max(left, key=lambda kind_index: counts[kind_index])])
    while akin := {kind_index for kind_index in left if names[kind_index] & majority}:
        left -= akin
        majority.update(*(names[kind_index] for kind_index in akin))
    return np.flatnonzero(np.isin(index.groups.provenance_ids, sorted(left)))
