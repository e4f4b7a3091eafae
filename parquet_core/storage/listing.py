"""List the data files of a table."""

from __future__ import annotations

import os
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import (
    NoSuchPath,
    PruneError,
    StorageFailure,
    TableNotFound,
    UnfinishedWrite,
    UnsupportedFeature,
    WrongUse,
)
from parquet_core.fix import Fix, Step
from parquet_core.storage import local
from parquet_core.storage.files import JOURNAL, SUMMARIES, is_hidden, is_unlisted, listed_name, name_of
from parquet_core.storage.globs import has_magic, matches
from parquet_core.storage.journal import Ended, apply_journal, apply_journals_above
from parquet_core.storage.local import Walked
from parquet_core.storage.partition_discovery import PartitionListing, choose
from parquet_core.storage.ranges import in_flight
from parquet_core.storage.remote import WEB, remote_of
from parquet_core.storage.stores import address, is_remote, local_path, scheme_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from parquet_core.storage.files import DataFile

    # A path with its file, or with None if the path may be a directory.
    Match: TypeAlias = tuple[str, DataFile | None]

# Directory with Spark's list of the files that a streaming query wrote.
_SINK = "_spark_metadata"
# Attempts to list a directory that changes during the listing.
_ATTEMPTS = 5


def list_data_files(table: str | os.PathLike[str] | Iterable[str]) -> list[DataFile]:
    """List the files of a table that Spark reads, sorted by path.

    `table` is a directory, a file, a glob, a URI of one of them, or a list of these. Paths of remote files are full
    URIs. `parquet_core.storage.partition_discovery` describes which files below a directory Spark reads. Unlike Spark,
    this function applies the journals of committed but unfinished writes (`parquet_core.storage.journal`).

    Raises TableNotFound if nothing is found, WrongUse for directories that Spark refuses to read as one table, and
    UnfinishedWrite if an unfinished write removes a named file, or if a pattern names files of a table with an
    unfinished write.
    """
    return list_table(table).files


def list_table(table: str | os.PathLike[str] | Iterable[str]) -> PartitionListing:
    """List a table as `list_data_files`, with its partition columns and schema file."""
    alone = isinstance(table, str | os.PathLike)
    paths = [os.fspath(table)] if isinstance(table, str | os.PathLike) else [os.fspath(path) for path in table]
    if not all(paths):
        raise TableNotFound("the path of the table is empty; name a directory or a file")
    paths = [address(path) if is_remote(path) else path for path in paths]
    listed = _as_committed(lambda: _find_path(paths[0]) if alone else _find_paths(paths), paths)
    listing = choose(listed.files, listed.roots, listed.directories)
    if listed.staged:
        listing = _with_staged(listing, listed.staged)
    if listing.files:
        return listing
    # Spark skips empty files. They are returned, and reported as damaged, only if the user named no other files.
    named = [file for file in listed.files if not is_hidden(listed_name(file))]
    if not named:
        raise _no_data_error(paths[0] if paths else "an empty list of files", listed.files, listing)
    return PartitionListing(_by_path(named))


def look_up(paths: Sequence[str]) -> list[DataFile]:
    """Look up files that a log lists, whatever their names are.

    Raises TableNotFound for the first missing file.
    """
    if any(map(is_remote, paths)):
        return list(in_flight(_one, paths))
    return [local.stat(local_path(path)) for path in paths]


def files_below(directory: str | os.PathLike[str]) -> list[DataFile]:
    """List the visible, non-empty files at or below a local path, sorted by path.

    The list includes files that Spark does not read. Raises UnfinishedWrite if a directory contains a journal.
    """
    path = local_path(os.fspath(directory))
    named = local.find(path)
    walked = local.walk(path.rstrip("/")) if named is None else Walked({"": [named]}, [])
    for journal in walked.journals:
        table = journal.rpartition("/")[0]
        finish = Fix("finish it first with ", Step.FINISH_WRITE, place=table)
        raise UnfinishedWrite(f"{table}: a write of it was interrupted", finish)
    files = chain.from_iterable(walked.files.values())
    return _by_path([file for file in files if file.size and not is_hidden(listed_name(file))])


def summaries_below(directory: str | os.PathLike[str]) -> list[DataFile]:
    """List the summary files at or below a local directory.

    Spark reads the schema from them.
    """
    path = local_path(os.fspath(directory)).rstrip("/")
    files = chain.from_iterable(local.walk(path).files.values())
    return _by_path([file for file in files if listed_name(file) in SUMMARIES])


