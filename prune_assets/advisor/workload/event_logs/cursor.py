"""Store which event logs were read completely, and which queries of unfinished logs were counted."""

from __future__ import annotations

from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from parquet_core.errors import WrongUse
from prune_assets.report.output import write_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from prune_assets.advisor.workload.event_logs.find_logs import EventLog

SCHEMA = "workload-cursor/1"
_IN_PROGRESS = ".inprogress"


class _LogState(msgspec.Struct):
    """The state of one log.

    `counted`: numbers of the counted queries, as half-open ranges.
    """

    size: int
    is_finished: bool
    counted: list[tuple[int, int]] = []


class _Document(msgspec.Struct):
    schema: str = SCHEMA
    logs: dict[str, _LogState] = {}


class EventLogCursor:
    """The event logs and queries that were read, stored in a file, which may not exist yet. `save` writes the file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.logs: dict[str, _LogState] = {}
        if self.path.exists():
            self.logs = _read(self.path).logs

    def has_read(self, log: EventLog) -> bool:
        """Return True if a log was read completely and has not changed since."""
        state = self.logs.get(_key(log))
        return state is not None and state.is_finished == log.is_finished and state.size == log.size

    def counted(self, log: EventLog) -> frozenset[int]:
        """Return the numbers of the queries of a log that were counted already."""
        state = self.logs.get(_key(log))
        return frozenset(chain.from_iterable(range(*interval) for interval in ([] if state is None else state.counted)))

    def note(self, log: EventLog, ended: Iterable[int]) -> None:
        """Record that a log was read, and the queries that this read counted."""
        counted = sorted({*self.counted(log), *ended})
        ranges = [] if log.is_finished else [*_ranges(counted)]
        self.logs[_key(log)] = _LogState(log.size, log.is_finished, ranges)

    def save(self) -> None:
        """Write the file and replace the old one."""
        write_whole(self.path, msgspec.json.encode(_Document(logs=self.logs)).decode())


def _key(log: EventLog) -> str:
    return log.path.removesuffix(_IN_PROGRESS)


def _read(path: Path) -> _Document:
    try:
        document = msgspec.json.decode(path.read_bytes(), type=_Document)
    except msgspec.MsgspecError as error:
        raise WrongUse(f"{path}: not a cursor of `prune workload` ({error}); give another file, or delete it") from None
    if document.schema != SCHEMA:
        raise WrongUse(f"{path}: a document of schema {document.schema}, not {SCHEMA}; give another file")
    return document


def _ranges(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Return sorted numbers as half-open ranges.

    >>> list(_ranges([1, 2, 3, 7]))
    [(1, 4), (7, 8)]
    """
    starts = [b for a, b in pairwise([None, *numbers]) if b is not None and (a is None or b != a + 1)]
    ends = [a + 1 for a, b in pairwise([*numbers, None]) if a is not None and (b is None or b != a + 1)]
    return zip(starts, ends, strict=True)
