"""Stage files inside a table and check them before any reader sees them.

Staged files are in a hidden directory, which Spark and the planner skip, until `prune_assets.tables.writes.commit`
makes them files of the table.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from parquet_core.errors import MalformedFile, StorageFailure, WrongUse
from parquet_core.printable import redacted
from parquet_core.storage import JOURNAL
from prune_assets.tables.writes.commit import finish
from prune_assets.tables.writes.write_lock import lock_seconds, write_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A staged file, as its footer describes it."""

    path: Path
    rows: int
    row_groups: int
    bytes: int


@contextmanager
def staging_directory(table: Path, *, lock_timeout: float | None = None) -> Iterator[Path]:
    """Yield a hidden directory inside the table, for one writer at a time.

    Interrupted writes are completed or removed first. Afterwards the hidden directory is deleted, unless its commit
    could not be completed: then it stays for the next writer. A new table directory that stayed empty is deleted too.
    Raises UnfinishedWrite if another writer runs for longer than `lock_timeout` seconds (None for PRUNE_LOCK_TIMEOUT).
    """
    seconds = lock_seconds(lock_timeout)
    made = [path for path in (table, *table.parents) if not path.exists()]
    try:
        table.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise WrongUse(f"{table}: this is a file, and a table is a directory; name another path") from None
    except OSError as error:
        raise StorageFailure(f"{table}: {error.strerror}; check the path and its permissions") from None
    try:
        with write_lock(table, timeout=seconds):
            if recovered := finish(table):
                _LOG.warning("%s: finished an interrupted write: %s", redacted(str(table)), redacted(str(recovered)))
            stage = table / f"_staging-{uuid4().hex}"
            try:
                yield stage
            finally:
                if not (table / JOURNAL).exists():
                    shutil.rmtree(stage, ignore_errors=True)
    finally:
        _remove_empty(made)


def _remove_empty(directories: list[Path]) -> None:
    for path in directories:
        try:
            path.rmdir()
        except OSError:
            break


def prove(stage: Path, *, rows: int) -> list[StagedFile]:
    """Read back the footers of the staged files, sorted by name, which is the order of the sort key.

    Raises MalformedFile if a footer cannot be read, or if the files do not hold `rows` rows in total.
    """
    staged = [_read_back(path) for path in sorted(stage.rglob("*.parquet"))]
    counted = sum(file.rows for file in staged)
    if counted != rows:
        raise MalformedFile(
            f"{stage}: Spark reports {rows} rows written, but the files hold {counted}; nothing was committed"
        )
    return staged


def _read_back(path: Path) -> StagedFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise MalformedFile(f"{path}: the written footer cannot be read ({error}); nothing was committed") from None
    return StagedFile(path, footer.num_rows, footer.num_row_groups, path.stat().st_size)