def _as_committed(look: Callable[[], _Found], paths: Sequence[str]) -> _Found:
    """Run a listing. Repeat it each time a journal was deleted before it was read."""
    for _ in range(_ATTEMPTS):
        try:
            return look()
        except Ended:
            continue
    raise StorageFailure(
        f"{paths[0]}: the directory changed during every listing; read it while fewer jobs write to it"
    )


def _with_staged(listing: PartitionListing, staged: Mapping[str, str]) -> PartitionListing:
    """Give each staging directory the partition values of its target directory."""
    places = listing.partitioning.index_of
    index_of = {**places, **{stage: places[table] for stage, table in staged.items() if table in places}}
    return listing._replace(partitioning=listing.partitioning._replace(index_of=index_of), is_unfinished=True)


def _no_data_error(table: str, hidden: Sequence[DataFile], listing: PartitionListing) -> TableNotFound:
    if listing.passed_over is not None:
        return TableNotFound(
            f"{table}: all its data files are in folders that are not column=value, which Spark ignores; give the "
            f"path of a folder, such as {listing.passed_over}"
        )
    if hidden:
        return TableNotFound(
            f"{table}: all its data files are hidden from Spark, such as {name_of(hidden[0])}; rename them"
        )
    return TableNotFound(f"{table}: the directory has no data file; give a directory that holds Parquet files")


def _by_path(files: list[DataFile]) -> list[DataFile]:
    return sorted(files, key=attrgetter("path"))


class _Found(NamedTuple):
    """Named files, named directories, and the files in each directory at or below them.

    `staged`: target directory by staging directory, for unfinished writes.
    """

    files: list[DataFile]
    roots: list[str]
    directories: dict[str, list[DataFile]]
    staged: dict[str, str]


def _find_path(path: str) -> _Found:
    matching, walked = _match_and_walk(path) if _may_be_directory(path) else (_matches(path), None)
    below = _below(matching, by_pattern=has_magic(path), walked=walked)
    if not has_magic(path) and below.roots:
        _refuse_sink(below.roots[0], below)
    return below


def _find_paths(paths: Sequence[str]) -> _Found:
    listings = list((in_flight if any(map(is_remote, paths)) else map)(_matches, paths))
    if all(file is not None for of_one in listings for _, file in of_one) and all(listings):
        return _below(chain.from_iterable(listings), by_pattern=any(map(has_magic, paths)))
    # Named directories may contain each other; absolute paths give each directory one name.
    named = [[_absolute(match) for match in of_one] for of_one in listings]
    listed = _below(chain.from_iterable(named), by_pattern=any(map(has_magic, paths)))
    for path, of_one in zip(paths, named, strict=True):
        _check_found(path, of_one, listed)
    return listed


def _check_found(path: str, matching: Sequence[Match], listed: _Found) -> None:
    roots = [match for match, file in matching if file is None]
    if not matching:
        raise TableNotFound(f"{path}: no path matches; check the pattern")
    if is_remote(path) and not has_magic(path) and any(root not in listed.directories for root in roots):
        raise NoSuchPath.of(path)
    logged = next((root for root in roots if not is_remote(root) and os.path.isdir(f"{root}/_delta_log")), None)
    if logged is not None:
        raise WrongUse(
            f"{logged}: a Delta table in a list of paths, where its log would be ignored; give its path alone"
        )


def _absolute(match: Match) -> Match:
    path, file = match
    if is_remote(path):
        return path.rstrip("/"), file
    whole = os.path.abspath(path)
    return whole, None if file is None else file._replace(path=whole)


def _matches(path: str) -> list[Match]:
    return _remote_matches(path) if is_remote(path) else _local_matches(local_path(path))


def _local_matches(named: str) -> list[Match]:
    path = named.rstrip("/") or "/"
    itself: list[Match] = [(path, local.find(path))]
    if not has_magic(path):
        return itself
    there = os.path.exists(path)
    try:
        matching = [match for match in matches(local, path) if match[1] is not None or os.path.isdir(match[0])]
    except UnsupportedFeature:
        if there:
            return itself
        raise
    if there and any(match != path for match, _ in matching):
        raise WrongUse(
            f"{path}: the path exists, but Spark reads it as a pattern; put a backslash before [, {{, * or ?"
        )
    return itself if there else matching


def _remote_matches(uri: str) -> list[Match]:
    store = remote_of(uri)
    if scheme_of(uri) in WEB:
        # A URL may contain pattern characters as ordinary characters.
        if uri.endswith("/") or "*" in uri:
            store.walk(uri)
        return [(uri, _one(uri))]
    if has_magic(uri) and (matching := list(matches(store, uri))):
        return matching
    named = None if uri.endswith("/") else store.find(uri)
    # An empty object may mark a directory of the same name.
    marks = named is not None and not named.size and bool(_walk(uri).files)
    return [(uri, None if marks else named)]


