"""MERGE, UPDATE and DELETE of a table's history: their conditions, and the bytes that they opened and rewrote.

A log records the rewritten files of a statement, but rarely the opened files. In delta-spark, a MERGE opens
all files of the table unless a conjunct of its condition uses only the table's columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from deltalog.log.actions import Count, Line, Path
from deltalog.log.commit_file import info_of, read_commits
from deltalog.snapshot.history import commit_times
from deltalog.snapshot.merge_condition import condition_text, merge_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltalog.snapshot.snapshot import Snapshot

OPERATIONS = ("MERGE", "UPDATE", "DELETE")
# Number of commits that are searched, and number of commits that are read at a time.
MOST_COMMITS, _BATCH = 200, 50


class FileTotals(NamedTuple):
    """A number of files, and their bytes; None if unknown."""

    files: int | None = None
    bytes: int | None = None


_UNKNOWN = FileTotals()


@dataclass(frozen=True, slots=True)
class RowChange:
    """A MERGE, an UPDATE or a DELETE.

    `timestamp`: milliseconds since 1970 UTC.
    `predicate`: the condition in the commit; None if missing.
    `join_keys`: columns of the table that a MERGE compares with its source.
    `table`: all files of the previous version.
    `opened`: files that the statement opened to find its rows. Unknown if the statement may have skipped files and the
    commit does not record their number.
    `rewritten`: files that the statement replaced, or gave another deletion vector.
    `added`: paths of the files that the statement wrote.
    `changed_rows`: number of updated and deleted rows.
    `scan_ms`, `rewrite_ms`, `execution_ms`: milliseconds; None if unknown.
    """

    version: int
    timestamp: int
    operation: str
    predicate: str | None = None
    join_keys: tuple[str, ...] = ()
    table: FileTotals = _UNKNOWN
    opened: FileTotals = _UNKNOWN
    rewritten: FileTotals = _UNKNOWN
    added: tuple[str, ...] = ()
    source_rows: int | None = None
    changed_rows: int | None = None
    inserted_rows: int | None = None
    scan_ms: int | None = None
    rewrite_ms: int | None = None
    execution_ms: int | None = None


class Amplification(NamedTuple):
    """Totals of opened and of rewritten files.

    `statements`: number of statements whose opened and rewritten files are known.
    """

    statements: int
    opened: FileTotals
    rewritten: FileTotals

    @property
    def ratio(self) -> float | None:
        """Opened bytes per rewritten byte, or files per file if bytes are unknown; None if nothing was rewritten."""
        pairs = ((self.opened.bytes, self.rewritten.bytes), (self.opened.files, self.rewritten.files))
        opened, rewritten = next(((a, b) for a, b in pairs if a is not None and b is not None), (None, None))
        return opened / rewritten if opened is not None and rewritten else None


def amplification(changes: Iterable[RowChange]) -> Amplification:
    """Return the totals of the statements whose opened files are known.

    >>> opened, rewritten = FileTotals(20, 2_000), FileTotals(1, 100)
    >>> amplification([RowChange(1, 0, "MERGE", opened=opened, rewritten=rewritten), RowChange(0, 0, "MERGE")]).ratio
    20.0
    """
    known = [each for each in changes if each.opened.files is not None and each.rewritten.files is not None]
    opened, rewritten = (_sum([getattr(each, name) for each in known]) for name in ("opened", "rewritten"))
    return Amplification(len(known), opened, rewritten)


class StatementKind(NamedTuple):
    """Statements that open a table for the same reason: an operation and its join keys."""

    operation: str
    join_keys: tuple[str, ...]


def by_condition(changes: Iterable[RowChange]) -> dict[StatementKind, list[RowChange]]:
    """Group statements by operation and join keys, in order of first appearance."""
    groups: dict[StatementKind, list[RowChange]] = {}
    for change in changes:
        groups.setdefault(StatementKind(change.operation, change.join_keys), []).append(change)
    return groups


def needless_first(changes: Iterable[RowChange]) -> list[RowChange]:
    """Sort statements by the bytes that they opened without a rewrite, most first; unknown bytes last."""
    return sorted(changes, key=_needless, reverse=True)


def _needless(change: RowChange) -> tuple[bool, int, int]:
    opened, rewritten = change.opened, change.rewritten
    pairs = zip((opened.bytes, opened.files), (rewritten.bytes, rewritten.files), strict=True)
    size, files = (-1 if a is None else a - (b or 0) for a, b in pairs)
    return opened.files is not None, size, files


def _sum(sizes: Sequence[FileTotals]) -> FileTotals:
    files, size = ([getattr(each, name) for each in sizes] for name in FileTotals._fields)
    return FileTotals(*(None if None in counts else sum(counts) for counts in (files, size)))


def row_changes(
    snapshot: Snapshot, *, limit: int | None = None, operations: Sequence[str] = OPERATIONS, most: int = MOST_COMMITS
) -> list[RowChange]:
    """Return the last statements that changed rows, newest first, from the commits alone.

    `limit`: maximum number of statements.
    `most`: number of commits that are searched. Commits that log cleanup removed, and those before them, are missing.
    """
    commits = snapshot.listing.commits
    versions: list[int] = []
    while len(versions) < most and (version := snapshot.version - len(versions)) in commits:
        versions.append(version)
    columns = [column.leaf.path[0] for column in snapshot.schema.columns]
    found: list[RowChange] = []
    table = FileTotals(snapshot.file_count, snapshot.total_bytes)
    for start in range(0, len(versions), _BATCH):
        batch = versions[start : start + _BATCH]
        read = read_commits([commits[version] for version in batch], _LINES, traffic=snapshot.traffic)
        files = [_Changed.of(lines) for lines in read]
        times = commit_times(snapshot, {version: one.info for version, one in zip(batch, files, strict=True)})
        for version, one in zip(batch, files, strict=True):
            table = one.before(table)
            if one.info.get("operation") in operations:
                found.append(_row_change(version, times[version], one, table, columns))
            if limit is not None and len(found) >= limit:
                return found
    return found


class _SizedAdd(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    path: Path
    size: Count
    data_change: bool = True


class _SizedRemove(msgspec.Struct, frozen=True, gc=False):
    path: Path
    size: Count | None = None


class _SizedLine(Line, frozen=True, gc=False):
    """A line of a commit, with only the paths and sizes of its files."""

    add: _SizedAdd | None = None  # type: ignore[assignment]  # a subset of the fields of `Add`
    remove: _SizedRemove | None = None  # type: ignore[assignment]


_LINES = msgspec.json.Decoder(_SizedLine)


class _Changed(NamedTuple):
    """A commit: its commitInfo, and the sizes of the files that it added and removed, by path."""

    info: dict[str, Any]
    added: dict[str, int]
    removed: dict[str, int | None]

    @classmethod
    def of(cls, lines: Iterable[_SizedLine]) -> _Changed:
        lines = list(lines)
        removed = {line.remove.path: line.remove.size for line in lines if line.remove}
        # In a commit without removed files, an `add` without a data change only gives a file new statistics.
        adds = [line.add for line in lines if line.add and (line.add.data_change or removed)]
        added = {add.path: add.size for add in adds}
        # A new deletion vector removes a file and adds it again.
        return cls(info_of(lines), added, {path: added.get(path, size) for path, size in removed.items()})

    def before(self, table: FileTotals) -> FileTotals:
        """Return the size of the table before the commit; `table`: its size after it."""
        return FileTotals(
            None if table.files is None else table.files - len(self.added) + len(self.removed),
            None
            if table.bytes is None or None in self.removed.values()
            else table.bytes - sum(self.added.values()) + sum(size or 0 for size in self.removed.values()),
        )

    def rewritten(self) -> FileTotals:
        sizes = list(self.removed.values())
        return FileTotals(len(sizes), None if None in sizes else sum(size or 0 for size in sizes))


def _row_change(version: int, timestamp: int, commit: _Changed, table: FileTotals, columns: Sequence[str]) -> RowChange:
    operation = str(commit.info["operation"])
    parameters, metrics = (_mapping(commit.info.get(key)) for key in ("operationParameters", "operationMetrics"))
    predicate = condition_text(parameters)
    condition = merge_condition(predicate or "", columns) if operation == "MERGE" else None
    return RowChange(
        version,
        timestamp,
        operation,
        predicate,
        () if condition is None else condition.join_keys,
        table,
        _opened(commit, metrics, table, may_skip=predicate is None or condition is None or bool(condition.other)),
        commit.rewritten(),
        tuple(path for path in commit.added if path not in commit.removed),
        _count(metrics, "numSourceRows", "num_source_rows"),
        _total(metrics, ("updated", "Updated"), ("deleted", "Deleted")),
        _count(metrics, "numTargetRowsInserted", "num_target_rows_inserted"),
        _count(metrics, "scanTimeMs", "scan_time_ms"),
        _count(metrics, "rewriteTimeMs", "rewrite_time_ms"),
        _count(metrics, "executionTimeMs", "execution_time_ms"),
    )


def _opened(commit: _Changed, metrics: Mapping[str, object], table: FileTotals, *, may_skip: bool) -> FileTotals:
    """Return the files that a statement opened to find its rows."""
    files = _count(metrics, "numTargetFilesAfterSkipping", "num_target_files_scanned")
    # delta-rs 1.6 reports 0 opened files for a MERGE of larger files.
    if files is not None and files >= max(len(commit.removed), 1):
        size = _count(metrics, "numTargetBytesAfterSkipping")
        return FileTotals(files, table.bytes if size is None and files == table.files else size)
    info = commit.info
    # Databricks and delta-rs skip files of the table by the values of the source.
    if files is not None or "clusterId" in info or re.search("Databricks|delta-rs", str(info.get("engineInfo", ""))):
        return _UNKNOWN
    parameters = _mapping(info.get("operationParameters"))
    # WHEN NOT MATCHED BY SOURCE may change rows in any file, so no file is skipped.
    if _clauses(parameters.get("notMatchedBySourcePredicates")):
        return table
    return _UNKNOWN if may_skip or _all_matched_conditional(parameters) else table


def _all_matched_conditional(parameters: Mapping[str, Any]) -> bool:
    """Return True if each clause is WHEN MATCHED with a condition, by which delta-spark may skip files."""
    matched = _clauses(parameters.get("matchedPredicates"))
    inserts = _clauses(parameters.get("notMatchedPredicates"))
    return bool(matched) and not inserts and all("predicate" in clause for clause in matched)


def _clauses(written: object) -> list[dict[str, Any]]:
    if isinstance(written, str):
        try:
            written = msgspec.json.decode(written)
        except msgspec.DecodeError:
            return []
    return [clause for clause in written if isinstance(clause, dict)] if isinstance(written, list) else []


def _mapping(written: object) -> dict[str, Any]:
    return written if isinstance(written, dict) else {}


def _count(metrics: Mapping[str, object], *names: str) -> int | None:
    """Return the first metric that exists under one of the names, as a number; None if none exists."""
    for name in names:
        value = metrics.get(name)
        if isinstance(value, int | str) and str(value).isdecimal():
            return int(value)
    return None


def _total(metrics: Mapping[str, object], *words: tuple[str, str]) -> int | None:
    """Return the sum of the metrics that count the rows of some verbs, such as `updated`; None if there is none."""
    names = (
        (f"numTargetRows{camel}", f"num{camel}Rows", f"num_target_rows_{snake}", f"num_{snake}_rows")
        for snake, camel in words
    )
    counts = [count for each in names if (count := _count(metrics, *each)) is not None]
    return sum(counts) if counts else None
