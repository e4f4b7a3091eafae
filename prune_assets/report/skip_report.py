"""The skip report as plain data: the one source of its JSON, console and HTML forms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from parquet_core.pruning.known_levels import Status

SCHEMA = "skip-report/1"

Verdict = Literal["skip", "scan", "selection"]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much data; `bytes` are compressed bytes of the columns read, `pages` None when nothing counts them.

    `row_groups` is None where files are counted that were not opened: their bytes are those of whole files, or a share.
    `rows` is None where no log tells those of such files.
    """

    files: int
    row_groups: int | None
    pages: int | None
    rows: int | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Level:
    """One kind of evidence: what it was given (`total`) and what it left (`kept`).

    `status`: `absent`, no file carries it; `not_applicable`, it cannot answer this predicate or
    earlier levels skipped everything about; `consulted`, it was read. `why` says more in a sentence.
    `skipped_rows` is None where rows of `total` are not counted.
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
    """A part of the predicate that no metadata was asked about."""

    sql: str
    reason: str
    remedy: str

    @property
    def because(self) -> str:
        """The reason, and the remedy if there is one."""
        return f"{self.reason}; {self.remedy}" if self.remedy else self.reason


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One operand of the topmost AND and what it would skip alone.

    `complete`: every level was asked; else partition values and statistics alone, and more may be skipped.
    """

    sql: str
    skipped_alone_bytes: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Denial:
    """What one level shows a leaf to rule out: row groups, and the compressed bytes of the columns read in them.

    `unit`: a level that speaks of whole files counts those instead, in `row_groups` too.
    """

    level: str
    row_groups: int
    bytes: int
    unit: Literal["file", "row group"] = "row group"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One comparison of the predicate: where it rules rows out, and what is read because of it.

    `denied`: the row groups that it alone rules out, by the first level that shows it; of those that an earlier
    level or another leaf had ruled out, later levels were not asked. `open_row_groups`, `open_bytes`: what is read that
    it could not rule out; `proven_row_groups`: those of them in which it is certain for every row. `why`: why no
    metadata was asked about it, empty when some was.
    """

    sql: str
    denied: tuple[Denial, ...]
    open_row_groups: int
    open_bytes: int
    proven_row_groups: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class MapCell:
    """Successive row groups of a table too large to tell each: from the first to the last, both included.

    `skipped_bytes` has one entry for each of the report's levels.
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
    """What happens to one row group, or with `index` -1 to a file that was not opened.

    `ranges`, `matches`: half-open (start, stop) rows inside the row group, sorted, disjoint; `matches`
    are proven to be selected wholly. `level` is the level that removed it, or rows of it ("" when all
    of it is kept); `evidence` names every level that had a say; `bytes` are those of the whole row
    group, `kept_bytes` those that will be read. `kept_by`: the leaves, as numbers in the report's `leaves`, that
    could not rule it out, of many the first 20; `reason` says of each why.
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
        """Return how many of its rows are read."""
        return self.row_count if self.verdict == "scan" else sum(stop - start for start, stop in self.ranges)


@dataclass(frozen=True, slots=True)
class FileReport:
    """What happens to one file: `skip` when all its row groups are skipped, `scan` when none loses a row."""

    path: str
    verdict: Verdict
    row_groups: tuple[RowGroupReport, ...]


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """The planned version of a Delta table, or snapshot of an Iceberg table, and the row counts of its metadata.

    `format`: "delta" or "iceberg". `version`: the version of a Delta table, the snapshot id of an Iceberg table.
    `timestamp`: when it was committed, in UTC; None if unknown without a further request. `files`: live files.
    `opened_files`: files whose footers were read. Rows of the report are rows as written: they include `deleted_rows`,
    and `kept_deleted_rows` in files to read. `files_with_deletes`: files with deletion vectors or delete files, as far
    as manifests were read; their rows never count as matching, and the deleted ones of Iceberg are None, unknown.
    `unknown_rows`: unopened files without a row count. `pro_rata`: True if the bytes of unopened files are estimated
    by the columns read. `log_bytes`: bytes read of the log or the manifests. `notes`: faults of the log, and deletes.
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
    """How an engine reads."""

    ALONE = "alone"
    WITH_PLAN = "with_plan"
    BEST_POSSIBLE = "best_possible"
    AS_IT_RAN = "as_it_ran"


class Caveat(StrEnum):
    """A reason why an engine may read other bytes than its figures say."""

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
    """What a reader would read with this plan or without it.

    `estimated`: some of it is pro rata, or an upper limit, as `why` says. `caveat`: None where the figures are those of
    the read.
    """

    name: str
    kept: Extent
    estimated: bool = False
    why: str = ""
    reading: Reading | None = None
    caveat: Caveat | None = None


@dataclass(frozen=True, slots=True)
class ReaderWarning:
    """Why a reader left alone would lose rows here; `option`: what `read` sets to false so that it does not."""

    reader: str
    why: str
    option: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would let more be skipped; `kept_bytes`: about what would be read then, None where metadata do not tell."""

    kind: Literal["write_predicate", "sort_by", "partition_by", "bloom_filter", "statistics", "row_groups"]
    said: str
    kept_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """Why no more is skipped, in a line, and what would help, the most promising first."""

    why: str
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class SkipReport:
    """What a plan skips, out of how much, by which level and because of what.

    `print(report)` shows it as text, a notebook as a card; `to_json` and `to_html` make files of it. Its figures:

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

    `total`, `kept`: how much there is, and how much is read; `levels`: what each kind of evidence left.
    `requests`, `bytes_fetched`: the reads of metadata; `seconds`: the planning. What is read later, for conjuncts
    alone, is not counted. `index_bytes`, `bloom_bytes` and `dictionary_bytes` are the parts of `bytes_fetched`
    that are page indexes, bloom filters and dictionaries.
    `estimated`: some page-level bytes are pro rata because their offset index was absent.
    `normalized`: the predicate as it was evaluated, with `x IS NULL AND NULL` left out, which selects no row.
    `leaves`: its comparisons from left to right, of many the first 200.
    `files_complete`: `files` has every row group; else only the costliest of those that are read, and `map` has them
    all, in runs.
    `table_snapshot`: None for plain files.
    `unopened_files`: those of which no footer was read, as directory names or a log rule them out. Without a log their
    rows are not counted, and of their bytes counts the share that the columns read have of the files that were opened.
    `advice`: where less than half is skipped, or a column skips little of what the other conditions keep.
    `made`: when, in UTC; `version`: by which prune-assets.
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
        """Return the compressed bytes of the columns that need not be read."""
        return self.total.bytes - self.kept.bytes

    @property
    def skipped_fraction(self) -> float | None:
        """Return `skipped_bytes` as a part of all bytes, from 0 to 1; None when there was nothing to read."""
        return self.skipped_bytes / self.total.bytes if self.total.bytes else None

    def kept_row_groups(self) -> list[tuple[str, RowGroupReport]]:
        """Return the row groups that are read, wholly or in part, each with its file's path: the costliest first."""
        kept = ((file.path, group) for file in self.files for group in file.row_groups if group.verdict != "skip")
        return sorted(kept, key=lambda item: -item[1].kept_bytes)

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
