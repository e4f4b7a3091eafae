"""Audit of one file: compares its metadata with its values.

The audit goes column by column and row group by row group.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from parquet_core.arrow_arrays import numbers_from, valid_flags
from parquet_core.dataset.bloom_filters import BloomFilters
from parquet_core.dataset.dictionaries import Dictionaries
from parquet_core.dataset.structure_reader import NoStructure
from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.format.schema import Physical
from parquet_core.layout.places import file_name
from parquet_core.layout.spec import Finding, Severity
from parquet_core.ragged import firsts
from parquet_core.spark_rules.columns_in_files import leaf_as_read
from parquet_core.trust.bounds import Bounds, unknown_bounds
from parquet_core.trust.contradictions import reason_of
from prune_assets.checks.audit.chunk import Chunk, WholeFile, audit_chunk, count_claims, is_text
from prune_assets.checks.audit.claim_checks import CheckedClaims
from prune_assets.checks.audit.findings import REWRITE, WRITE_AGAIN, ClaimSource, findings_of_claims, not_relied_on
from prune_assets.checks.audit.row_counts import check_empty, check_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.bloom import Blocks
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.dataset.page_batch import PageBatch
    from parquet_core.dataset.page_indexes import PageIndexes
    from parquet_core.format.page_index import OffsetIndexes
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.storage import Traffic
    from parquet_core.values import ValueReader
    from prune_assets.checks.audit.findings import Findings
    from prune_assets.checks.audit.ignored_statistics import IgnoredStatistics
    from prune_assets.tables.examination import Claims

Part = TypeVar("Part")
# Maximum number of row groups of a column whose dictionaries, bloom filters and page locations are read at once.
_WINDOW_GROUPS = 256
_WINDOW_BYTES = 64 << 20
_CONTRADICTED = "it contradicts other metadata of the file, is not a value of the column's type, or is ambiguous"
# A writer that compares NaN like a number writes such bounds.
_NAN = "a bound that is NaN does not limit the other values"


class AuditedColumn(NamedTuple):
    """A column and its footer statistics.

    `trusted`: footer bounds that plans trust.
    `ignored`: written statistics that plans do not trust.
    """

    column: LeafColumn
    trusted: Bounds
    ignored: IgnoredStatistics


@dataclass(frozen=True, slots=True)
class FileAudit:
    """A file of a table under audit.

    `positions`: all row groups of the file.
    `chosen`: the row groups to read.
    `live`: flags of the rows that are not deleted, None if no row is deleted.
    """

    index: MetadataIndex
    claims: Claims
    file: int
    positions: NDArray[np.int64]
    chosen: NDArray[np.int64]
    values: ValueReader
    pages: PageIndexes
    live: NDArray[np.bool_] | None
    findings: Findings
    skipped: dict[str, str]
    traffic: Traffic

    @property
    def name(self) -> str:
        """Name of the file, for messages."""
        return file_name(self.index, self.file)

    @property
    def whole(self) -> bool:
        """True if all rows are read."""
        return len(self.chosen) == len(self.positions)

    def first_rows(self, positions: NDArray[np.int64]) -> list[int]:
        """Return the first row of each row group within the file."""
        first = firsts(self.index.groups.row_count[self.positions])
        rows: list[int] = first[np.searchsorted(self.positions, positions)].tolist()
        return rows

    def location(self, position: int, column: LeafColumn) -> str:
        """Return the location of a column in a row group."""
        return f"{self.row_group(position)}, column {column.name}"

    def row_group(self, position: int) -> str:
        """Return the location of a row group."""
        return f"{self.name}, row group {self.index.groups.ordinal[position]}"

    def key(self, column: LeafColumn) -> str:
        """Return the key by which findings of a column are grouped."""
        return f"{self.file} {column.name}"

    def leaf(self, column: LeafColumn) -> tuple[LeafColumn, Path] | None:
        """Return the stored leaf of a column and its path.

        None if the file lacks the column, or does not store it as an unrepeated leaf.
        """
        kind_index = int(self.index.groups.provenance_ids[self.file])
        leaf = leaf_as_read(column, self.index.groups.provenances[kind_index])
        if leaf is None or leaf.max_repetition_level:
            return None
        stored = {it.index: it.path for it in self.index.groups.names.provenances[kind_index].columns}
        return leaf, stored[leaf.index]


@contextmanager
def report_errors(findings: Findings, skipped: dict[str, str], *, what: str, location: str, key: str) -> Iterator[None]:
    """Turn errors of the block into a finding (damage) or a reason in `skipped` (unsupported data)."""
    try:
        yield
    except UnsupportedFeature as error:
        skipped.setdefault(what, str(error))
    except MalformedFile as error:
        finding = Finding("unreadable", Severity.ERROR, location, f"could not be verified: {error}", WRITE_AGAIN)
        findings.add(finding, key)


def audit_file(audit: FileAudit, columns: Sequence[AuditedColumn], partitions: Sequence[LeafColumn]) -> None:
    """Audit the chosen row groups of a file."""
    check_records(audit)
    with suppress(MalformedFile):  # reported below for its column
        audit.pages.fetch([audited.column for audited in columns], audit.chosen)
    for audited in columns:
        with _reporting(audit, audited.column):
            _audit_column(audit, audited)
    for column in partitions:
        with _reporting(audit, column):
            _audit_partition(audit, column)
    _check_empty_groups(audit, [audited.column for audited in columns])


def _reporting(audit: FileAudit, column: LeafColumn) -> AbstractContextManager[None]:
    location = f"{audit.name}, column {column.name}"
    return report_errors(audit.findings, audit.skipped, what=column.name, location=location, key=audit.key(column))


def check_records(audit: FileAudit) -> None:
    """Compare the log's row count with the file's row groups."""
    claimed = audit.claims.rows(audit.file)
    if claimed is None:
        return
    audit.findings.claims["log_rows"] += 1
    rows = int(audit.index.groups.row_count[audit.positions].sum())
    if rows != claimed:
        message = (
            f"{audit.claims.name} gives it {claimed:,} rows, there are {rows:,}: counts answered from it are wrong"
        )
        audit.findings.add(Finding("log_rows", Severity.ERROR, audit.name, message, REWRITE), str(audit.file))


def _audit_column(audit: FileAudit, audited: AuditedColumn) -> None:
    column = audited.column
    stored = audit.leaf(column)
    if stored is None:
        return
    of_log = _log_claims(audit, column)
    for positions in _windows(audit, column):
        pages = audit.pages.read(column, positions)
        evidence = _evidence(audit, audited, positions)
        rows = audit.first_rows(positions)
        for i, (position, first_row, group_evidence) in enumerate(zip(positions.tolist(), rows, evidence, strict=True)):
            ignored = _ignored_claims(audited, position)
            for whole in of_log:
                whole.first_row = first_row
            chunk = _chunk(audit, audited, position, pages, i, stored, group_evidence)
            of_pages = audit_chunk(chunk, audit.values, [*of_log, *ignored], audit.findings)
            _report_silent_pages(audit, audited, position, of_pages)
            _check_pages(audit, column, position, group_evidence.offsets)
            _report_ignored(audit, audited, position, ignored)
    _report_log(audit, column, of_log)


def _windows(audit: FileAudit, column: LeafColumn) -> Iterator[NDArray[np.int64]]:
    """Yield the chosen row groups that have rows, small ones in batches."""
    chosen = audit.chosen[audit.index.groups.row_count[audit.chosen] > 0]
    read = np.cumsum(np.maximum(audit.index.footers.chunks(column).compressed_bytes[chosen], 0))
    start = 0
    while start < len(chosen):
        before = int(read[start - 1]) if start else 0
        stop = int(np.searchsorted(read, before + _WINDOW_BYTES, side="right"))
        stop = min(max(stop, start + 1), start + _WINDOW_GROUPS)
        yield chosen[start:stop]
        start = stop


class _Evidence(NamedTuple):
    """Bloom filter, dictionary and page locations of one chunk.

    A string in place of a filter, dictionary or locations is the reason why these are not used.
    """

    blocks: Blocks | str | None
    dictionary: pa.Array | str
    offsets: OffsetIndexes


def _evidence(audit: FileAudit, audited: AuditedColumn, positions: NDArray[np.int64]) -> Iterator[_Evidence]:
    """Yield the evidence of each row group, read in one batch.

    Raises MalformedFile at a damaged row group.
    """
    column = audited.column
    looked_up = positions[~_has_nulls_alone(audited, positions)]
    blocks = _read_each(lambda chosen: _blocks(audit, column, chosen), looked_up)
    dictionaries = _read_each(lambda chosen: _dictionaries(audit, column, chosen), looked_up)
    offsets = _read_each(lambda chosen: _offsets(audit, column, chosen), positions)
    has_values = set(looked_up.tolist())
    for position in positions.tolist():
        parts = (next(blocks), next(dictionaries)) if position in has_values else (None, "")
        yield _Evidence(*parts, next(offsets))


def _read_each(read: Callable[[NDArray[np.int64]], Sequence[Part]], positions: NDArray[np.int64]) -> Iterator[Part]:
    try:
        parts = read(positions)
    except MalformedFile:
        for position in positions:
            yield from read(np.array([position]))
    else:
        yield from parts


def _has_nulls_alone(audited: AuditedColumn, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return flags of row groups whose footer claims only nulls.

    No value can be looked up in such row groups.
    """
    own = _prunable(audited.column, audited.trusted.take(positions))
    flags: NDArray[np.bool_] = valid_flags(own.null_count) & (numbers_from(own.null_count) == own.row_count)
    return flags


