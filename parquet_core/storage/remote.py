"""Stores by their addresses: which one a URI belongs to, and looking into directories, hidden names included."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.storage import local
from parquet_core.storage.failures import changed, gone
from parquet_core.storage.globs import Listing, matches
from parquet_core.storage.spellings import meant_by
from parquet_core.storage.stores import OF_SCHEME, is_remote, local_path, scheme_of

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from parquet_core.storage.files import DataFile

WEB = frozenset({"http", "https"})


class Remote(Listing, Protocol):
    """A store that answers for URIs; every error is a PruneError that names the URI and what to do."""

    def walk(self, uri: str) -> list[DataFile]:
        """List all objects below a directory, at any depth; none when there is no such directory."""

    def read(self, file: DataFile, start: int, length: int) -> bytes:
        """Read a range in one request; StorageFailure when the object is not the one that was listed."""


def remote_of(uri: str) -> Remote:
    """Return the store that a URI belongs to, with the credentials of the environment; connects to nothing yet."""
    scheme = scheme_of(uri)
    assert scheme is not None
    refuse_other_spelling(uri)
    if scheme in OF_SCHEME:
        from parquet_core.storage.objects import object_store

        return object_store(uri)
    if scheme in WEB:
        from parquet_core.storage.objects import web_server

        return web_server(uri)
    # Each part of a chain is another store or archive, of which fsspec opens the last.
    if "::" in uri:
        raise UnsupportedFeature(f"{uri}: chained URIs are not read; give the URI of the table itself")
    from parquet_core.storage.filesystems import filesystem

    return filesystem(uri)


def refuse_other_spelling(uri: str) -> None:
    """Raise WrongUse for a URI as other tools write it, with what to write; a local path may have any name."""
    if is_remote(uri) and (meant := meant_by(uri)) is not None:
        raise WrongUse(f"{uri}: is not an address of a store here; write {meant}")


def list_directory(path: str | os.PathLike[str], wanted: re.Pattern[str]) -> list[DataFile]:
    """List the files directly in a directory whose names match, sorted by path; none when there is no directory."""
    name = os.fspath(path)
    if is_remote(name):
        files = remote_of(name).children(name.rstrip("/") + "/", wanted)[1]
    else:
        files = local.children(local_path(name).rstrip("/") + "/", wanted)[1]
    return sorted(files, key=lambda file: file.path)


def look_into(path: str, wanted: re.Pattern[str]) -> tuple[list[str], list[DataFile]]:
    """List the directories and the files directly in a directory whose names match; one request in a store."""
    if is_remote(path):
        directories, files = remote_of(path).children(path.rstrip("/") + "/", wanted)
    else:
        directories, files = local.children(local_path(path).rstrip("/") + "/", wanted)
    return [directory.rstrip("/") for directory in directories], files


def find_matches(pattern: str) -> Iterator[tuple[str, DataFile | None]]:
    """Return the paths that match a pattern, each with its file, or with None where it may be a directory."""
    return matches(remote_of(pattern), pattern) if is_remote(pattern) else matches(local, local_path(pattern))


def find_file(path: str) -> DataFile | None:
    """Look a file up; None when there is none of exactly this name."""
    return remote_of(path).find(path) if is_remote(path) else local.find(local_path(path))


def check_size(file: DataFile) -> None:
    """Look a listed file up again; raise StaleListing if it is gone or has another size."""
    now = find_file(file.path)
    if now is None:
        raise gone(file)
    if now.size != file.size:
        raise changed(file)