def _one(path: str) -> DataFile:
    if not is_remote(path):
        return local.stat(local_path(path))
    file = remote_of(path).find(path)
    if file is None:
        raise NoSuchPath.of(path)
    return file


def _may_be_directory(path: str) -> bool:
    """Return True for a remote path that is probably a directory."""
    name = path.rstrip("/").rpartition("/")[2]
    return is_remote(path) and scheme_of(path) not in WEB and not has_magic(path) and "." not in name


def _match_and_walk(path: str) -> tuple[list[Match], Walked | None]:
    """Look up a path as a file and list it as a directory, at the same time."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, thread_name_prefix="parquet-storage") as pool:
        listing = pool.submit(_walk, path)
        matching = _matches(path)
        try:
            return matching, listing.result()
        except PruneError:  # raised again by `_below` if the path is not a file
            return matching, None


def _below(matching: Iterable[Match], *, by_pattern: bool, walked: Walked | None = None) -> _Found:
    """List the named directories, and apply the journals in and above them.

    `walked`: the contents of the only directory, None if not listed yet.
    """
    listed = _Found([], [], {}, {})
    for path, file in matching:
        if _SINK in path and _SINK in path.split("/"):
            continue
        if file is None:
            listed.roots.append(path.rstrip("/"))
            within = _walk(path) if walked is None else walked
            for journal in within.journals:
                listed.staged.update(apply_journal(journal, within.files))
            listed.directories.update(within.files)
        else:
            listed.files.append(file)
    files = [file.path for file in listed.files]
    listed.staged.update(apply_journals_above(listed.roots, files, listed.directories, by_pattern=by_pattern))
    return listed


def _walk(path: str) -> Walked:
    """List a directory and its subdirectories; empty if a store has nothing there."""
    root = path.rstrip("/")
    return _by_directory(remote_of(path).walk(path), root) if is_remote(path) else _walk_steadily(root)


def _walk_steadily(root: str) -> Walked:
    """List a local directory. Repeat the listing if names in the directory change meanwhile.

    A write that begins during the listing is then seen as a whole.
    """
    for _ in range(_ATTEMPTS):
        before = _changed_ns(root)
        try:
            walked = local.walk(root)
        except (TableNotFound, StorageFailure):
            if _changed_ns(root) == before:
                raise
            continue
        if _changed_ns(root) == before:
            return walked
    return local.walk(root)


def _changed_ns(directory: str) -> int | None:
    try:
        return os.stat(directory or "/").st_mtime_ns
    except (OSError, ValueError):  # the listing refuses an invalid path
        return None


def _by_directory(files: Iterable[DataFile], root: str) -> Walked:
    """Group the files of a store by directory, without names that `local.walk` skips.

    Objects that mark directories are left out too.
    """
    by_folder: dict[str, list[DataFile]] = {}
    journals: list[str] = []
    skipped: dict[str, bool] = {}
    empty: list[tuple[str, DataFile]] = []
    for file in files:
        if len(file.path) <= len(root):
            continue  # the marker of the root itself
        folder, _, name = file.path.rpartition("/")
        if folder not in skipped:
            skipped[folder] = any(map(is_unlisted, folder[len(root) + 1 :].split("/")))
            # The root exists even if it contains no files. `_refuse_sink` looks for the sink directory.
            by_folder.setdefault(root, [])
            if not skipped[folder] or folder == f"{root}/{_SINK}":
                by_folder.setdefault(folder, [])
        if skipped[folder] or is_unlisted(name):
            if name == JOURNAL and not skipped[folder]:
                journals.append(file.path)
            continue
        if file.size:
            by_folder[folder].append(file)
        else:
            empty.append((folder, file))
    above = {ancestor for folder in by_folder for ancestor in _up_to(folder, root)} if empty else set()
    for folder, file in empty:
        if file.path not in above and not file.path.endswith("/") and "=" not in listed_name(file):
            by_folder[folder].append(file)
    return Walked(by_folder, journals)


def _up_to(directory: str, root: str) -> Iterator[str]:
    while len(directory) > len(root):
        yield directory
        directory = directory.rpartition("/")[0]


def _refuse_sink(root: str, below: _Found) -> None:
    sink = f"{root}/{_SINK}"
    if sink in below.directories if is_remote(root) else os.path.exists(sink):
        raise UnsupportedFeature(
            f"{root}: written by a streaming query; Spark reads only the files that {_SINK} lists; give a pattern, "
            f"such as {root}/*.parquet, to read all files"
        )