def _ignored_claims(audited: AuditedColumn, position: int) -> list[WholeFile]:
    """Return the written bounds that are not trusted; empty if all are trusted."""
    if not audited.ignored.is_present[position]:
        return []
    return [WholeFile(CheckedClaims(audited.ignored.bounds.slice(position, position + 1)), None)]


def _chunk(  # noqa: PLR0917 - needs all claims about one chunk
    audit: FileAudit,
    audited: AuditedColumn,
    position: int,
    pages: PageBatch,
    i: int,
    stored: tuple[LeafColumn, Path],
    group_evidence: _Evidence,
) -> Chunk:
    column, (leaf, path) = audited.column, stored
    reason, first, stop = str(pages.reason[i]), int(pages.first[i]), int(pages.first[i + 1])
    if reason and reason != NoStructure.ABSENT:
        _not_relied_on(audit, "page_index", position, column, reason)
    if isinstance(group_evidence.blocks, str):
        _not_relied_on(audit, "bloom_filter", position, column, group_evidence.blocks)
    audit.findings.claims["page_order"] += not reason and int(pages.boundary_order[i]) > 0
    return Chunk(
        column=column,
        leaf=leaf,
        path=path,
        group=int(audit.index.groups.ordinal[position]),
        own=_prunable(column, audited.trusted.slice(position, position + 1)),
        pages=None if reason else _prunable(column, pages.bounds.slice(first, stop)),
        first_row=pages.first_row[first:stop],
        blocks=None if isinstance(group_evidence.blocks, str) else group_evidence.blocks,
        # A dictionary with an unsupported codec makes no claim; wrong offsets of dictionaries are reported elsewhere.
        dictionary=None if isinstance(group_evidence.dictionary, str) else group_evidence.dictionary,
        container=audit.row_group(position),
        key=audit.key(column),
    )


