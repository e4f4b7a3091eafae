"""Select the store of a URI; list directories, hidden names included."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.storage import local
from parquet_core.storage.failures import changed, gone
from parquet_core.storage.globs import Listing, matches
from parquet_core.storage.spellings import readable_form
from parquet_core.storage.stores import OF_SCHEME, is_remote, local_path, scheme_of

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from parquet_core.storage.files import DataFile

WEB = frozenset({"http", "https"})


class Remote(Listing, Protocol):
    """A store for URIs.

    Every error is a PruneError with the URI and the next step.
    """

    def walk(self, uri: str) -> list[DataFile]:
        """List all objects at any depth below a directory; empty if missing."""

    def read(self, file: DataFile, start: int, length: int) -> bytes:
        """Read a range of a listed object in one request.

        Raises StorageFailure if the object changed since it was listed.
        """


def remote_of(uri: str) -> Remote:
    """Return the store of a URI, with credentials of the environment; opens no connection."""
    scheme = scheme_of(uri)
    assert scheme is not None
    refuse_other_spelling(uri)
    if scheme in OF_SCHEME:
        from parquet_core.storage.objects import object_store

        return object_store(uri)
    if scheme in WEB:
        from parquet_core.storage.objects import web_server

        return web_server(uri)
    # Each part of a chained URI names another store or archive, and fsspec would open the last one.
    if "::" in uri:
        raise UnsupportedFeature(f"{uri}: chained URIs are not read; give the URI of the table itself")
    from parquet_core.storage.filesystems import filesystem

    return filesystem(uri)


def refuse_other_spelling(uri: str) -> None:
    """Raise WrongUse for a URI in the form of another tool.

    The message gives the supported form. Local paths may have any name.
    """
    if is_remote(uri) and (meant := readable_form(uri)) is not None:
        raise WrongUse(f"{uri}: is not an address of a store here; write {meant}")


def list_directory(path: str | os.PathLike[str], wanted: re.Pattern[str]) -> list[DataFile]:
    """List the files directly in a directory whose names match, sorted by path.

    The list is empty if the directory is missing.
    """
    name = os.fspath(path)
    if is_remote(name):
        files = remote_of(name).children(name.rstrip("/") + "/", wanted)[1]
    else:
        files = local.children(local_path(name).rstrip("/") + "/", wanted)[1]
    return sorted(files, key=lambda file: file.path)


def look_into(path: str, wanted: re.Pattern[str]) -> tuple[list[str], list[DataFile]]:
    """List the subdirectories and files directly in a directory whose names match.

    In a store, this takes one request.
    """
    if is_remote(path):
        directories, files = remote_of(path).children(path.rstrip("/") + "/", wanted)
    else:
        directories, files = local.children(local_path(path).rstrip("/") + "/", wanted)
    return [directory.rstrip("/") for directory in directories], files


def find_matches(pattern: str) -> Iterator[tuple[str, DataFile | None]]:
    """Yield the paths that match a pattern, with the file or None.

    None means that the path may be a directory.
    """
    return matches(remote_of(pattern), pattern) if is_remote(pattern) else matches(local, local_path(pattern))


def find_file(path: str) -> DataFile | None:
    """Return the file of exactly this name; None if missing."""
    return remote_of(path).find(path) if is_remote(path) else local.find(local_path(path))


def check_size(file: DataFile) -> None:
    """Raise StaleListing if a listed file is gone or has another size."""
    now = find_file(file.path)
    if now is None:
        raise gone(file)
    if now.size != file.size:
        raise changed(file)
