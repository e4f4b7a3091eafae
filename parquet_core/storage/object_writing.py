"""Atomic writes of objects in S3, Google Cloud Storage and Azure."""

from __future__ import annotations

import re
from contextlib import suppress
from io import SEEK_END, BytesIO
from typing import TYPE_CHECKING, NamedTuple

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    InvalidPathError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from parquet_core.errors import PruneError, StorageFailure, UncertainWrite, UnsupportedFeature
from parquet_core.storage.failures import explaining, is_failure
from parquet_core.storage.stores import root_of

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_core.storage.objects import Bucket

# Errors of a server that refused the request: nothing was written. A missing answer or a server error proves nothing.
_REFUSALS = (InvalidPathError, NotSupportedError, PermissionDeniedError, UnauthenticatedError, FileNotFoundError)
_REFUSED = re.compile(r"status code: 4(?!08|29)\d\d\b|kind: Connect\b|builder error", re.IGNORECASE)
_NOT_IMPLEMENTED = re.compile(r"status code: 501\b")
# An earlier try may have succeeded although the last one was refused.
_TRIED_AGAIN = re.compile(r"after \d+ retries")


class ObjectWriter(NamedTuple):
    """A bucket or container to write to."""

    bucket: Bucket

    def put_if_absent(self, uri: str, data: bytes) -> bool:
        """Create an object unless the key exists already; return True if created.

        See `storage.writing`.
        """
        try:
            obstore.put(self.bucket.store, self.bucket.key(uri), data, mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return False
        except NotSupportedError:
            raise UnsupportedFeature(
                f"{uri}: the store cannot create an object only if it does not exist; for S3 unset "
                "AWS_CONDITIONAL_PUT or set it to etag"
            ) from None
        except BaseException as error:
            if not is_failure(error):
                raise
            if _NOT_IMPLEMENTED.search(str(error)):
                raise _overwrites(uri, "does not implement") from None
            raise _judged(error, uri) from None
        return True

    def prove_create(self, uri: str, data: bytes) -> bool:
        """Verify that the store refuses to create an object that exists. See `storage.writing`."""
        try:
            existed = not self.put_if_absent(uri, data)
            # The object exists now, so a second success means that the store overwrites.
            if not existed and self.put_if_absent(uri, data):
                raise _overwrites(uri, "ignores")
        except UncertainWrite as error:
            raise StorageFailure(f"{error}, nor that the store never overwrites; commit again") from None
        return existed

    def holds(self, uri: str, content: bytes | Path) -> bool:
        """Return True if an object has exactly this content.

        `content`: bytes, or the path of a local file.
        """
        expected = BytesIO(content) if isinstance(content, bytes) else content.open("rb")
        with expected, explaining(uri):
            try:
                answer = obstore.get(self.bucket.store, self.bucket.key(uri))
            except FileNotFoundError:
                return False
            if answer.meta["size"] != expected.seek(0, SEEK_END):
                return False
            expected.seek(0)
            return all(bytes(part) == expected.read(len(part)) for part in answer.stream())

    def delete(self, uri: str) -> None:
        """Delete an object. A missing object counts as deleted."""
        with explaining(uri), suppress(FileNotFoundError):
            obstore.delete(self.bucket.store, self.bucket.key(uri))

    def rename(self, uri: str, to: str) -> None:
        """Copy an object to another key of the same bucket, and delete the original."""
        with explaining(uri):
            obstore.rename(self.bucket.store, self.bucket.key(uri), self.bucket.key(to))

    def put_file(self, uri: str, file: Path, *, in_parts: bool) -> None:
        """Upload a local file, replacing an existing object."""
        with explaining(uri):
            obstore.put(self.bucket.store, self.bucket.key(uri), file, use_multipart=in_parts)

    def put(self, uri: str, data: bytes) -> None:
        """Write an object, replacing an existing one."""
        try:
            obstore.put(self.bucket.store, self.bucket.key(uri), data, use_multipart=False)
        except BaseException as error:
            if not is_failure(error):
                raise
            raise _judged(error, uri) from None


def _overwrites(uri: str, problem: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"{root_of(uri)}: the store {problem} the condition `If-None-Match: *`, so one of two simultaneous commits "
        f"would be lost; update the store, remove the gateway or proxy that drops the condition, or keep the table in "
        "another store"
    )


def _judged(error: BaseException, uri: str) -> PruneError:
    """Return the error for a failed write: UncertainWrite if the object may have been written."""
    message = str(error)
    refused = isinstance(error, _REFUSALS) or _REFUSED.search(message) is not None
    certain = refused and _TRIED_AGAIN.search(message) is None
    try:
        with explaining(uri):
            raise error
    except PruneError as explained:
        if certain or not isinstance(explained, StorageFailure):
            return explained
        return UncertainWrite(f"{explained}; it is unknown whether the commit was written")