def _prunable(column: LeafColumn, bounds: Bounds) -> Bounds:
    """Return the bounds that plans use to prune.

    If Spark compares values of the type in its own way, only null counts remain.
    """
    if not column.unsupported:
        return bounds
    nothing = unknown_bounds(column, bounds.row_count)
    return replace(nothing, null_count=bounds.null_count)


def _blocks(audit: FileAudit, column: LeafColumn, positions: NDArray[np.int64]) -> list[Blocks | str | None]:
    filters = BloomFilters(audit.index.groups, audit.index.footers, audit.index.store)
    may_exist = filters.may_exist(column)[positions]
    if column.unsupported or not may_exist.any():
        return [None] * len(positions)
    read = iter(filters.read(column, positions[may_exist]))
    return [next(read) if exists else None for exists in may_exist]


def _dictionaries(audit: FileAudit, column: LeafColumn, positions: NDArray[np.int64]) -> list[pa.Array | str]:
    if column.unsupported or not len(positions):
        return [""] * len(positions)
    index = audit.index
    return Dictionaries(index.groups, index.footers, audit.pages, index.store).read(column, positions)


def _offsets(audit: FileAudit, column: LeafColumn, positions: NDArray[np.int64]) -> list[OffsetIndexes]:
    (offsets,) = audit.pages.locations([column], positions)
    return [offsets.take(np.array([i])) for i in range(len(positions))]


def _not_relied_on(  # noqa: PLR0917 - location, reason and wrong value
    audit: FileAudit, claim: str, position: int, column: LeafColumn, reason: str, wrong: str = ""
) -> None:
    finding = not_relied_on(claim, audit.location(position, column), reason, wrong=wrong)
    # Wrong claims are reported for each column. Claims that plans ignore, but that are not wrong, are reported once per
    # reason.
    audit.findings.add(finding, f"{column.name} {reason}" if wrong else reason)


def _check_pages(audit: FileAudit, column: LeafColumn, position: int, offsets: OffsetIndexes) -> None:
    if offsets.reason[0]:
        return
    audit.findings.claims["page_rows"] += len(offsets.offset)
    file, rows = audit.index.groups.files[audit.file], int(audit.index.groups.row_count[position])
    chunks = audit.index.footers.chunks(column)
    stop = int(chunks.first_page_offset[position] + chunks.compressed_bytes[position])
    wrong = check_pages(file, offsets, rows, stop, location=audit.location(position, column), traffic=audit.traffic)
    if wrong is not None:
        audit.findings.add(wrong, audit.key(column))


