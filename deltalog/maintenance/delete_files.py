"""Delete files one by one: one that cannot be deleted is reported, and does not stop the others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import PruneError, UnsupportedFeature
from parquet_core.storage import is_remote, local_path
from parquet_core.storage.failures import explaining
from parquet_core.storage.ranges import in_flight
from parquet_core.storage.remote import OBJECT_STORES
from parquet_core.storage.schemes import scheme_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.storage import DataFile


class Deletions(NamedTuple):
    """What was deleted, and what was not, with the reason and what to do about it."""

    deleted: tuple[DataFile, ...]
    failed: tuple[tuple[DataFile, str], ...]


def check_deletable(place: str) -> None:
    """Raise UnsupportedFeature where nothing can be deleted."""
    scheme = scheme_of(place)
    if scheme is not None and scheme not in OBJECT_STORES:
        raise UnsupportedFeature(
            f"{place}: {scheme}:// is not deleted from; use a local path, S3, Google Cloud Storage or Azure"
        )


def delete_files(files: Sequence[DataFile]) -> Deletions:
    """Delete files in their order, of stores several at a time. One that is gone already counts as deleted.

    A local file that changed since it was listed is left where it is.
    """
    reasons = list(in_flight(_reason, files)) if any(is_remote(file.path) for file in files) else map(_reason, files)
    found = list(zip(files, reasons, strict=True))
    return Deletions(
        tuple(file for file, reason in found if not reason), tuple((file, reason) for file, reason in found if reason)
    )


def _reason(file: DataFile) -> str:
    """Delete a file; why it could not be, empty when it was."""
    try:
        if is_remote(file.path):
            _delete_object(file.path)
            return ""
        return _delete_local(file)
    except PruneError as error:
        return str(error)


def _delete_local(file: DataFile) -> str:
    path = local_path(file.path)
    try:
        now = os.lstat(path)
        if (now.st_size, now.st_mtime_ns) != (file.size, file.modified_ns):
            return f"{path}: changed since it was listed, so it was left; try again"
        os.unlink(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path}: not deleted ({error.strerror}); check who may write in its directory, and try again"
    return ""


def _delete_object(uri: str) -> None:
    import obstore

    from parquet_core.storage.objects import object_store

    bucket = object_store(uri)
    with explaining(uri):
        try:
            obstore.delete(bucket.store, bucket.key(uri))
        except FileNotFoundError:
            return
