"""Read the scans of event logs, one application at a time. Unreadable lines are counted and skipped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from parquet_core.errors import PruneError
from parquet_core.storage import Traffic
from prune_assets.advisor.workload.event_logs.application import Application
from prune_assets.advisor.workload.event_logs.decompress import CutOff, NoEventLog, blocks
from prune_assets.advisor.workload.event_logs.events import EVENT, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prune_assets.advisor.workload.event_logs.cursor import EventLogCursor
    from prune_assets.advisor.workload.event_logs.events import ApplicationStart
    from prune_assets.advisor.workload.event_logs.find_logs import EventLog
    from prune_assets.advisor.workload.event_logs.zips import LogFile
    from prune_assets.advisor.workload.ran_scan import RanScan

# Longer lines are left out: a plan of this size has millions of words.
LONGEST_LINE = 32 << 20
TOO_LONG = b""


class LogReader:
    """A reader of logs that collects what could not be read.

    `problems`: a message for each damaged log.
    `not_understood`: number of skipped parts, by reason.
    `no_logs`: files that are not event logs.
    `advance`: called with the number of bytes of each block read.
    `is_wanted`: called with the start event of an application; returns True if the application counts.
    `left_out`: names of the applications that do not count.
    `since`, `until`: only queries that began in this interval count (milliseconds since 1970-01-01).
    """

    def __init__(
        self,
        advance: Callable[[int], None] = lambda _: None,
        is_wanted: Callable[[ApplicationStart], bool] = lambda _: True,
        *,
        since: int | None = None,
        until: int | None = None,
    ) -> None:
        self.since, self.until = since, until
        self.problems: list[str] = []
        self.no_logs: list[str] = []
        self.left_out: list[str] = []
        self.is_wanted = is_wanted
        self.not_understood: Counter[str] = Counter()
        self.advance = advance
        self.events = 0
        self._fetched = 0
        self.own_queries = 0
        # Number of logs without new content.
        self.passed_over = 0

    def read(self, log: EventLog, cursor: EventLogCursor | None = None) -> Iterator[RanScan]:
        """Yield the scans of a log.

        `cursor`: if given, only scans of completed queries that the cursor has not counted are yielded.
        """
        if cursor is not None and cursor.has_read(log):
            self.passed_over += 1
            self.advance(log.size)
            return
        self._fetched = 0
        counted = () if cursor is None else cursor.counted(log)
        application = Application(counted, self.since, self.until)
        checked_start = None
        for file in log.files:
            # Spark may still be writing, but only to the last file.
            is_whole = log.is_finished or file is not log.files[-1]
            for line in self._lines(file, is_whole=is_whole):
                yield from self._take(line, application)
                if application.start is checked_start:
                    continue
                checked_start = application.start
                if checked_start is not None and not self.is_wanted(checked_start):
                    self.left_out.append(application.name)
                    self.advance(log.size - self._fetched)
                    return
        if cursor is None or log.is_finished:
            yield from application.end()
        if cursor is not None:
            cursor.note(log, application.ended)
        self.not_understood += application.not_understood
        self.own_queries += application.own_queries

    def _lines(self, file: LogFile, *, is_whole: bool) -> Iterator[bytes]:
        try:
            yield from lines_of(self._blocks(file))
        except CutOff as error:
            self.problems += [str(error)] if is_whole else []
        except NoEventLog:
            self.no_logs.append(file.path)
        except PruneError as error:
            self.problems.append(str(error))

    def _blocks(self, file: LogFile) -> Iterator[bytes]:
        traffic, seen = Traffic(), 0
        for block in blocks(file, traffic):
            fetched = sum(traffic.bytes.values())
            self.advance(fetched - seen)
            self._fetched += fetched - seen
            seen = fetched
            yield block

    def _take(self, line: bytes, application: Application) -> Iterator[RanScan]:
        self.events += line.startswith(EVENT)
        try:
            event = decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            self.not_understood["a line that is damaged or cut off"] += 1
            return
        if event is not None:
            yield from application.take(event)
        elif line == TOO_LONG:
            self.not_understood["a line that is too long"] += 1


def lines_of(blocks: Iterable[bytes], *, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    r"""Yield each line without its end, and `TOO_LONG` instead of a line that is too long.

    The last line may be incomplete, if Spark is still writing the log.

    >>> list(lines_of([b"ab", b"c\nlong", b"er\n", b"d"], longest=5))
    [b'abc', b'', b'd']
    """
    waiting: list[bytes] = []
    size = 0
    for block in blocks:
        first, *rest = block.split(b"\n")
        size += len(first)
        # The rest of a line that is too long is dropped.
        waiting = [*waiting, first] if size <= longest else []
        if rest:
            yield b"".join(waiting) if size <= longest else TOO_LONG
            *whole, last = rest
            yield from whole
            waiting, size = [last], len(last)
    if size:
        yield b"".join(waiting) if size <= longest else TOO_LONG
