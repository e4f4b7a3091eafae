"""Which files a table consists of."""

from __future__ import annotations

import os
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import TableNotFound
from parquet_core.storage import local
from parquet_core.storage.files import is_hidden, name_of
from parquet_core.storage.globs import has_magic, matches
from parquet_core.storage.ranges import in_flight
from parquet_core.storage.remote import WEB, remote_of
from parquet_core.storage.schemes import is_remote, local_path, scheme_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parquet_core.storage.files import DataFile
    from parquet_core.storage.remote import Remote

SUMMARIES = ("_common_metadata", "_metadata")


class Listing(NamedTuple):
    """The data files of a table, sorted by path, and the files in its directories that hold not a byte."""

    files: list[DataFile]
    empty: list[DataFile]


def list_data_files(table: str | os.PathLike[str] | Iterable[str]) -> list[DataFile]:
    """List the data files of a table as Spark does, sorted by path.

    `table` is a directory, a file, a glob, a URI of one of them, or a list of files. In a directory, names
    that begin with `_` or `.` are not data, unless they are partition directories (`_x=1`), and neither are
    empty files. Paths of what is not local stay full URIs. Raises TableNotFound when nothing is there.
    """
    return list_table(table).files


def list_table(table: str | os.PathLike[str] | Iterable[str]) -> Listing:
    """List a table as `list_data_files` does, with the empty files that Spark takes partition columns from."""
    if not isinstance(table, str | os.PathLike):
        return Listing(_by_path(_named([os.fspath(file) for file in table])), [])
    path = os.fspath(table)
    if not path:
        raise TableNotFound("the path of the table is empty; name a directory or a file")
    itself = path if is_remote(path) else local_path(path)
    found = _remote_files(path) if is_remote(path) else _local_files(itself)
    # Spark reads no empty file, so an empty one is no damage either, unless it is the one that was asked for.
    files = [file for file in found if file.size] or [file for file in found if file.path == itself]
    if not files:
        raise TableNotFound(f"{path}: no data file in it; name a directory that holds Parquet files")
    return Listing(_by_path(files), [file for file in found if not file.size])


def _by_path(files: list[DataFile]) -> list[DataFile]:
    # The order in which Spark looks for the file that gives the schema.
    return sorted(files, key=attrgetter("path"))


def _named(paths: Sequence[str]) -> list[DataFile]:
    if not any(is_remote(path) for path in paths):
        return [local.stat(local_path(path)) for path in paths]
    return list(in_flight(_one, paths))


def _one(path: str) -> DataFile:
    if not is_remote(path):
        return local.stat(local_path(path))
    found = remote_of(path).find(path)
    if found is None:
        raise TableNotFound(f"{path}: no such object; check the path")
    return found


def _local_files(path: str) -> list[DataFile]:
    if os.path.exists(path) or not has_magic(path):
        return local.list_files(path)
    return _globbed(matches(local, path), lambda match: local.list_files(match) if os.path.isdir(match) else [])


def _remote_files(uri: str) -> list[DataFile]:
    store = remote_of(uri)
    if scheme_of(uri) in WEB:
        # A URL may hold any of the characters of patterns.
        return store.walk(uri) if uri.endswith("/") or "*" in uri else [_one(uri)]
    if has_magic(uri) and (files := _globbed(matches(store, uri), lambda path: _visible(store.walk(path), path))):
        return files
    return _expand(store, uri)


def _globbed(found: Iterable[tuple[str, DataFile | None]], below: Callable[[str], list[DataFile]]) -> list[DataFile]:
    files = [file for path, match in found for file in ([match] if match is not None else below(path))]
    # Spark passes over a hidden or empty file (_SUCCESS) that a pattern matches, but looks into a hidden directory.
    return [file for file in files if file.size and not is_hidden(name_of(file))]


def _expand(store: Remote, uri: str) -> list[DataFile]:
    named = None if uri.endswith("/") else store.find(uri)
    if named is not None and named.size:
        return [named]
    # An empty object of the name of a directory marks it.
    files = _visible(store.walk(uri), uri)
    return files if any(file.size for file in files) or named is None else [named]


def _visible(files: Iterable[DataFile], directory: str) -> list[DataFile]:
    """Leave out what Spark passes over: hidden names at any depth below the directory."""
    skipped: dict[str, bool] = {}
    kept = []
    for file in files:
        place, _, name = file.path[len(directory.rstrip("/")) + 1 :].rpartition("/")
        if place not in skipped:
            skipped[place] = any(map(is_hidden, place.split("/")))
        if not skipped[place] and not is_hidden(name):
            kept.append(file)
    return kept


def summary_file(table: str | os.PathLike[str] | Iterable[str]) -> DataFile | None:
    """Return the file without data that Spark takes a directory's schema from, if there is one."""
    if not isinstance(table, str | os.PathLike):
        return None
    path = os.fspath(table)
    if not is_remote(path):
        return local.summary(local_path(path))
    if scheme_of(path) in WEB or has_magic(path):
        return None
    store, directory = remote_of(path), path.rstrip("/")
    # In their order: who may read one file alone gets an error for the names below it.
    found = in_flight(store.find, [directory, *(f"{directory}/{name}" for name in SUMMARIES)])
    itself = next(found)
    if itself is not None and itself.size:
        return None
    return next((file for file in found if file is not None), None)
