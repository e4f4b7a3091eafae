"""The scans of event logs, one application after the other; what cannot be read costs a line, not the rest."""

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

# A longer line is left out: a plan of this size has millions of words.
LONGEST_LINE = 32 << 20
TOO_LONG = b""


class LogReader:
    """Reads logs; `problems` has a line for each that is damaged, `not_understood` counts the parts left out.

    `advance` is called with the number of bytes of each block that was read. `is_wanted`: tells by the first events
    whether an application counts; `left_out` has the names of the others. `no_logs`: files that are no event logs.
    `since`, `until`: only queries that began in this time, in milliseconds since 1970-01-01.
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
        # Logs in which nothing is new.
        self.passed_over = 0

    def read(self, log: EventLog, cursor: EventLogCursor | None = None) -> Iterator[RanScan]:
        """Return the scans of a log; with a cursor those that it has not counted, of queries that have ended."""
        if cursor is not None and cursor.has_read(log):
            self.passed_over += 1
            self.advance(log.size)
            return
        self._fetched = 0
        counted = () if cursor is None else cursor.counted(log)
        application = Application(counted, self.since, self.until)
        known = None
        for file in log.files:
            # Only the last file can still be written.
            is_whole = log.is_finished or file is not log.files[-1]
            for line in self._lines(file, is_whole=is_whole):
                yield from self._take(line, application)
                if application.start is known:
                    continue
                known = application.start
                if known is not None and not self.is_wanted(known):
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
    r"""Return each line without its end, in the place of one that is too long `TOO_LONG`.

    The last one may be cut off where a log is still written.

    >>> list(lines_of([b"ab", b"c\nlong", b"er\n", b"d"], longest=5))
    [b'abc', b'', b'd']
    """
    waiting: list[bytes] = []
    size = 0
    for block in blocks:
        first, *rest = block.split(b"\n")
        size += len(first)
        # Of a line that is too long nothing more is kept.
        waiting = [*waiting, first] if size <= longest else []
        if rest:
            yield b"".join(waiting) if size <= longest else TOO_LONG
            *whole, last = rest
            yield from whole
            waiting, size = [last], len(last)
    if size:
        yield b"".join(waiting) if size <= longest else TOO_LONG
