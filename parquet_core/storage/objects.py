"""Storage through obstore: S3, Google Cloud Storage, Azure, and web servers.

Stores are configured by the environment. Keys are not decoded: as in Spark, `s3://bucket/day=a%3Ab/x.parquet` is the
object `day=a%3Ab/x.parquet`. Web servers are read file by file: HTTP has no listing.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import quote, unquote

import obstore
from obstore.exceptions import BaseError, GenericError, PreconditionError
from obstore.store import HTTPStore, S3Store, from_url

from parquet_core.errors import UnsupportedFeature
from parquet_core.storage.connection import Connection
from parquet_core.storage.environment import check_variables, client_settings, store_variables, without_blanks
from parquet_core.storage.failures import changed, explaining, gone, is_without_answer, opening
from parquet_core.storage.files import DataFile
from parquet_core.storage.spellings import store_of_url
from parquet_core.storage.store_places import place_of, regional_host
from parquet_core.storage.stores import (
    OF_SCHEME,
    S3_ENDPOINTS,
    S3_REGIONS,
    S3_VIRTUAL,
    address,
    bucket_of,
    first_set,
    profile_options,
    root_of,
    scheme_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from obstore import GetOptions, ObjectMeta
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

    _Settings = tuple[tuple[str, str], ...]


# obstore retries temporary failures: 5xx, broken connections, timeouts. The timeouts keep their defaults, 5 s to
# connect and 30 s a request, because client options given here would replace options of the environment
# (AWS_ALLOW_HTTP).
RETRIES: RetryConfig = {
    "max_retries": 5,
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
    "retry_timeout": timedelta(seconds=60),
}

# Limits of the first attempt. A store that has answered before gets a second attempt with the limits of RETRIES.
_CONNECT_SECONDS = 2
_SHORT_RETRY_TIME = timedelta(seconds=5)

_OPENING = Lock()
Listed = TypeVar("Listed")
# Options of Spark sessions, by bucket address.
_OF_SESSIONS: dict[str, dict[str, str]] = {}
# Error message for a listing whose body ended early or cannot be parsed.
_BROKEN_LISTING = re.compile(r"list response", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket or container.

    `root`: its URI with a slash at the end.
    `options`: obstore options that the environment does not set.
    """

    root: str
    connection: Connection
    options: dict[str, Any]
    _below: dict[str, S3Store] = field(default_factory=dict, repr=False, compare=False)

    @property
    def store(self) -> ObjectStore:
        """Return the obstore store to write to."""
        return self.connection.patient

    def find(self, uri: str) -> DataFile | None:
        """Return the object of exactly this name; None if missing."""
        if not self.key(uri):
            return None
        with explaining(uri):
            try:
                meta = self.connection.request(lambda store: obstore.head(*self._place(store, uri)))
            except FileNotFoundError:
                return None
            return file_of(meta, self.root + self.key(uri))

    def walk(self, uri: str) -> list[DataFile]:
        """List all objects at any depth below a directory; empty if missing."""
        prefix = self.key(uri) or None
        with explaining(uri):
            listed = self._whole(lambda store: [*chain.from_iterable(obstore.list(store, prefix, chunk_size=1000))])
        return [self._file(meta) for meta in listed]

    def children(self, prefix: str, wanted: re.Pattern[str]) -> tuple[list[str], list[DataFile]]:
        """List the subdirectories and objects directly in a directory whose names match."""
        with explaining(prefix):
            listed = self._whole(lambda store: obstore.list_with_delimiter(store, self.key(prefix) or None))
        directories = [self.root + key for key in listed["common_prefixes"] if _matches(key, wanted)]
        return directories, [self._file(meta) for meta in listed["objects"] if _matches(meta["path"], wanted)]

    def read(self, file: DataFile, start: int, length: int) -> bytes:
        """Read a range of a listed object in one request.

        Raises StorageFailure if the object changed since it was listed. The request is conditional on the listed ETag:
        the store refuses to return other content.
        """
        with explaining(file.path):
            return self.connection.request(
                lambda store: read_object(*self._place(store, file.path), file, start, length)
            )

    def _whole(self, listing: Callable[[ObjectStore], Listed]) -> Listed:
        """Return a complete listing; retry if a response ends early.

        obstore itself retries only reads in this case.
        """
        pause = RETRIES["backoff"]["init_backoff"].total_seconds()
        for _ in range(RETRIES["max_retries"]):
            try:
                return self.connection.request(listing)
            except GenericError as error:
                if not _BROKEN_LISTING.search(str(error)):
                    raise
            time.sleep(pause)
            pause *= 2
        return self.connection.request(listing)

    def _place(self, store: ObjectStore, uri: str) -> tuple[ObjectStore, str]:
        """Return a store and the key of an object in it.

        obstore refuses keys with an empty segment. For such a key, the returned store starts after the segment.
        """
        key = self.key(uri)
        above, empty, name = f"/{key}".rpartition("//")
        # HTTP clients normalize dots, so the URL would name another object.
        if not empty or not isinstance(store, S3Store) or {".", ".."} & set(key.split("/")):
            return store, key
        if above not in self._below:
            self._below[above] = _below(place_of(self.root).uri, self.options, above)
        return self._below[above], name

    def key(self, uri: str) -> str:
        """Return the key of an object."""
        return uri[len(self.root) :].rstrip("/")

    def _file(self, meta: ObjectMeta) -> DataFile:
        return file_of(meta, self.root + meta["path"])


