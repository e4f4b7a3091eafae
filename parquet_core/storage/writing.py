"""Atomic writes of small local or remote files: logs and manifests, not data.

Commits rely on `put_if_absent`: of all writers of one name, exactly one succeeds, and readers never see a partial file.
Stores that cannot guarantee that are refused. Some stores and gateways accept the condition and ignore it:
`prove_create` and `prove_create_below` detect them before a write relies on the condition.

Local files are written to a temporary file in the same directory, flushed to the disk, and named by a hard link; a file
system without hard links is refused. A process that dies leaves at most `.{name}.{uuid}.tmp`, which readers of a log do
not treat as part of it. In S3, Google Cloud Storage and Azure, an object is created on the condition that it does not
exist.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from parquet_core.errors import PruneError, UncertainWrite, UnsupportedFeature
from parquet_core.storage import local_writing
from parquet_core.storage.stores import OF_SCHEME, is_remote, local_path, scheme_of

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_core.storage.object_writing import ObjectWriter

# Stores that have refused to overwrite an object in this process.
_PROVEN: set[object] = set()


def put_if_absent(path: str, data: bytes) -> bool:
    """Write a file unless the name exists already; return True if written.

    Missing directories are created. A store that repeats a request internally may return False although the first
    request wrote the file; `put_unique` compares the content in that case. Raises UnsupportedFeature if the storage
    cannot guarantee a single winner, StorageFailure if nothing was written, and UncertainWrite if that is unknown.
    """
    scheme = scheme_of(path)
    if scheme is None:
        return local_writing.put_if_absent(local_path(path), data)
    return writer_for(path).put_if_absent(path, data)


def needs_proof(path: str) -> bool:
    """Return True if a store has not refused to overwrite an object yet.

    Only refusals in this process count. Local files need no proof.
    """
    return scheme_of(path) is not None and _settings(path) not in _PROVEN


def prove_create(path: str, data: bytes) -> bool:
    """Verify that a store refuses to create an object that exists.

    Returns whether the object existed before; a missing object is created. `data`: the content of the object, so that
    even a store that overwrites does no harm. Raises UnsupportedFeature for a store that overwrites, and
    StorageFailure.
    """
    existed = writer_for(path).prove_create(path, data)
    _PROVEN.add(_settings(path))
    return existed


def prove_create_below(directory: str) -> None:
    """Verify with a new object that a store does not overwrite objects.

    The object is created in `directory` and deleted. Does nothing if the store has already been verified in this
    process.
    """
    if not needs_proof(directory):
        return
    path = f"{directory.rstrip('/')}/.create.{uuid4()}.tmp"
    try:
        prove_create(path, b"The store must refuse to create this object twice.")
    finally:
        # A user without permission to delete leaves the object; readers do not treat it as part of a table.
        with suppress(PruneError):
            writer_for(path).delete(path)


def holds(path: str, content: bytes | Path) -> bool:
    """Return True if an object has exactly this content.

    `content`: bytes, or the path of a local file. Raises StorageFailure.
    """
    return writer_for(path).holds(path, content)


def put_unique(path: str, data: bytes) -> bool:
    """Write a file whose name no other writer uses.

    Returns False if a file of this name has other content. If the answer of the store to the first request was lost,
    the content decides. Raises the errors of `put_if_absent`.
    """
    try:
        return put_if_absent(path, data) or (is_remote(path) and holds(path, data))
    except UncertainWrite:
        with suppress(PruneError):
            if is_remote(path) and holds(path, data):
                return True
        raise


def put(path: str, data: bytes) -> None:
    """Write a file, replacing an existing one.

    Readers see the old or the new content, never a mixture. Missing directories are created. Raises UnsupportedFeature,
    StorageFailure and UncertainWrite as `put_if_absent`.
    """
    scheme = scheme_of(path)
    if scheme is None:
        local_writing.put(local_path(path), data)
    else:
        writer_for(path).put(path, data)


def _settings(path: str) -> object:
    from parquet_core.storage.objects import store_settings

    return store_settings(path)


def writer_for(path: str) -> ObjectWriter:
    """Return the writer for the store of a URI. Raises UnsupportedFeature for other schemes."""
    scheme = scheme_of(path) or ""
    if scheme not in OF_SCHEME:
        raise UnsupportedFeature(
            f"{path}: {scheme}:// cannot create a file only if it does not exist; write to a local path, "
            "S3, Google Cloud Storage or Azure"
        )
    from parquet_core.storage.object_writing import ObjectWriter
    from parquet_core.storage.objects import object_store

    return ObjectWriter(object_store(path))
