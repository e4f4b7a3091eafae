"""Form of a table version in the disk cache: its files as columns, and other state of the log.

A version is identified by its log files with names, sizes, modification times and ETags. The cached version is valid
while all of these files exist unchanged; later commits are applied to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from deltalog.log.actions import DomainMetadata, Metadata, Protocol, Transaction  # noqa: TC001 - msgspec reads them
from parquet_core.dataset.arrow_form import numbers_at
from parquet_core.storage import DataFile  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from parquet_core.dataset.metadata_cache import TableCache

# Increment this when the cached data change; entries of other forms are ignored.
_FORM = 4
LATEST = "log latest"


class Head(msgspec.Struct, frozen=True):
    """Cached state of a version, except its files.

    `checkpoint`: version, form and files of the checkpoint; None if the version has no checkpoint.
    `tail`: later commit files.
    `blocks`: for each block, the file and the row group of its statistics in the checkpoint (-1 for JSON), and the
    names of its partition columns.
    """

    version: int
    checkpoint: tuple[int, int, list[DataFile]] | None
    tail: list[DataFile]
    parts: list[DataFile]
    protocol: Protocol
    metadata: Metadata
    transactions: list[Transaction]
    domains: list[DomainMetadata]
    most_deleted: dict[str, int]
    notes: list[str]
    blocks: list[tuple[int, int, list[str]]]

    def files(self) -> list[DataFile]:
        """Return the files of the log that make the version."""
        checkpoint = [] if self.checkpoint is None else self.checkpoint[2]
        return list(dict.fromkeys([*checkpoint, *self.parts, *self.tail]))


def version_name(version: int) -> str:
    """Return the name of a version in the cache."""
    return f"log version {version} in form {_FORM}"


def bounds_name(generation: str, key: str) -> str:
    """Return the name of a column's bounds in the cache."""
    return f"log bounds {generation} {key}"


def latest_cached(cache: TableCache) -> int | None:
    """Return the latest cached version; None if no entry is usable."""
    stored = cache.read(LATEST)
    try:
        return None if stored is None else int(numbers_at(stored[1], "version")[0])
    except (KeyError, TypeError, ValueError):  # the entry has another form
        return None
