"""The codes of findings: what each means, what to do, and which asset check reports it.

`GROUPS` is the registry: a test holds it against every finding that the packages can make, so a new code comes with
an entry here. The documentation's page of codes and the names of the checks in Dagster and Pipes are made from it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Code(NamedTuple):
    """What a code means; `remedy` is empty for what is only told."""

    means: str
    remedy: str = ""


class Check(NamedTuple):
    """An asset check: its name, what it proves, and the codes that it reports; each code belongs to one check.

    `reads_values`: whether it needs values beside metadata.
    """

    name: str
    proves: str
    codes: Mapping[str, Code]
    reads_values: bool = False


class Group(NamedTuple):
    """Codes that are reported together, and by whom: those of checks, and advice, which no check reports."""

    title: str
    said_by: str
    checks: tuple[Check, ...] = ()
    advice: Mapping[str, Code] = MappingProxyType({})

    @property
    def codes(self) -> dict[str, Code]:
        """Return all codes of the group."""
        return {
            code: about
            for part in (*(check.codes for check in self.checks), self.advice)
            for code, about in part.items()
        }


_SORT = (
    "Write the table with `prune write` (or `prune_assets.write`), or let `prune optimize` rewrite the files that "
    "overlap. A job of your own sorts within partitions by the key just before it writes."
)
_LIE = (
    "Write the file again, with another version of the writer or another writer, and do not skip by this column until "
    "then. Every engine that trusts the claim loses the same rows."
)

COLUMN_INDEX_PRESENT = Check(
    "column_index_present",
    "Every column that can have a column index has one.",
    {
        "column_index.present": Code(
            "The column index is there, and how far its bounds are from the size at which parquet-java leaves it out."
        ),
        "column_index.absent": Code(
            "The column has no column index, so readers cannot skip its pages. The message says why, and whether that "
            "is confirmed or inferred: the writer makes none, bounds are too long (`MAX_STATS_SIZE`), a page holds "
            "NaN, or statistics are off. NaN in a column that the layout does not name is only a warning.",
            "As the finding says: another writer or `write_page_index=True` in pyarrow, "
            "`parquet.columnindex.truncate.length=64`, null in place of NaN, or statistics on.",
        ),
        "column_index.not_applicable": Code(
            "The column is INT96, which has no order, so writers make no column index of it.",
            "Write timestamps with `spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS`.",
        ),
        "offset_index.absent": Code(
            "Row groups have no offset index: readers do not know where pages begin, and read all of them.",
            "Write with Spark or parquet-java, or with `write_page_index=True` in pyarrow.",
        ),
    },
    reads_values=True,
)

BLOOM_FILTERS_PRESENT = Check(
    "bloom_filters_present",
    "Every bloom filter that the layout asks for is in the files.",
    {
        "bloom_filter.present": Code(
            "The bloom filter is there: its size, and how often it says 'maybe' of values that are not there."
        ),
        "bloom_filter.absent": Code(
            "The layout asks for a bloom filter that row groups lack. The message says why: it was not requested when "
            "the file was written, or parquet-java left it out because a dictionary answers the same question.",
            "As the finding says, for the writer of the file; `prune write` asks for it. Where the dictionary answers "
            "the question, the column can be taken out of `bloom`.",
        ),
    },
)

FILES_DO_NOT_OVERLAP = Check(
    "files_do_not_overlap",
    "Files and row groups do not overlap on the sort key.",
    {
        "overlap.files": Code(
            "Whether the bounds of files overlap on the first column of the sort key. Of files that overlap all "
            "are opened for a value that lies in one of them. Files that share only the value where one ends and the "
            "next begins are in order. The message gives the overlap depth, as Snowflake counts it: for each file, how "
            "many files hold the value of it that most files hold, averaged over the files. It is k where k files all "
            "overlap, and 1 where no two share a value. A shared end value counts: a query for it opens both files.",
            _SORT,
        ),
        "overlap.row_groups": Code(
            "As `overlap.files`, of row groups over all files.",
            _SORT,
        ),
        "overlap.unknown": Code(
            "Row groups have no bounds of the first column of the sort key that may be trusted, so overlap cannot be "
            "told and no query on it can skip them.",
            "Write with Spark 3.3 or newer, and leave statistics on.",
        ),
    },
)

SORTED_ORDER = Check(
    "sorted_order",
    "Bounds, pages and rows follow the sort key, or the Z-order or Hilbert curve.",
    {
        "order.row_groups": Code(
            "Whether the row groups of a file follow each other in the order of the sort key, by their bounds. Where "
            "they do not, a range of the key keeps more row groups than it needs.",
            _SORT,
        ),
        "order.pages": Code(
            "Whether the pages of each row group follow each other in the order of the sort key, by the column index. "
            "Where they do not, readers cannot find a range of pages. Texts prove nothing here, as their bounds may be "
            "cut; `order.rows` does.",
            _SORT + " Where the column index is missing, see to `column_index.absent` first.",
        ),
        "order.rows": Code(
            "Whether the rows of each file are sorted, by reading the key. It is the strongest proof, and the only one "
            "of texts and of the second column of a key.",
            _SORT,
        ),
        "order.partitions": Code(
            "A column of the sort key is a partition column: all rows of a file have one value, so its order holds."
        ),
        "order.low_cardinality": Code(
            "The only column of the sort key has so few values that one value fills many row groups. Rows with equal "
            "keys stay in one file, and sorting does not separate them.",
            "Add a second column to `sort_by`, one that queries filter by: `sort_by: [status, id]`. A column of a few "
            "values may do better as `partition_by`.",
        ),
        "clustering.effective": Code(
            "How many row groups an equality keeps on a column of the Z-order or Hilbert curve."
        ),
        "clustering.ineffective": Code(
            "On every column of the curve, an equality keeps more than 60% of the row groups: the rows lie along no "
            "curve.",
            "Write the table with `prune write`, which puts rows along the curve. Where that was done, the columns "
            "have too few values or the table too few row groups: choose columns with more values, or `sort_by`.",
        ),
    },
    reads_values=True,
)

SIZES_WITHIN_LIMITS = Check(
    "sizes_within_limits",
    "No row group and no page has more rows than the layout allows.",
    {
        "size.row_groups": Code(
            "Whether row groups have at most `row_group_rows` rows. Larger ones are skipped less often.",
            "Write with `parquet.block.row.count.limit` (Spark 4.1 or newer), or through `prune write`.",
        ),
        "size.pages": Code(
            "Whether pages have at most `page_rows` rows. Larger ones are skipped less often.",
            "Write with `parquet.page.row.count.limit`, or through `prune write`.",
        ),
    },
)

LAYOUT = Group(
    "Layout",
    "`prune check`, `prune_assets.check` and the checks of `build_layout_checks` report these.",
    (COLUMN_INDEX_PRESENT, BLOOM_FILTERS_PRESENT, FILES_DO_NOT_OVERLAP, SORTED_ORDER, SIZES_WITHIN_LIMITS),
)

FILES_ARE_HEALTHY = Check(
    "files_are_healthy",
    "Files give predicates something to skip by, and are not too small.",
    {
        "files.small": Code(
            "Many files are smaller than 32 MiB. Opening them costs more than reading them. It is a note where 10 "
            "or more could be merged within their partitions, a warning where 50 could, and an error where there are "
            "more than 1,000, or more than `max_small_files` allows.",
            "Write them together: `prune optimize TABLE --layout layout.yaml`.",
        ),
        "statistics.missing": Code(
            "Row groups have no bounds of a column: no predicate on it skips them.",
            "Write these files again, with statistics.",
        ),
        "statistics.untrusted": Code(
            "The file's writer is known for wrong bounds of this type, so no plan skips by them.",
            "Write these files again with another writer, or a newer version of it.",
        ),
        "statistics.nanoseconds": Code(
            "The column holds timestamps of nanoseconds, which Spark reads as numbers or not at all.",
            "Write microseconds: `coerce_timestamps='us'` in pandas and pyarrow. `prune write` does, and Spark does "
            "with `spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS`.",
        ),
        "page_index.absent": Code(
            "Row groups have no page index, so pages inside of them cannot be skipped. It is a warning where a row "
            "group has more rows than a page has by default, 20,000; smaller ones have nothing to skip inside.",
            "Rewrite the files with `prune write`, or write with Spark, or with `write_page_index=True` in pyarrow.",
        ),
        "files.clustering": Code(
            "How many row groups an equality keeps on the column that clusters the table by its log or, without one, "
            "on the column whose bounds overlap least. Where that is more than 60% of at least 16 row groups, and the "
            "table has no partitions, no column gives much to skip by.",
            "Sort by a column that queries filter by: `prune optimize TABLE --layout layout.yaml`.",
        ),
        "statistics.int96": Code(
            "The column is INT96, whose bounds cannot be trusted: no predicate on it skips anything.",
            "Write it as microseconds: `spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS`.",
        ),
        "bloom_filter.full": Code(
            "A bloom filter says 'maybe' of more than a tenth of the values that are not there.",
            "Write with a lower probability, or for more distinct values: `bloom` in `layout.yaml`.",
        ),
    },
)

FILES = Group(
    "Files",
    "`build_file_health_check` reports these, whatever the layout asks for.",
    (FILES_ARE_HEALTHY,),
)

LOG_IS_HEALTHY = Check(
    "log_is_healthy",
    "The log is quick to read, and its files have statistics.",
    {
        "log.commits": Code(
            "Each reader replays more commits on top of the last checkpoint than are allowed.",
            "Write a checkpoint: `prune checkpoint TABLE`.",
        ),
        "log.notes": Code(
            "Something in the log is not as it should be, and did not matter for its files.",
            "See what writes the log, and write a checkpoint.",
        ),
        "log.small_files": Code(
            "As `files.small`, of the live files.",
            "Write them together: `prune optimize TABLE --layout layout.yaml`.",
        ),
        "log.statistics": Code(
            "Files have no statistics in the log, so each of them is opened for every predicate.",
            "Write them again, with `delta.dataSkippingNumIndexedCols` other than 0.",
        ),
        "log.clustering": Code(
            "A column clusters the table, and files have no bounds of it in the log.",
            "Name it in `delta.dataSkippingStatsColumns`, and write the files again.",
        ),
    },
)

LOG = Group(
    "Delta log",
    "`build_log_health_check` reports these, from the log of a Delta table alone.",
    (LOG_IS_HEALTHY,),
)

METADATA_ARE_TRUE = Check(
    "metadata_are_true",
    "What metadata claim holds for the values.",
    {
        "row_group_bounds": Code("A value is outside of the bounds of its row group.", _LIE),
        "page_bounds": Code("A value is outside of the bounds that the column index gives its page.", _LIE),
        "log_bounds": Code("A value is outside of the bounds that the Delta log gives its file.", _LIE),
        "partition_bounds": Code(
            "A file holds another value of a partition column than its directory or the log says.",
            "Move the file's rows to the partition that they belong to: write them again.",
        ),
        "row_group_null_count": Code("The number of nulls of a row group is wrong.", _LIE),
        "page_null_count": Code("The number of nulls of a page is wrong.", _LIE),
        "log_null_count": Code("The number of nulls that the Delta log gives a file is wrong.", _LIE),
        "partition_null_count": Code(
            "A file holds nulls of a partition column where its directory or the log says a value, or the reverse.",
            "Move the file's rows to the partition that they belong to: write them again.",
        ),
        "row_group_nan_count": Code("The number of NaN of a row group is wrong.", _LIE),
        "page_nan_count": Code("The number of NaN of a page is wrong.", _LIE),
        "bloom_filter": Code("A bloom filter denies a value that a row of its row group holds.", _LIE),
        "dictionary": Code("The dictionary of a column chunk lacks a value that one of its rows holds.", _LIE),
        "page_rows": Code(
            "The page index gives a page another number of rows, or another place, than the page has: predicates skip "
            "the wrong rows.",
            _LIE,
        ),
        "row_group_rows": Code("A row group claims to have no rows, and its first page holds some.", _LIE),
        "log_rows": Code(
            "The Delta log gives a file another number of rows than its row groups have: counts answered from it are "
            "wrong.",
            _LIE,
        ),
        "unreadable": Code(
            "Values or metadata are damaged, so nothing can be held against them.",
            "Restore the file, or write it again from its source.",
        ),
        "not_relied_on.row_group_statistics": Code(
            "Bounds or counts of a row group that plans do not trust. Nothing is lost here; where the finding is a "
            "`warn` they are wrong, and other engines may use them.",
            "Where it is a `warn`: write the file again. Else nothing.",
        ),
        "not_relied_on.page_index": Code(
            "A page index that plans do not trust, as it contradicts the file.",
            "Write the file again, so that its pages can be skipped.",
        ),
        "not_relied_on.page_bounds": Code(
            "Bounds of pages that plans do not trust, though their index is in order.",
            "Write the file again with another writer, so that its pages can be skipped.",
        ),
        "not_relied_on.bloom_filter": Code(
            "A bloom filter that plans do not trust, as its header or its place is wrong.",
            "Write the file again, so that the filter can be used.",
        ),
        "not_relied_on.contradiction": Code(
            "Two claims about the same values exclude each other, such as bounds and nulls alone. Plans trust neither.",
            "Write the file again: other engines may use the wrong one.",
        ),
    },
    reads_values=True,
)

AUDIT = Group(
    "Audit",
    "`prune audit`, `prune_assets.audit` and `build_statistics_truth_check` report these: a claim of the metadata that "
    "values disprove. Severity `error`: rows are lost or counted wrongly.",
    (METADATA_ARE_TRUE,),
)

ADVICE = Group(
    "Advice of a skip report",
    "A report says why no more is skipped, and what would help, where less than half is skipped or a column skips "
    "little of what the other conditions keep: `advice.remedies[].kind` in its JSON.",
    advice={
        "sort_by": Code(
            "Values of the column are spread over the whole table; sorted by it, few row groups would hold "
            "what the predicate asks for.",
            "Put the column first in `sort_by`, or after the columns that skip already; write the table with "
            "`prune write`.",
        ),
        "partition_by": Code(
            "The column has few values, and most row groups hold all of them. After a sort by it alone, the rows of a "
            "value have no order; a directory for each value skips the other values.",
            "Name the column in `partition_by`, and write the table with `prune write`.",
        ),
        "bloom_filter": Code(
            "The predicate asks for single values, and the bounds of most row groups include them.",
            "Name the column in `bloom`, with 0.01 for 1% of false positives.",
        ),
        "write_predicate": Code(
            "A part of the predicate is written so that no metadata can answer it, and another wording would skip.",
            "Write the condition that the report names.",
        ),
        "statistics": Code(
            "Most of what is read has no bounds of the column.",
            "Write these files again, with statistics.",
        ),
        "row_groups": Code(
            "The table has one row group, so row-group statistics and bloom filters cannot skip anything.",
            "Write more row groups, and pages with a column index: `row_group_rows` and `page_rows`.",
        ),
    },
)

GROUPS = (LAYOUT, FILES, LOG, AUDIT, ADVICE)

CHECK_OF = {code: check.name for group in GROUPS for check in group.checks for code in check.codes}
