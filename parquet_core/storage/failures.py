"""Errors of remote stores as one-line PruneErrors with the URI and the next step."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from parquet_core.errors import (
    NoSuchPath,
    PruneError,
    StaleListing,
    StorageFailure,
    TableNotFound,
    UnsupportedFeature,
    WrongUse,
)
from parquet_core.printable import HIDDEN, redacted
from parquet_core.storage.environment import endpoint_of, variables_in
from parquet_core.storage.spellings import store_of_url
from parquet_core.storage.stores import (
    OF_SCHEME,
    PROFILE,
    bucket_of,
    is_remote,
    reads_profiles,
    scheme_of,
    selected_profile,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.storage.files import DataFile
    from parquet_core.storage.stores import Store

# URLs that the libraries request for credentials if the environment has none.
_ASKED_THE_MACHINE = re.compile(r"/latest/api/token|/latest/meta-data|/computeMetadata/|/metadata/identity")
_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
# Azure deletes in batches, with a separate status code for each object.
_DENIED = re.compile(r"status code: 40[13]\b|\(code: 40[13]\)")
_BODY = re.compile(r"<Code>([^<]*)</Code>(?:\s*<Message>([^<]*)</Message>)?")
_STATUS = re.compile(r"status code: (\d{3}[A-Za-z -]*)")
# Responses of a server that is unavailable or overloaded.
_PASSING = re.compile(r"status code: (?:5\d\d|429)\b")
_WITHOUT_ANSWER = re.compile(r"error sending request|timed out")


@contextmanager
def explaining(uri: str) -> Iterator[None]:
    """Convert errors of storage libraries to PruneError.

    Panics of Rust libraries are converted too. They do not derive from Exception, and their class cannot be imported.
    """
    try:
        yield
    except BaseException as error:
        if not is_failure(error):
            raise
        raise _explained(error, uri) from None


@contextmanager
def opening(uri: str, store: Store) -> Iterator[None]:
    """Convert configuration errors of a library to WrongUse.

    The message names environment variables whose values the library's error quotes.
    """
    try:
        yield
    except PruneError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        message = _one_line(error)
        named = ", ".join(variables_in(message, store)) or _settings(uri)
        raise _absent(error, message, uri) or WrongUse(f"{uri}: {message[:300]}; check {named}") from None


def is_panic(error: BaseException) -> bool:
    """Return True for a panic of a Rust library."""
    return type(error).__name__ == "PanicException" and type(error).__module__ == "pyo3_runtime"


def is_failure(error: BaseException) -> bool:
    """Return True for an error of a library, not for an interrupt or exit."""
    return isinstance(error, Exception) or is_panic(error)


def is_without_answer(message: str) -> bool:
    """Return True if the error message means that no server answered."""
    return _WITHOUT_ANSWER.search(message) is not None


def is_passing(message: str) -> bool:
    """Return True if the server asked to retry later (status 5xx or 429)."""
    return _PASSING.search(message) is not None


def server_of(uri: str) -> str:
    """Return the endpoint of a URI's store, with the environment variable that sets it.

    Returns "the server" if no variable sets the endpoint.
    """
    store = OF_SCHEME.get(scheme_of(uri) or "")
    endpoint = None if store is None else endpoint_of(store)
    return "the server" if endpoint is None else f"{endpoint[0]} ({endpoint[1]})"


def _explained(error: BaseException, uri: str) -> PruneError:
    if isinstance(error, PruneError):
        return error
    message = _one_line(error)
    if is_panic(error):
        return StorageFailure(f"{uri}: the library of the store failed ({message[:300]}); check {_settings(uri)}")
    for judge in (_absent, _denied, _unsupported):
        explained = judge(error, message, uri)
        if explained is not None:
            return explained
    return StorageFailure(f"{uri}: {_answer(message, type(error).__name__, uri)}; {_next_step(message, uri)}")


def _one_line(error: BaseException) -> str:
    """Return the message without the debug output that obstore appends."""
    return " ".join(str(error).partition("Debug source")[0].split())


def _absent(error: BaseException, message: str, uri: str) -> PruneError | None:
    if not _bucket(uri) and scheme_of(uri) in OF_SCHEME:
        return TableNotFound(f"{uri}: names no bucket or container; write {scheme_of(uri)}://BUCKET/PATH")
    if _NO_BUCKET.search(message):
        return TableNotFound(f"{uri}: the bucket {_bucket(uri)!r} does not exist; check its name and the endpoint")
    if isinstance(error, FileNotFoundError):
        return NoSuchPath.of(uri, "no such object or directory; check the path")
    if "Account must be specified" in message:
        return WrongUse(f"{uri}: names no storage account; {_credentials(uri)}")
    return None


def _denied(error: BaseException, message: str, uri: str) -> PruneError | None:
    if _ASKED_THE_MACHINE.search(message):
        return StorageFailure(f"{uri}: no credentials in the environment; {_credentials(uri)}")
    # For listings, obstore raises GenericError instead of PermissionError.
    if isinstance(error, PermissionError) or _DENIED.search(message):
        if (meant := store_of_url(uri)) is not None:
            step = f"HTTP sends no credentials: write {meant}"
            return StorageFailure(f"{uri}: access denied ({_answer(message, 'permission denied', uri)}); {step}")
        answer = _answer(message, "permission denied", uri)
        return StorageFailure(f"{uri}: access denied ({answer}); check the permissions, or {_credentials(uri)}")
    return None


def _unsupported(error: BaseException, message: str, uri: str) -> PruneError | None:
    error_name = type(error).__name__
    if isinstance(error, ImportError):
        return UnsupportedFeature(
            f"{uri}: {message or error_name}; install the missing package to read {scheme_of(uri)}://"
        )
    if isinstance(error, ValueError) and "Protocol not known" in message:
        return UnsupportedFeature(f"{uri}: no storage with the scheme {scheme_of(uri)!r} is known; check it")
    if "libjvm" in message or "libhdfs" in message:
        needed = "set JAVA_HOME, HADOOP_HOME and CLASSPATH (`hadoop classpath --glob`)"
        return UnsupportedFeature(f"{uri}: {scheme_of(uri)}:// needs Java and Hadoop's client; {needed}")
    if error_name == "InvalidPathError" or "Could not parse path" in message:
        why = f"keys with an empty, '.' or '..' part are not read ({message})"
        return UnsupportedFeature(f"{uri}: {why}; rename them, or let Spark read the table")
    if error_name == "NotSupportedError":
        return UnsupportedFeature(
            f"{uri}: the server does not support range requests; copy the file to storage that does"
        )
    return None


def changed(file: DataFile) -> StaleListing:
    """Return the error for a file or object that changed after it was listed."""
    what = "object changed since it was listed" if is_remote(file.path) else "file changed while it was read"
    return StaleListing(f"{file.path}: the {what}; list the table again")


def gone(file: DataFile) -> StaleListing:
    """Return the error for an object that was deleted after it was listed."""
    return StaleListing(f"{file.path}: the object was deleted after it was listed; list the table again")


def _next_step(message: str, uri: str) -> str:
    if "redirect" in message:
        return "set AWS_REGION to the region of the bucket"
    if "builder error" in message:
        return f"check the endpoint; for one with http:// set {_prefix(uri)}ALLOW_HTTP=true"
    if is_without_answer(message):
        return "check the network and the endpoint"
    return f"check that {_bucket(uri)} exists and can be reached"


def _settings(uri: str) -> str:
    prefix = _prefix(uri)
    return f"the endpoint, and the environment variables {prefix}.." if prefix else "the address"


def _prefix(uri: str) -> str:
    store = OF_SCHEME.get(scheme_of(uri) or "")
    return "" if store is None else store.variables[0]


def _answer(message: str, otherwise: str, uri: str) -> str:
    """Return the most useful part of a message: the server's answer, else the beginning."""
    if body := _BODY.search(message):
        return ": ".join(part for part in body.groups() if part)
    if status := _STATUS.search(message):
        return f"answer {status[1].strip()}"
    if "error sending request" in message:
        return f"{server_of(uri)} cannot be reached"
    return message[:300] or otherwise


def _credentials(uri: str) -> str:
    store = OF_SCHEME.get(scheme_of(uri) or "")
    if store is None:
        return "check the credentials"
    if store.scheme == "s3" and (name := selected_profile()) is not None and not reads_profiles():
        return f"{PROFILE}={name} is read through boto3 alone: install boto3, or {store.credentials}"
    return store.credentials


def _bucket(uri: str) -> str:
    # The user part of the URI does not belong to the bucket name and may contain a password.
    return bucket_of(redacted(uri)).partition("?")[0].removeprefix(f"{HIDDEN}@")