def _below(uri: str, options: dict[str, Any], path: str) -> S3Store:
    """Return a store for keys with an empty segment after `path`, such as `a//b`.

    `path` becomes a part of the store's endpoint, so that keys in this store have no empty segment.
    """
    bucket = bucket_of(uri)
    endpoint = options.get("endpoint") or first_set(S3_ENDPOINTS, os.environ)
    is_virtual = str(options.get("virtual_hosted_style_request") or os.environ.get(S3_VIRTUAL, "")).lower()
    if endpoint is None:
        region = options.get("region") or first_set(S3_REGIONS, os.environ) or "us-east-1"
        endpoint = f"https://{regional_host(region)}/{bucket}"
    elif is_virtual not in {"true", "1"}:
        endpoint = f"{endpoint.rstrip('/')}/{bucket}"
    moved = {"endpoint": f"{endpoint}{quote(path, safe='/-._~')}/", "virtual_hosted_style_request": "true"}
    with without_blanks():
        return S3Store(bucket, retry_config=RETRIES, **options | moved)


def _matches(key: str, wanted: re.Pattern[str]) -> bool:
    return wanted.fullmatch(key.rpartition("/")[2]) is not None


def object_store(uri: str) -> Bucket:
    """Return the bucket of a URI, cached until environment or session options change."""
    # Without the lock, two threads could create the same store, which takes 50 ms each.
    with _OPENING:
        return _open(*store_settings(uri))


def store_settings(uri: str) -> tuple[str, _Settings, _Settings]:
    """Return the root of a bucket, the environment variables and the session options.

    Results are equal only for the same store.
    """
    root = root_of(uri)
    return root, tuple(store_variables().items()), tuple(_OF_SESSIONS.get(address(root), {}).items())


def reach_as_session(uri: str, options: dict[str, str]) -> None:
    """Use a session's options for the bucket of a URI from now on.

    `options`: options of obstore's S3Store that the environment does not set.
    """
    _OF_SESSIONS[address(root_of(uri))] = options


def session_options() -> dict[str, dict[str, str]]:
    """Return the options passed to `reach_as_session`, by bucket address."""
    return dict(_OF_SESSIONS)


@lru_cache(maxsize=64)
def _open(root: str, environment: _Settings, of_session: _Settings) -> Bucket:  # noqa: ARG001 - used only as a cache key
    store = OF_SCHEME[scheme_of(root) or ""]
    check_variables(root, store)
    with opening(root, store):
        store_place = place_of(root)
        options: dict[str, Any] = dict(of_session) | store_place.options
        if store.scheme == "s3":
            options |= profile_options(root)
        client = client_settings(store)
        if options.get("endpoint", "").startswith("http://") and "allow_http" not in client:
            client["allow_http"] = "true"
            options["client_options"] = client
        hasty = options | {"client_options": {"connect_timeout": f"{_CONNECT_SECONDS}s"} | client}
        with without_blanks():
            first = from_url(store_place.uri, retry_config=_short_retries(), **hasty)
        return Bucket(root, Connection(root, first, lambda: _patient(store_place.uri, options)), options)


def _patient(uri: str, options: dict[str, Any]) -> ObjectStore:
    with without_blanks():
        return from_url(uri, retry_config=RETRIES, **options)


def _short_retries() -> RetryConfig:
    return {**RETRIES, "retry_timeout": _SHORT_RETRY_TIME}


