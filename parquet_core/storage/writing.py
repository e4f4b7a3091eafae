"""Atomic writes of small files, wherever they lie: logs and manifests, not data.

`put_if_absent` is what commits stand on: of all who put one name, one succeeds, and nobody ever sees half of it. It
is refused where a store cannot promise that.

On this machine the bytes go to a temporary file in the same directory, are flushed to the disk, and get their name
by a hard link, or by a rename that replaces nothing. A process that dies leaves `.{name}.{uuid}.tmp` at most, which
no reader of a log takes for a file of it. S3, Google Cloud Storage and Azure are asked to create an object under the
condition that there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import UnsupportedFeature
from parquet_core.storage import local_writing
from parquet_core.storage.known_stores import OF_SCHEME
from parquet_core.storage.schemes import local_path, scheme_of

if TYPE_CHECKING:
    from parquet_core.storage.object_writing import ObjectWriter


def put_if_absent(path: str, data: bytes) -> bool:
    """Write a file unless there is one of this name; tells whether it was written.

    Directories are made as needed. A store that asks itself again may answer False for what it wrote at the first
    time: who must know compares the content. Raises UnsupportedFeature where there is no such promise,
    StorageFailure when nothing was written, and UncertainWrite when that cannot be told.
    """
    scheme = scheme_of(path)
    if scheme is None:
        return local_writing.put_if_absent(local_path(path), data)
    return _objects(path, scheme).put_if_absent(path, data)


def put(path: str, data: bytes) -> None:
    """Write a file over the one of this name, if any; a reader sees the old or the new one, never a mixture.

    Directories are made as needed. Raises UnsupportedFeature, StorageFailure and UncertainWrite as `put_if_absent`.
    """
    scheme = scheme_of(path)
    if scheme is None:
        local_writing.put(local_path(path), data)
    else:
        _objects(path, scheme).put(path, data)


def _objects(path: str, scheme: str) -> ObjectWriter:
    if scheme not in OF_SCHEME:
        raise UnsupportedFeature(
            f"{path}: {scheme}:// cannot create a file only if it does not exist; write to a local path, "
            "S3, Google Cloud Storage or Azure"
        )
    from parquet_core.storage.object_writing import writer_of

    return writer_of(path)