def _report_ignored(audit: FileAudit, audited: AuditedColumn, position: int, ignored: Sequence[WholeFile]) -> None:
    """Report statistics that contradict each other, and written statistics that plans do not trust."""
    column = audited.column
    doubt = reason_of(int(audit.index.footers.doubts(column)[position]))
    if doubt:
        finding = not_relied_on("contradiction", audit.location(position, column), doubt, wrong="both cannot hold")
        audit.findings.add(finding, f"{audit.file} {doubt}")
    for whole in ignored:
        checked = whole.checked
        reason = _reason(audit, audited) or doubt or _unusable(column)
        wrong = [
            *(
                f"{side} {wrong_value.bound}, row {wrong_value.row} holds {wrong_value.value}"
                for side, wrong_value in checked.outside()
            ),
            *(
                f"{wrong_value.claimed} {wrong_value.what}, there are {wrong_value.actual}"
                for wrong_value in checked.miscounts(whole=True)
            ),
        ]
        _not_relied_on(audit, "row_group_statistics", position, column, reason, "; ".join(wrong))


def _unusable(column: LeafColumn) -> str:
    return _NAN if column.physical in {Physical.FLOAT, Physical.DOUBLE} else _CONTRADICTED


def _reason(audit: FileAudit, audited: AuditedColumn) -> str:
    return audited.ignored.reasons[int(audit.index.groups.provenance_ids[audit.file])]


def _report_silent_pages(audit: FileAudit, audited: AuditedColumn, position: int, pages: CheckedClaims | None) -> None:
    """Report pages with values but without usable bounds, although their column index is trusted."""
    if pages is None or audited.column.unsupported:
        return
    silent = ~valid_flags(pages.claimed.lower) & ~valid_flags(pages.claimed.upper)
    silent &= pages.rows - pages.nulls - pages.nans > 0
    if silent.any():
        _not_relied_on(
            audit, "page_bounds", position, audited.column, _reason(audit, audited) or _unusable(audited.column)
        )


def _log_claims(audit: FileAudit, column: LeafColumn) -> list[WholeFile]:
    bounds = audit.claims.bounds(column.path, audit.file)
    return [] if bounds is None else [WholeFile(CheckedClaims(_prunable(column, bounds)), audit.live)]


def _report_log(audit: FileAudit, column: LeafColumn, of_log: Sequence[WholeFile]) -> None:
    source = ClaimSource("log", audit.claims.name, audit.name, column.name)
    for whole in of_log:
        count_claims(audit.findings, "log", whole.checked)
        findings = findings_of_claims(
            source, whole.checked, as_text=is_text(column), whole=audit.whole, extremes_alone=audit.live is not None
        )
        for finding in findings:
            audit.findings.add(finding, audit.key(column))


def _audit_partition(audit: FileAudit, column: LeafColumn) -> None:
    """Compare the partition value of a file with its stored column.

    A file without a column of that name passes.
    """
    from prune_assets.checks.audit.column_values import read_column

    bounds = audit.claims.partition(column.path, audit.file)
    footer_kind = audit.index.groups.names.provenances[int(audit.index.groups.provenance_ids[audit.file])]
    leaf = footer_kind.by_path.get(column.path)
    if bounds is None or leaf is None or leaf.max_repetition_level:
        return
    whole = WholeFile(CheckedClaims(bounds), audit.live)
    audit.findings.claims["partition_values"] += 1
    for position, whole.first_row in zip(audit.chosen.tolist(), audit.first_rows(audit.chosen), strict=True):
        group = int(audit.index.groups.ordinal[position])
        for part in read_column(audit.values, group, leaf.path, leaf=leaf, column=leaf):
            whole.take(part)
    source = ClaimSource("partition", audit.claims.name, audit.name, column.name, audit.claims.partition_remedy)
    for finding in findings_of_claims(source, whole.checked, as_text=is_text(column), whole=False, extremes_alone=True):
        audit.findings.add(finding, audit.key(column))


def _check_empty_groups(audit: FileAudit, columns: Sequence[LeafColumn]) -> None:
    for position in audit.chosen[audit.index.groups.row_count[audit.chosen] <= 0].tolist():
        for column in columns[:1]:
            chunks = audit.index.footers.chunks(column)
            location, file = audit.location(position, column), audit.index.groups.files[audit.file]
            wrong = check_empty(file, chunks, position, location=location, traffic=audit.traffic)
            if wrong is not None:
                audit.findings.add(wrong, audit.key(column))
