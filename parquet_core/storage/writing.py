"""Atomic writes of small files, wherever they lie: logs and manifests, not data.

`put_if_absent` is what commits stand on: of all who put one name, one succeeds, and nobody ever sees half of it. It
is refused where a store cannot promise that. Some stores and gateways accept the condition and ignore it:
`prove_create` and `prove_create_below` find out, before a write relies on it.

On this machine the bytes go to a temporary file in the same directory, are flushed to the disk, and get their name
by a hard link; a file system without hard links is refused. A process that dies leaves `.{name}.{uuid}.tmp` at most,
which no reader of a log takes for a file of it. S3, Google Cloud Storage and Azure are asked to create an object under
the condition that there is none.
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

# Stores that refused to overwrite an object in this process.
_PROVEN: set[object] = set()


def put_if_absent(path: str, data: bytes) -> bool:
    """Write a file unless there is one of this name; tells whether it was written.

    Directories are made as needed. A store that asks itself again may answer False for what it wrote at the first
    time: who must know compares the content. Raises UnsupportedFeature where there is no such promise,
    StorageFailure when nothing was written, and UncertainWrite when that cannot be told.
    """
    scheme = scheme_of(path)
    if scheme is None:
        return local_writing.put_if_absent(local_path(path), data)
    return writer_for(path).put_if_absent(path, data)


def needs_proof(path: str) -> bool:
    """Return True for a store that has not refused to overwrite an object in this process; False for local files."""
    return scheme_of(path) is not None and _settings(path) not in _PROVEN


def prove_create(path: str, data: bytes) -> bool:
    """Verify that a store refuses `put_if_absent` of an object that exists; return whether the object existed.

    `data`: the content of the object, so that even a store that overwrites does no harm. An object that does not exist
    is created. Raises UnsupportedFeature for a store that overwrites, and StorageFailure.
    """
    existed = writer_for(path).prove_create(path, data)
    _PROVEN.add(_settings(path))
    return existed


def prove_create_below(directory: str) -> None:
    """Create an object of a new name in a directory to verify that its store overwrites nothing; once per process."""
    if not needs_proof(directory):
        return
    path = f"{directory.rstrip('/')}/.create.{uuid4()}.tmp"
    try:
        prove_create(path, b"The store must refuse to create this object twice.")
    finally:
        # A user who may write and not delete leaves an object that no reader of a table takes for a part of it.
        with suppress(PruneError):
            writer_for(path).delete(path)


def holds(path: str, content: bytes | Path) -> bool:
    """Return True if an object of a store has exactly this content; of a local file, if given as a path.

    Raises StorageFailure.
    """
    return writer_for(path).holds(path, content)


def put_unique(path: str, data: bytes) -> bool:
    """Write a file whose name no other writer uses; return False if the name has another content.

    The content decides if the answer of the store to the first try was lost. Raises as `put_if_absent`.
    """
    try:
        return put_if_absent(path, data) or (is_remote(path) and holds(path, data))
    except UncertainWrite:
        with suppress(PruneError):
            if is_remote(path) and holds(path, data):
                return True
        raise


def put(path: str, data: bytes) -> None:
    """Write a file over the one of this name, if any; a reader sees the old or the new one, never a mixture.

    Directories are made as needed. Raises UnsupportedFeature, StorageFailure and UncertainWrite as `put_if_absent`.
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
    """Return the writer of the store of a URI; raises UnsupportedFeature for other schemes."""
    scheme = scheme_of(path) or ""
    if scheme not in OF_SCHEME:
        raise UnsupportedFeature(
            f"{path}: {scheme}:// cannot create a file only if it does not exist; write to a local path, "
            "S3, Google Cloud Storage or Azure"
        )
    from parquet_core.storage.object_writing import writer_of

    return writer_of(path)
