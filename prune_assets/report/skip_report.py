"""Skip report as plain data: the source of its JSON, console and HTML forms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from parquet_core.pruning.known_levels import Status  # noqa: TC001 - the JSON schema needs the type at run time

SCHEMA = "skip-report/1"

Verdict = Literal["skip", "scan", "selection"]


@dataclass(frozen=True, slots=True)
class Extent:
    """An amount of data.

    `bytes`: compressed bytes of the columns read. For unopened files, the sizes of the files, or a share of the sizes.
    `row_groups`: None if unopened files are included.
    `pages`: None if unknown.
    `rows`: None if unopened files are included and no log has their row counts.
    """

    files: int
    row_groups: int | None
    pages: int | None
    rows: int | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Level:
    """One level of evidence: the data before it (`total`) and after it (`kept`).

    `status`: `absent` if no file has this evidence; `not_applicable` if the evidence cannot answer this predicate, or
    earlier levels skipped all data; `consulted` if the evidence was read.
    `why`: the reason for the status, in a sentence.
    `skipped_rows`: number of rows that the level skipped. None if rows of `total` are not counted.
    """

    level: str
    unit: Literal["file", "row group", "page"]
    total: Extent
    kept: Extent
    skipped_rows: int | None
    skipped_bytes: int
    status: Status
    why: str = ""


@dataclass(frozen=True, slots=True)
class UnsupportedPart:
    """A condition of the predicate that does not prune."""

    sql: str
    reason: str
    remedy: str

    @property
    def because(self) -> str:
        """The reason, and the remedy if there is one."""
        return f"{self.reason}; {self.remedy}" if self.remedy else self.reason


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One operand of the topmost AND, and the bytes that it would skip alone.

    `complete`: True if every level was evaluated. Otherwise only partition values and statistics were, and the operand
    may skip more.
    """

    sql: str
    skipped_alone_bytes: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Denial:
    """Row groups that one level excludes for one leaf.

    `bytes`: compressed bytes of the columns read in the excluded row groups.
    `unit`: "file" for a level that excludes whole files; `row_groups` is then a number of files.
    """

    level: str
    row_groups: int
    bytes: int
    unit: Literal["file", "row group"] = "row group"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One comparison of the predicate, with the row groups that it excludes.

    `denied`: the row groups that the leaf excludes alone, by the first level that excludes them. A level does not
    evaluate row groups that an earlier level or another leaf has excluded.
    `open_row_groups`, `open_bytes`: data read that the leaf could not exclude.
    `proven_row_groups`: number of these open row groups in which every row matches the leaf.
    `why`: why the leaf does not prune; "" if it does.
    """

    sql: str
    denied: tuple[Denial, ...]
    open_row_groups: int
    open_bytes: int
    proven_row_groups: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class MapCell:
    """A run of successive row groups, in the map of a table that has too many row groups for one entry each.

    `skipped_bytes`: bytes that each of the report's levels skips.
    """

    first_file: str
    first_row_group: int
    last_file: str
    last_row_group: int
    row_groups: int
    kept_row_groups: int
    bytes: int
    kept_bytes: int
    skipped_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowGroupReport:
    """Verdict on one row group, or with `index` -1 on a file that was not opened.

    `ranges`: rows to read, as half-open (start, stop) within the row group, sorted and disjoint.
    `matches`: rows that are proven to match, in the same form.
    `level`: the level that removed the row group, or some of its rows; "" if all rows are kept.
    `evidence`: every level that was evaluated.
    `bytes`: bytes of the whole row group.
    `kept_bytes`: bytes that will be read.
    `kept_by`: numbers of the leaves (in the report's `leaves`) that could not exclude the row group; at most the first
    20.
    `reason`: why the row group was removed, or why each of these leaves could not exclude it.
    """

    index: int
    row_count: int
    verdict: Verdict
    ranges: tuple[tuple[int, int], ...]
    matches: tuple[tuple[int, int], ...]
    evidence: tuple[str, ...]
    reason: str
    level: str
    bytes: int
    kept_bytes: int
    kept_by: tuple[int, ...] = ()

    @property
    def kept_rows(self) -> int:
        """Number of rows that are read."""
        return self.row_count if self.verdict == "scan" else sum(stop - start for start, stop in self.ranges)


@dataclass(frozen=True, slots=True)
class FileReport:
    """Verdict on one file: `skip` if all row groups are skipped, `scan` if no row is skipped, otherwise `selection`."""

    path: str
    verdict: Verdict
    row_groups: tuple[RowGroupReport, ...]


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """The planned version of a Delta table, or Iceberg snapshot. Row counts are from the metadata of the table.

    `format`: "delta" or "iceberg".
    `version`: the version of a Delta table, the snapshot id of an Iceberg table.
    `timestamp`: time of its commit, in UTC. None if unknown without a further request.
    `files`: number of live files.
    `opened_files`: number of files whose footers were read.
    `deleted_rows`, `kept_deleted_rows`: deleted rows of the table, and of the files to read. The report's rows include
    them. None for Iceberg, whose deleted rows are unknown.
    `files_with_deletes`: number of files with deletion vectors or delete files, as far as manifests were read. Rows of
    these files never count as matching.
    `unknown_rows`: number of unopened files without a row count.
    `pro_rata`: True if the bytes of unopened files are estimated from the columns read.
    `log_bytes`: bytes read of the log or the manifests.
    `notes`: faults of the log, and deletes.
    """

    format: str
    version: int
    timestamp: str | None
    files: int
    opened_files: int
    files_with_deletes: int
    deleted_rows: int | None
    kept_deleted_rows: int | None
    unknown_rows: int
    pro_rata: bool
    log_bytes: int
    notes: tuple[str, ...] = ()


class Reading(StrEnum):
    """How an engine reads: without the plan, with it, at best, or as measured."""

    ALONE = "alone"
    WITH_PLAN = "with_plan"
    BEST_POSSIBLE = "best_possible"
    AS_IT_RAN = "as_it_ran"


class Caveat(StrEnum):
    """Reason why an engine may read more or fewer bytes than its figures show."""

    TIME_ZONE = "time_zone"
    """The time zone of the session is not known: the figures are upper limits."""
    FAILS = "fails"
    """The engine raises an error."""
    UNREAD_METADATA = "unread_metadata"
    """The engine uses metadata that the plan did not read, and may read less."""
    WHOLE_FILES = "whole_files"
    """The bytes include columns that the query does not read."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Data that an engine would read with this plan or without it.

    `estimated`: True if some figures are pro rata, or upper limits; `why` explains it.
    `caveat`: why the engine may read more or fewer bytes than `kept`. None if there is no reason.
    """

    name: str
    kept: Extent
    estimated: bool = False
    why: str = ""
    reading: Reading | None = None
    caveat: Caveat | None = None


@dataclass(frozen=True, slots=True)
class ReaderWarning:
    """Why a reader without this plan would lose rows.

    `option`: the reader's option that `read` sets to false to prevent the loss.
    """

    reader: str
    why: str
    option: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that makes queries skip more.

    `kept_bytes`: estimated bytes read after the change. None if unknown.
    """

    kind: Literal["write_predicate", "sort_by", "partition_by", "bloom_filter", "statistics", "row_groups"]
    said: str
    kept_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """Why no more is skipped, in one line, and the remedies, most promising first."""

    why: str
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class SkipReport:
    """Data that a plan skips: totals, levels and reasons.

    `print(report)` shows the report as text, a notebook shows it as a card, and `to_json` and `to_html` render it for
    files. The report's figures:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> report = pr.plan(table, where="id < 150").report
    >>> report.kept.rows, report.total.rows, f"{report.skipped_fraction:.0%} of the bytes skipped"
    (200, 1000, '80% of the bytes skipped')
    >>> {level.level: level.skipped_rows for level in report.levels if level.skipped_rows}
    {'row_group_statistics': 800}
    >>> last = report.files[0].row_groups[-1]
    >>> last.verdict, last.reason
    ('skip', 'id < 150: id in [900, 999], 0 nulls')

    `total`: all data of the table.
    `kept`: data to read.
    `levels`: data before and after each level of evidence.
    `normalized`: the evaluated predicate, without `x IS NULL AND NULL`, which selects no row.
    `leaves`: comparisons of the predicate from left to right, at most the first 200.
    `requests`, `bytes_fetched`: reads of metadata while planning, without later reads that evaluate single conjuncts.
    `index_bytes`, `bloom_bytes`, `dictionary_bytes`: parts of `bytes_fetched` for page indexes, bloom filters and
    dictionaries.
    `seconds`: planning time.
    `estimated`: True if bytes of some pages are pro rata, because an offset index is missing.
    `files_complete`: True if `files` has every row group; otherwise `files` has only the costliest row groups to read,
    and `map` has all row groups, grouped in runs.
    `table_snapshot`: planned version of a Delta or Iceberg table. None for plain files.
    `unopened_files`: files whose footers were not read, because directory names or a log exclude them. Without a log
    their rows are not counted, and their bytes are estimated from the columns' share of the bytes of opened files.
    `advice`: remedies if less than half is skipped, or if a column skips little of what the other conditions keep;
    otherwise None.
    `made`: time of the report, in UTC.
    `version`: version of prune-assets.
    """

    table: str
    predicate: str
    normalized: str
    unsupported: tuple[UnsupportedPart, ...]
    levels: tuple[Level, ...]
    total: Extent
    kept: Extent
    conjuncts: tuple[Conjunct, ...]
    files: tuple[FileReport, ...]
    implied: tuple[str, ...]
    requests: int
    bytes_fetched: int
    index_bytes: int
    bloom_bytes: int
    seconds: float
    estimated: bool
    engines: tuple[Engine, ...] = ()
    dictionary_bytes: int = 0
    warnings: tuple[ReaderWarning, ...] = ()
    leaves: tuple[Leaf, ...] = ()
    files_complete: bool = True
    map: tuple[MapCell, ...] = ()
    table_snapshot: TableSnapshot | None = None
    unopened_files: int = 0
    advice: Advice | None = None
    made: str = ""
    version: str = ""
    schema: str = SCHEMA

    @property
    def skipped_bytes(self) -> int:
        """Compressed bytes of the columns that need not be read."""
        return self.total.bytes - self.kept.bytes

    @property
    def skipped_fraction(self) -> float | None:
        """`skipped_bytes` as a share of all bytes, from 0 to 1; None if there are no bytes."""
        return self.skipped_bytes / self.total.bytes if self.total.bytes else None

    def kept_row_groups(self) -> list[tuple[str, RowGroupReport]]:
        """Return the row groups that are read entirely or in part, with file paths, costliest first."""
        row_groups = ((file.path, group) for file in self.files for group in file.row_groups if group.verdict != "skip")
        return sorted(row_groups, key=lambda item: -item[1].kept_bytes)

    def to_json(self) -> str:
        """Render as JSON of schema `skip-report/1`."""
        from prune_assets.report.output import json_text

        return json_text(self)

    def to_html(self) -> str:
        """Render as one self-contained page that needs no network."""
        from prune_assets.report.html import to_html

        return to_html(self)

    def __repr__(self) -> str:
        from prune_assets.report.wording import one_line

        return one_line(self)

    def _repr_html_(self) -> str:
        from prune_assets.report.html import to_card

        return to_card(self)

    def __str__(self) -> str:
        from prune_assets.report.console import to_text

        return to_text(self)
