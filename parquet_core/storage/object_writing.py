"""Objects of S3, Google Cloud Storage and Azure, written whole or not at all."""

from __future__ import annotations

import re
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
from parquet_core.storage.failures import explaining
from parquet_core.storage.objects import object_store

if TYPE_CHECKING:
    from parquet_core.storage.objects import Bucket

# Answers of a server that has refused: nothing was written. No answer, and a server that failed, say nothing.
_REFUSALS = (InvalidPathError, NotSupportedError, PermissionDeniedError, UnauthenticatedError, FileNotFoundError)
_REFUSED = re.compile(r"status code: 4(?!08|29)\d\d\b|kind: Connect\b|builder error", re.IGNORECASE)
# An earlier try may have been heard all the same.
_TRIED_AGAIN = re.compile(r"after \d+ retries")


class ObjectWriter(NamedTuple):
    """A bucket or container to write to."""

    bucket: Bucket

    def put_if_absent(self, uri: str, data: bytes) -> bool:
        """Create an object unless there is one; tells whether it was created. See `storage.writing`."""
        try:
            obstore.put(self.bucket.store, self.bucket.key(uri), data, mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return False
        except NotSupportedError:
            raise UnsupportedFeature(
                f"{uri}: the store cannot create an object only if it does not exist; for S3 unset "
                "AWS_CONDITIONAL_PUT or set it to etag"
            ) from None
        except Exception as error:  # noqa: BLE001 - the library raises built-in errors beside its own
            raise _judged(error, uri) from None
        return True

    def put(self, uri: str, data: bytes) -> None:
        """Write an object over the one of this name, if any."""
        try:
            obstore.put(self.bucket.store, self.bucket.key(uri), data, use_multipart=False)
        except Exception as error:  # noqa: BLE001 - as above
            raise _judged(error, uri) from None


def writer_of(uri: str) -> ObjectWriter:
    """Return the bucket of a URI, with the credentials of the environment; connects to nothing yet."""
    return ObjectWriter(object_store(uri))


def _judged(error: Exception, uri: str) -> PruneError:
    """Tell a failure after which nothing was written from one after which that is not known."""
    message = str(error)
    refused = isinstance(error, _REFUSALS) or _REFUSED.search(message) is not None
    certain = refused and _TRIED_AGAIN.search(message) is None
    try:
        with explaining(uri):
            raise error
    except PruneError as explained:
        if certain or not isinstance(explained, StorageFailure):
            return explained
        return UncertainWrite(f"{explained}; whether it was written is not known")
