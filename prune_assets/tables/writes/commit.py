"""Commit staged files to a plain directory, and remove the replaced files, atomically by a journal.

Steps of a commit, while the writer holds the directory's lock:

1. The staged files are synced to disk.
2. The journal, which names all files to add and remove, is renamed to its final name. From now on the write is
   committed.
3. The staged files are moved into the directory, one by one.
4. The replaced files are removed.
5. The journal is removed, then the rest of the staging directory.

If the writer is killed before step 2, the table is unchanged. If it is killed later, `plan` and `read` see the new
table, and `finish` completes the remaining steps. Each step is idempotent. An error in step 2 or 3 is rolled back, and
the table is unchanged. Between steps 2 and 5, a reader that ignores the journal sees some of the new files next to the
old ones (step 3), or all new files next to some of the old ones (step 4).
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from parquet_core.errors import StorageFailure, TableNotFound, WrongUse
from parquet_core.storage import JOURNAL, STAGING, Journal, read_journal
from prune_assets.tables.writes.table_formats import refuse_table_formats
from prune_assets.tables.writes.write_lock import LOCK, write_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_SECONDS_OF_AN_ORPHAN = 10.0


@dataclass(frozen=True, slots=True)
class Recovered:
    """Result of cleaning up interrupted writes.

    `added`, `removed`: files of a committed write that is complete now.
    `leftovers`: staging directories of uncommitted writes, which were removed.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.leftovers)


def commit(staged: Sequence[Path], stage: Path, *, replaced: Sequence[str]) -> tuple[str, ...]:
    """Move staged files into their table, and remove the replaced files; return the new paths.

    The table is the directory that contains `stage`. An error before the first removal leaves the table unchanged.
    Raises WrongUse if the table, or a directory of replaced files, has become a Delta, Iceberg or Hudi table meanwhile.
    """
    if not staged and not replaced:
        return ()
    table = stage.parent
    refuse_table_formats({table, *(Path(file).parent for file in replaced)})
    journal = Journal(
        staging=stage.name,
        added=tuple(str(file.relative_to(stage)) for file in staged),
        removed=tuple(str(Path(file).relative_to(table)) for file in replaced),
    )
    targets = [table / name for name in journal.added]
    if (existing := next((target for target in targets if target.exists()), None)) is not None:
        raise StorageFailure(f"{existing}: the file exists already, and files are never replaced; write again")
    try:
        _publish(journal, table)
        _move(journal, table)
    except BaseException as error:
        _undo(journal, table)
        if isinstance(error, OSError):
            raise StorageFailure(f"{table}: {error.strerror}; the table is unchanged") from error
        raise
    _remove(journal, table)
    return tuple(map(str, targets))


def recover(table: Path) -> Recovered:
    """Complete an interrupted write of a table if it was committed, else remove its leftovers.

    Writes nothing if there are no leftovers. Raises UnfinishedWrite while a writer is running, StorageFailure without
    write permission, MalformedFile for an invalid journal, and WrongUse for a table that has become a Delta, Iceberg or
    Hudi table.
    """
    if not leftovers(table):
        return Recovered()
    with write_lock(table):
        done = finish(table)
        if (stays := next((name for name in leftovers(table) if name != LOCK), None)) is not None:
            raise StorageFailure(
                f"{table / stays}: could not be deleted; check the permissions, and that no Spark still writes into it"
            )
    return done


def leftovers(table: Path) -> list[str]:
    """Return the names of temporary files and directories of writers in a directory, sorted."""
    try:
        names = [entry.name for entry in table.iterdir()]
    except FileNotFoundError:
        raise TableNotFound(f"{table}: no such directory; check the path") from None
    except NotADirectoryError:
        raise WrongUse(f"{table}: is a file; name the directory of a table") from None
    except OSError as error:
        raise StorageFailure(f"{table}: {error.strerror}; check the path and its permissions") from None
    return sorted(name for name in names if name in {JOURNAL, LOCK} or STAGING.fullmatch(name))


