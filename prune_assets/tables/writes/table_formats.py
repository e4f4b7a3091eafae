"""Directories that a table format keeps: what is written or removed there behind the format's back breaks the table.

A format is known by what it keeps beside its data, so a file belongs to the table of any directory above it.
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
    return _there(directory / "_delta_log")


def _hudi(directory: Path) -> Path | None:
    return _there(directory / ".hoodie")


def _iceberg(directory: Path) -> Path | None:
    metadata = directory / "metadata"
    # One that may not be listed is not told from an ordinary directory of this name.
    files = sorted(metadata.glob("[!.]*.metadata.json*")) if os.access(metadata, os.R_OK) else []
    return files[0] if files else _there(metadata / "version-hint.text")


def _there(path: Path) -> Path | None:
    return path if os.path.lexists(path) else None


# What each keeps in the directory of a table, empty or damaged as it may be.
FORMATS: dict[str, Callable[[Path], Path | None]] = {"Delta": _delta, "Iceberg": _iceberg, "Hudi": _hudi}
# Those that no plain directory is read inside of.
OF_OTHERS = ("Iceberg", "Hudi")


def plain_directory(table: str | os.PathLike[str]) -> Path:
    """Return the local directory that a table is written to.

    Raises WrongUse for one of a table format, UnsupportedFeature for one elsewhere: a store has no way to let many
    files come and go at once.
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
    """Raise UnsupportedFeature where a table is a local directory of Hudi, or one inside of a table of some format.

    Its files hold rows of old versions too, which plain Parquet would show.
    """
    if not isinstance(table, str | os.PathLike) or is_remote(os.fspath(table)):
        return
    place = Path(os.path.abspath(local_path(os.fspath(table))))  # noqa: PTH100 - as it is named
    if has_magic(str(place)) and not os.path.lexists(place):
        _refuse_pattern(table, place)
        return
    if not os.path.isdir(place):  # noqa: PTH112 - of any name
        return
    for name in OF_OTHERS:
        if (mark := FORMATS[name](place)) is not None:
            raise UnsupportedFeature(
                f"{table}: is a table of {name} ({mark.relative_to(place)} is in it), which is not read here; read "
                f"it with Spark's own reader for {name}"
            )
    for above in place.parents:
        for name, mark_of in FORMATS.items():
            if mark_of(above) is not None:
                raise UnsupportedFeature(
                    f"{table}: is a directory of the {name} table {above}, and may hold files of its old versions too; "
                    "name the table, and its partition in the predicate"
                )


def _refuse_pattern(table: object, pattern: Path) -> None:
    """Refuse a pattern of files below the directory of a table: its log alone knows which of them are rows."""
    for above in (each for each in pattern.parents if not has_magic(str(each))):
        for name, mark_of in FORMATS.items():
            if mark_of(above) is not None:
                raise UnsupportedFeature(
                    f"{table}: is inside of the {name} table {above}, and may name files of its old versions; name the "
                    "table"
                )


def table_inside(table: object) -> tuple[str, Path] | None:
    """Return the format and the place of the first table of Delta, Iceberg or Hudi below a local directory."""
    if not isinstance(table, str | os.PathLike) or is_remote(os.fspath(table)):
        return None
    above = local_path(os.fspath(table))
    if not os.path.isdir(above):  # noqa: PTH112 - of any name
        return None
    for directory, inside, _ in os.walk(above):
        inside.sort()
        for name, mark_of in FORMATS.items():
            if mark_of(Path(directory)) is not None:
                return name, Path(directory)
    return None


def refuse_table_formats(directories: Iterable[Path], formats: Collection[str] = FORMATS) -> None:
    """Raise WrongUse where a directory, or any above it, is a table of Delta, Iceberg or Hudi, or of some of these.

    Directories are looked for as they are named and behind symbolic links.
    """
    seen: set[Path] = set()
    for directory in directories:
        for named in (os.path.abspath(directory), os.path.realpath(directory)):  # noqa: PTH100 - as named, then behind links
            for place in (Path(named), *Path(named).parents):
                if place in seen:
                    break
                seen.add(place)
                _refuse(place, directory, formats)


def _instead(name: str) -> str:
    if name == "Delta":
        return "write it with format delta (--format delta), or name another directory"
    return f"name another directory, or write with Spark's own writer for {name}"


def _refuse(place: Path, directory: Path, formats: Collection[str]) -> None:
    for name in formats:
        if (mark := FORMATS[name](place)) is not None:
            subject = "" if place == directory else f"{place} "
            raise WrongUse(
                f"{directory}: {subject}is a table of {name} ({mark.relative_to(place)} is in it), and other files "
                f"would corrupt it; {_instead(name)}"
            )
