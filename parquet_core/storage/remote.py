"""The protocol of remote stores, and which of them a URI belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from parquet_core.errors import UnsupportedFeature
from parquet_core.storage.globs import Listing
from parquet_core.storage.schemes import scheme_of

if TYPE_CHECKING:
    from parquet_core.storage.files import DataFile

OBJECT_STORES = frozenset({"s3", "s3a", "gs", "az", "abfs", "abfss"})
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
    if scheme in OBJECT_STORES:
        from parquet_core.storage.objects import object_store

        return object_store(uri)
    if scheme in WEB:
        from parquet_core.storage.web import web_server

        return web_server(uri)
    # Each part of a chain is another store or archive, of which fsspec opens the last.
    if "::" in uri:
        raise UnsupportedFeature(f"{uri}: chained URIs are not read; give the URI of the table itself")
    from parquet_core.storage.filesystems import filesystem

    return filesystem(uri)