def file_of(meta: ObjectMeta, path: str) -> DataFile:
    """Convert obstore's object metadata to a DataFile.

    obstore reports a missing time as 1970.
    """
    modified_ns = (meta["last_modified"] - _EPOCH) // timedelta(microseconds=1) * 1000
    etag = meta["e_tag"]
    # Azure lists ETags without the quotes that the header has; both must compare equal.
    quoted = etag is None or etag.endswith('"')
    return DataFile(path, meta["size"], modified_ns, etag if quoted else f'"{etag}"')


def read_object(store: ObjectStore, key: str, file: DataFile, start: int, length: int) -> bytes:
    """Read a range of an object that was listed as `file`.

    Raises StaleListing if the object has changed since. With an ETag, the request is conditional (If-Match). Weak
    ETags, which If-Match never accepts, are compared with the response, as are the ETags of servers that ignore
    conditions. Without ETags, size and time are compared, to the second.
    """
    options: GetOptions = {"range": (start, start + length)}
    if file.etag is not None and not file.etag.startswith("W/"):
        options["if_match"] = file.etag
    try:
        answer = obstore.get(store, key, options=options)
        data = answer.bytes().to_bytes()
    except FileNotFoundError:
        raise gone(file) from None
    except PreconditionError:
        raise changed(file) from None
    except GenericError as error:
        if "Range Not Satisfiable" not in str(error):
            raise
        raise changed(file) from None
    if not _is_same(file, file_of(answer.meta, file.path)) or len(data) != length:
        raise changed(file)
    return data


def _is_same(listed: DataFile, now: DataFile) -> bool:
    if listed.size != now.size:
        return False
    if listed.etag is not None and now.etag is not None:
        return listed.etag == now.etag
    # Listings report milliseconds, headers seconds.
    times = listed.modified_ns // 10**9, now.modified_ns // 10**9
    return times[0] == times[1] or 0 in times


@dataclass(frozen=True, slots=True)
class WebServer:
    """A web server that supports HEAD, and GET with ranges."""

    def find(self, uri: str) -> DataFile | None:
        """Request size, time and ETag of a file; None for 404.

        Raises UnsupportedFeature for an HTML page, which servers return for a directory.
        """
        with explaining(uri):
            connection, key = _web_place(uri)
            try:
                answer = connection.request(lambda store: obstore.get(store, key, options={"head": True}))
            except FileNotFoundError:
                return None
            except BaseError as error:
                if is_without_answer(str(error)):
                    raise
                # A signed URL may be valid for GET only.
                answer = connection.request(lambda store: obstore.get(store, key, options={"range": (0, 1)}))
        if answer.attributes.get("Content-Type", "").startswith("text/html"):
            _refuse(uri)
        return file_of(answer.meta, uri)

    def walk(self, uri: str) -> NoReturn:
        """Raise UnsupportedFeature: HTTP has no listing."""
        _refuse(uri)

    def children(self, prefix: str, wanted: re.Pattern[str]) -> NoReturn:  # noqa: ARG002 - as in other stores
        """Raise UnsupportedFeature: HTTP has no listing."""
        _refuse(prefix)

    def read(self, file: DataFile, start: int, length: int) -> bytes:
        """Read a range in one request. Raises StorageFailure if the file changed since `find`.

        A change is detected by the ETag. For servers without ETags, size and time are compared, to the second.
        """
        with explaining(file.path):
            connection, key = _web_place(file.path)
            return connection.request(lambda store: read_object(store, key, file, start, length))


def web_server(uri: str) -> WebServer:
    """Return the web server of a URI."""
    del uri  # each file selects its own connection pool
    return WebServer()


def _refuse(uri: str) -> NoReturn:
    meant = store_of_url(uri.rstrip("/*"))
    step = "give the URLs of its files as a list" + ("" if meant is None else f", or write {meant}")
    raise UnsupportedFeature(f"{uri}: HTTP has no listing of a directory; {step}")


def _web_place(uri: str) -> tuple[Connection, str]:
    """Return the connection and the path of a URL.

    Each URL with a query (signed) has its own connection.
    """
    if "?" in uri:
        return _open_web(uri), ""
    scheme, _, rest = uri.partition("://")
    host, _, path = rest.partition("/")
    return _open_web(f"{scheme}://{host}/"), unquote(path)


@lru_cache(maxsize=256)
def _open_web(url: str) -> Connection:
    hasty: ClientConfig = {"allow_http": True, "connect_timeout": f"{_CONNECT_SECONDS}s"}
    first = HTTPStore(url, client_options=hasty, retry_config=_short_retries())
    return Connection(url, first, lambda: HTTPStore(url, client_options={"allow_http": True}, retry_config=RETRIES))
