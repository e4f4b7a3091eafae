"""Put files into a plain directory so that a reader sees the old table or the new one.

Files are written into a hidden directory inside the table, which Spark and the planner pass over, are
proven there, and are then renamed into place one by one. What a plain directory cannot give: the
renames are single steps. A reader that lists the table between them sees some of the new files; a
crash between them leaves those in place beside all of the old ones (overwrite removes the old files
only after every new one is in place and on disk). A table with a log has no such moment.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from parquet_core.errors import MalformedFile, StorageFailure, WrongUse
from prune_assets.spark.table_formats import refuse_table_formats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PREFIX = "_staging-"


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file whose footer was read back."""

    path: Path
    rows: int
    row_groups: int
    bytes: int


@contextmanager
def staging_directory(table: Path) -> Iterator[Path]:
    """Give a fresh hidden directory inside the table; it is gone afterwards, and so is a table made for nothing."""
    made = [path for path in (table, *table.parents) if not path.exists()]
    try:
        table.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise WrongUse(f"{table}: is a file; a table is a directory, name another path") from None
    except OSError as error:
        raise StorageFailure(f"{table}: {error.strerror}; check the path and its permissions") from None
    stage = table / f"{PREFIX}{uuid4().hex}"
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        for path in made:
            if next(path.iterdir(), None) is not None:
                break
            path.rmdir()


def prove(stage: Path, *, rows: int) -> list[StagedFile]:
    """Read the footers of the staged files back; together they must hold `rows` rows.

    Raises MalformedFile when a footer cannot be read or the rows differ. Sorted by name, which is
    the order of the sort key.
    """
    staged = [_read_back(path) for path in sorted(stage.glob("*.parquet"))]
    found = sum(file.rows for file in staged)
    if found != rows:
        raise MalformedFile(f"{stage}: Spark wrote {rows} rows and {found} are in the files; nothing was committed")
    return staged


def _read_back(path: Path) -> StagedFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise MalformedFile(f"{path}: the written footer cannot be read ({error}); nothing was committed") from None
    return StagedFile(path, footer.num_rows, footer.num_row_groups, path.stat().st_size)


def commit(staged: Sequence[StagedFile], table: Path, *, replaced: Sequence[str]) -> tuple[str, ...]:
    """Move staged files into the table, then remove the replaced ones; return the new paths.

    An error before the last move takes the moved files out again, so the table is as it was. WrongUse where the
    table, or where replaced files lie, has become one of Delta, Iceberg or Hudi meanwhile.
    """
    refuse_table_formats({table, *(Path(file).parent for file in replaced)})
    placed: list[Path] = []
    try:
        for file in staged:
            placed.append(_move(file.path, table / file.path.name))  # noqa: PERF401 - an error needs those moved so far
        _sync(table)
    except BaseException as error:
        for path in placed:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StorageFailure(f"{table}: {error.strerror}; the table is as it was") from error
        raise
    _remove(replaced)
    return tuple(str(path) for path in placed)


def _move(file: Path, target: Path) -> Path:
    _sync(file)
    if target.exists():
        raise StorageFailure(f"{target}: is there already; nothing is ever replaced, write again")
    return file.rename(target)


def _remove(files: Sequence[str]) -> None:
    for file in files:
        try:
            Path(file).unlink(missing_ok=True)
        except OSError as error:
            raise StorageFailure(
                f"{file}: {error.strerror}; the new files are in place, remove this old one by hand"
            ) from error


def _sync(path: Path) -> None:
    """Bring a file, or the names in a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