def finish(table: Path) -> Recovered:
    """Complete or remove interrupted writes like `recover`, for a writer that holds the lock.

    While it holds the lock, all other staging directories belong to finished writers.
    """
    left = leftovers(table)
    journal = read_journal(str(table / JOURNAL)) if JOURNAL in left else None
    if journal is not None:
        _carry_out(journal, table)
    for name in left:
        if STAGING.fullmatch(name):
            delete_folder(table / name)
    staging = {None if journal is None else journal.staging}
    return Recovered(
        () if journal is None else tuple(str(table / name) for name in journal.added),
        () if journal is None else tuple(str(table / name) for name in journal.removed),
        tuple(str(table / name) for name in left if STAGING.fullmatch(name) and name not in staging),
    )


def delete_folder(folder: Path) -> None:
    """Delete a temporary directory. If that fails, the directory stays, and `recover` reports it.

    The JVM of a killed driver keeps running for a moment, and a file that it adds meanwhile makes the deletion fail.
    """
    deadline = time.monotonic() + _SECONDS_OF_AN_ORPHAN
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        may_write = os.access(folder, os.W_OK) and os.access(folder.parent, os.W_OK)
        if not folder.exists() or not may_write or time.monotonic() > deadline:
            return
        time.sleep(0.1)


def _carry_out(journal: Journal, table: Path) -> None:
    refuse_table_formats({table, *((table / name).parent for name in journal.removed)})
    try:
        _move(journal, table)
    except OSError as error:
        raise StorageFailure(f"{error.filename}: {error.strerror}; solve this, then finish the write again") from error
    _remove(journal, table)


def _publish(journal: Journal, table: Path) -> None:
    """Sync the journal and all files that it names, then rename the journal to its final name."""
    stage = table / journal.staging
    (stage / JOURNAL).write_bytes(journal.encode())
    for name in (*journal.added, JOURNAL, *_directories_of(journal.added), ""):
        _sync(stage / name)
    (stage / JOURNAL).rename(table / JOURNAL)
    _sync(table)


def _move(journal: Journal, table: Path) -> None:
    for name in journal.added:
        target = table / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            (table / journal.staging / name).rename(target)
        except FileNotFoundError:
            if not target.exists():
                raise
    for subdirectory in (*_directories_of(journal.added), ""):
        _sync(table / subdirectory)


def _directories_of(names: Iterable[str]) -> list[str]:
    """Return the directories of files and their parents, innermost first."""
    directories = {str(subdirectory) for name in names for subdirectory in PurePosixPath(name).parents}
    return sorted(directories - {"."}, key=lambda subdirectory: (-subdirectory.count("/"), subdirectory))


def _undo(journal: Journal, table: Path) -> None:
    """Move the files back, then remove the journal, because files in a journal count as committed."""
    if not (table / JOURNAL).exists():
        return
    try:
        for name in journal.added:
            if (table / name).exists():
                (table / name).rename(table / journal.staging / name)
        for subdirectory in _directories_of(journal.added):
            with suppress(OSError):
                (table / subdirectory).rmdir()
        (table / JOURNAL).unlink()
        _sync(table)
    except OSError as error:
        raise StorageFailure(
            f"{table}: {error.strerror}; the write is committed but not finished; solve this, then run `prune "
            f"doctor {table}`"
        ) from error


def _remove(journal: Journal, table: Path) -> None:
    """Remove the replaced files and their Hadoop checksum files, then the journal."""
    file = table
    try:
        for file in (table / name for name in journal.removed):
            file.unlink(missing_ok=True)
            (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        for file in _existing_directories({(table / name).parent for name in journal.removed}):
            _sync(file)
        file = table / JOURNAL
        file.unlink()
        _sync(table)
    except OSError as error:
        raise StorageFailure(
            f"{file}: {error.strerror}; the write is committed, but not all replaced files "
            f"are deleted; solve this, then run `prune doctor {table}`"
        ) from error


def _existing_directories(directories: Iterable[Path]) -> list[Path]:
    return [directory for directory in directories if directory.exists()]


def _sync(path: Path) -> None:
    """Sync a file, or the entries of a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
