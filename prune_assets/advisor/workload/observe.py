"""`Workload.read`: gather query shapes from event logs, files of SQL and earlier workloads."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.printable import listed, redacted
from parquet_core.storage import address, is_remote, local_path
from prune_assets.advisor.workload.declared import scans_of_sql
from prune_assets.advisor.workload.event_logs.cursor import EventLogCursor
from prune_assets.advisor.workload.event_logs.decompress import NoEventLog
from prune_assets.advisor.workload.event_logs.find_logs import find_logs
from prune_assets.advisor.workload.event_logs.read_logs import LogReader
from prune_assets.advisor.workload.gather import Gathered

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prune_assets.advisor.workload.event_logs.events import ApplicationStart
    from prune_assets.advisor.workload.query_shapes import Workload
    from prune_assets.advisor.workload.ran_scan import RanScan

    Path_ = str | os.PathLike[str]
    Time = str | dt.date | dt.datetime

_SQL = ".sql"


def observed(
    event_logs: Path_ | Iterable[Path_],
    *,
    since: Time | None = None,
    until: Time | None = None,
    table: Path_ | None = None,
    cursor: Path_ | None = None,
    progress: Callable[[int, int], None] | None = None,
    app: str | Iterable[str] | None = None,
    user: str | Iterable[str] | None = None,
) -> Workload:
    """Return the result of `Workload.read`, which documents the arguments and errors."""
    paths = [os.fspath(path) for path in ([event_logs] if isinstance(event_logs, str | os.PathLike) else event_logs)]
    begin, end = _milliseconds(since, "since"), _milliseconds(until, "until")
    table = None if table is None else os.fspath(table)
    noted = None if cursor is None else EventLogCursor(cursor)
    gathered = Gathered()
    reader = LogReader(
        is_wanted=lambda start: _is_wanted(start, _patterns(app), _patterns(user)), since=begin, until=end
    )
    wanted = None if table is None else {table, _spelled(table)}
    others: set[str] = set()
    for scan in chain(
        _scans_of_sql(paths, table, gathered.not_understood), _scans_of_logs(paths, reader, noted, progress)
    ):
        is_late = scan.time is not None and ((begin or 0) > scan.time or (end is not None and scan.time >= end))
        if is_late:
            continue
        if wanted is None or wanted & {scan.table, scan.name}:
            gathered.add(scan)
        else:
            others.add(scan.table)
    if noted is not None:
        noted.save()
    gathered.not_understood += reader.not_understood
    problems = [*reader.problems, *_note_other_tables(table, others if not gathered.shapes else set())]
    problems += _note_other_applications(reader.left_out if not gathered.shapes and not reader.own_queries else [])
    observed = gathered.workload(since=_text(gathered.first), until=_text(gathered.last), problems=tuple(problems))
    return replace(observed, own_queries=reader.own_queries, other_applications=len(reader.left_out))


def _note_other_tables(table: str | None, others: set[str]) -> Iterator[str]:
    if others:
        yield f"no query read {redacted(str(table))}; queries read {listed(sorted(map(redacted, others)))}"


def _note_other_applications(names: list[str]) -> Iterator[str]:
    if names:
        yield f"no application has this name or user; the logs have {listed(sorted(set(names)))}"


def _patterns(names: str | Iterable[str] | None) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def _is_wanted(start: ApplicationStart, apps: Sequence[str], users: Sequence[str]) -> bool:
    """Return True if an application matches a name or id in `apps` and a user in `users`.

    An empty list matches every application.
    """
    by_name = any(fnmatchcase(name, app) for app in apps for name in (start.name, start.identifier or ""))
    return (by_name or not apps) and (not users or any(fnmatchcase(start.user, user) for user in users))


def _scans_of_sql(paths: list[str], table: str | None, not_understood: Counter[str]) -> Iterator[RanScan]:
    for path in paths:
        if path.endswith(_SQL):
            yield from scans_of_sql(text_of(path), table, not_understood, source=path)


def _scans_of_logs(
    paths: list[str], reader: LogReader, cursor: EventLogCursor | None, progress: Callable[[int, int], None] | None
) -> Iterator[RanScan]:
    logs = find_logs([path for path in paths if not path.endswith(_SQL)])
    total, read = sum(log.size for log in logs), 0

    def advance(size: int) -> None:
        nonlocal read
        read += size
        if progress is not None:
            progress(read, total)

    reader.advance = advance
    for log in logs:
        yield from reader.read(log, cursor)
    reader.problems += _foreign(reader.no_logs)
    if reader.problems and not reader.events and not reader.passed_over:
        raise WrongUse(reader.problems[0])


def _foreign(files: list[str]) -> Iterator[str]:
    """Yield one message that names all files that are not event logs."""
    if len(files) == 1:
        yield str(NoEventLog(files[0]))
    elif files:
        yield f"{len(files):,} files are not Spark event logs and are left out: {listed(map(redacted, files), 3)}"


def text_of(path: str) -> str:
    """Return the text of a file. Raises WrongUse if the file cannot be read."""
    try:
        return Path(local_path(path)).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise WrongUse(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise WrongUse(f"{path}: {error.strerror}; check the path") from None


def _spelled(table: str) -> str:
    """Return a table as scans name it: a path is normalized, a name is unchanged."""
    if is_remote(table):
        return address(table)
    path = local_path(table)
    return os.path.abspath(path) if os.sep in path or Path(path).exists() else table  # noqa: PTH100 - links must remain


def _milliseconds(time: Time | None, name: str) -> int | None:
    if time is None:
        return None
    try:
        parsed = dt.datetime.fromisoformat(time if isinstance(time, str) else time.isoformat())
    except ValueError:
        raise WrongUse(
            f"{name}: {time!r} is not a date or time; write one like 2024-01-31 or 2024-01-31T12:00"
        ) from None
    parsed = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=dt.UTC)
    return round(parsed.timestamp() * 1000)


def _text(time: int | None) -> str:
    return "" if time is None else dt.datetime.fromtimestamp(time / 1000, dt.UTC).isoformat()
