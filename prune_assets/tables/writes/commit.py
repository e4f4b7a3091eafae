"""Put staged files into a plain directory, and take replaced ones out, at once: by a journal.

Order of a commit, whose writer holds the directory's lock:

1. The staged files are brought to the disk.
2. The journal that names all files that come and go gets its name. From here on the write counts.
3. The staged files are moved into the directory, one by one.
4. The replaced files are removed.
5. The journal is removed, then what is left of the staging folder.

Killed before 2, the table is the old one; killed later, `plan` and `read` see the new one, and `finish` does the
steps that are left. Every step may be done twice. An error in 2 or 3 is undone, and the table is the old one.
What a reader that knows no journal sees between 2 and 5: some of the new files beside the old ones (3), or all of the
new ones beside some of the old ones (4).
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
    """What was done about writes that were cut off.

    `added`, `removed`: the files of a write that counted already and is finished now. `leftovers`: the staging folders
    of others, which never counted and are removed.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.leftovers)


def commit(staged: Sequence[Path], stage: Path, *, replaced: Sequence[str]) -> tuple[str, ...]:
    """Move staged files into the table that `stage` lies in and remove the replaced ones; return the new paths.

    An error before the first removal leaves the table as it was. WrongUse where the table, or where replaced files
    lie, has become one of Delta, Iceberg or Hudi meanwhile.
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
    if (there := next((target for target in targets if target.exists()), None)) is not None:
        raise StorageFailure(f"{there}: the file exists already, and files are never replaced; write again")
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
    """Finish a write of a table that was cut off, or remove what it left where it did not count yet.

    Nothing is written where nothing is left. Raises UnfinishedWrite while a writer is at work, StorageFailure where
    this process may not write, MalformedFile for a journal that is none, and WrongUse for a table that has become one
    of Delta, Iceberg or Hudi.
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
    """Return the names in a directory that writers put there for the time of a write, sorted."""
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
    """Do the same as `recover` for a writer that holds the lock: every staging folder is that of one that has ended."""
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
    """Delete a folder that was written for a while; where that fails it stays, which `recover` reports.

    The JVM of a driver that was killed goes on for a moment, and a file that it adds meanwhile makes the deletion fail.
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
    """Let the write count: the journal gets its name when all that it names is on the disk, itself too."""
    stage = table / journal.staging
    (stage / JOURNAL).write_bytes(journal.encode())
    for name in (*journal.added, JOURNAL, *_places(journal.added), ""):
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
    for subdirectory in (*_places(journal.added), ""):
        _sync(table / subdirectory)


def _places(names: Iterable[str]) -> list[str]:
    """Return the directories that files lie in, and those above, the innermost first."""
    places = {str(subdirectory) for name in names for subdirectory in PurePosixPath(name).parents}
    return sorted(places - {"."}, key=lambda subdirectory: (-subdirectory.count("/"), subdirectory))


def _undo(journal: Journal, table: Path) -> None:
    """Take back what was moved, then the journal: until that is gone, all that it names counts as there."""
    if not (table / JOURNAL).exists():
        return
    try:
        for name in journal.added:
            if (table / name).exists():
                (table / name).rename(table / journal.staging / name)
        for subdirectory in _places(journal.added):
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
    """Remove the replaced files and the checksums that Hadoop keeps beside them, and then the journal."""
    file = table
    try:
        for file in (table / name for name in journal.removed):
            file.unlink(missing_ok=True)
            (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        for file in _existing({(table / name).parent for name in journal.removed}):
            _sync(file)
        file = table / JOURNAL
        file.unlink()
        _sync(table)
    except OSError as error:
        raise StorageFailure(
            f"{file}: {error.strerror}; the write is committed, but not all replaced files "
            f"are deleted; solve this, then run `prune doctor {table}`"
        ) from error


def _existing(directories: Iterable[Path]) -> list[Path]:
    return [directory for directory in directories if directory.exists()]


def _sync(path: Path) -> None:
    """Bring a file, or the names in a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
