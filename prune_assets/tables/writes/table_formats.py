"""Detect directories of Delta, Iceberg and Hudi tables, which plain writes and deletions would corrupt.

A format is recognized by its metadata next to the data, so a file belongs to the table of any directory above it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.storage import is_remote, local_path
from parquet_core.storage.globs import has_magic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable


def _delta(directory: Path) -> Path | None:
    return _path_if_present(directory / "_delta_log")


def _hudi(directory: Path) -> Path | None:
    return _path_if_present(directory / ".hoodie")


def _iceberg(directory: Path) -> Path | None:
    metadata = directory / "metadata"
    # A `metadata` directory that cannot be listed counts as an ordinary directory of this name.
    files = sorted(metadata.glob("[!.]*.metadata.json*")) if os.access(metadata, os.R_OK) else []
    return files[0] if files else _path_if_present(metadata / "version-hint.text")


def _path_if_present(path: Path) -> Path | None:
    return path if os.path.lexists(path) else None


# Metadata of each format in the directory of a table, even if it is empty or damaged.
FORMATS: dict[str, Callable[[Path], Path | None]] = {"Delta": _delta, "Iceberg": _iceberg, "Hudi": _hudi}
# Formats of directories that are never read as plain Parquet.
OF_OTHERS = ("Iceberg", "Hudi")


def plain_directory(table: str | os.PathLike[str]) -> Path:
    """Return the local directory that a table is written to.

    Raises WrongUse for a directory of a table format, and UnsupportedFeature for a remote location: a store cannot add
    and remove many files atomically.
    """
    if is_remote(os.fspath(table)):
        raise UnsupportedFeature(
            f"{table}: plain Parquet is written to local directories only, because a store shows a write in part; "
            "pass format='delta'"
        )
    directory = Path(local_path(os.fspath(table)))
    if "\0" in str(directory):
        raise WrongUse(f"{table}: a path cannot hold a zero byte; check the path")
    refuse_table_formats([directory])
    return directory


def refuse_unread(table: object) -> None:
    """Raise UnsupportedFeature for a directory that is not plain Parquet.

    A local directory is refused if it is a Hudi or Iceberg table, or is inside a table of any format. Such a directory
    also holds rows of old versions, which a plain Parquet read would return.
    """
    if not isinstance(table, str | os.PathLike) or is_remote(os.fspath(table)):
        return
    directory = Path(os.path.abspath(local_path(os.fspath(table))))  # noqa: PTH100 - keeps symbolic links
    if has_magic(str(directory)) and not os.path.lexists(directory):
        _refuse_pattern(table, directory)
        return
    if not os.path.isdir(directory):  # noqa: PTH112 - the name may be invalid
        return
    for name in OF_OTHERS:
        if (mark := FORMATS[name](directory)) is not None:
            raise UnsupportedFeature(
                f"{table}: is a table of {name} ({mark.relative_to(directory)} is in it), which this package does not "
                f"read; read it with Spark's own reader for {name}"
            )
    for above in directory.parents:
        for name, mark_of in FORMATS.items():
            if mark_of(above) is not None:
                raise UnsupportedFeature(
                    f"{table}: is a directory of the {name} table {above}, and may hold files of its old versions too; "
                    "name the table, and its partition in the predicate"
                )


def _refuse_pattern(table: object, pattern: Path) -> None:
    """Refuse a file pattern below the directory of a table, whose log alone lists the current files."""
    for above in (each for each in pattern.parents if not has_magic(str(each))):
        for name, mark_of in FORMATS.items():
            if mark_of(above) is not None:
                raise UnsupportedFeature(
                    f"{table}: is inside of the {name} table {above}, and may name files of its old versions; name the "
                    "table"
                )


def table_inside(table: object) -> tuple[str, Path] | None:
    """Return the format and the path of the first Delta, Iceberg or Hudi table below a directory.

    None if there is no such table, or if the location is remote.
    """
    if not isinstance(table, str | os.PathLike) or is_remote(os.fspath(table)):
        return None
    above = local_path(os.fspath(table))
    if not os.path.isdir(above):  # noqa: PTH112 - the name may be invalid
        return None
    for directory, inside, _ in os.walk(above):
        inside.sort()
        for name, mark_of in FORMATS.items():
            if mark_of(Path(directory)) is not None:
                return name, Path(directory)
    return None


def refuse_table_formats(directories: Iterable[Path], formats: Collection[str] = FORMATS) -> None:
    """Raise WrongUse if a directory or one of its parents belongs to a table.

    `formats`: names of the formats to check.

    Checks each directory as given and with symbolic links resolved.
    """
    seen: set[Path] = set()
    for directory in directories:
        for named in (os.path.abspath(directory), os.path.realpath(directory)):  # noqa: PTH100 - as given, then without links
            for ancestor in (Path(named), *Path(named).parents):
                if ancestor in seen:
                    break
                seen.add(ancestor)
                _refuse(ancestor, directory, formats)


def _name_remedy(name: str) -> str:
    if name == "Delta":
        return "write it with format delta (--format delta), or name another directory"
    return f"name another directory, or write with Spark's own writer for {name}"


def _refuse(ancestor: Path, directory: Path, formats: Collection[str]) -> None:
    for name in formats:
        if (mark := FORMATS[name](ancestor)) is not None:
            subject = "" if ancestor == directory else f"{ancestor} "
            raise WrongUse(
                f"{directory}: {subject}is a table of {name} ({mark.relative_to(ancestor)} is in it), and other files "
                f"would corrupt it; {_name_remedy(name)}"
            )
