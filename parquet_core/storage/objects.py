"""Storage through obstore: S3, Google Cloud Storage, Azure, configured by the environment, and web servers.

Keys are taken as they are: `s3://bucket/day=a%3Ab/x.parquet` is the object `day=a%3Ab/x.parquet`, as it is for Spark.
Web servers are read file by file: HTTP has no listing.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import quote, unquote

import obstore
from obstore.exceptions import BaseError, GenericError, PreconditionError
from obstore.store import HTTPStore, S3Store, from_url

from parquet_core.errors import UnsupportedFeature
from parquet_core.storage.aws_profile import profile_options
from parquet_core.storage.failures import changed, explaining, gone
from parquet_core.storage.files import DataFile
from parquet_core.storage.known_stores import S3_ENDPOINTS, S3_REGIONS, S3_VIRTUAL, STORES
from parquet_core.storage.schemes import address

if TYPE_CHECKING:
    from collections.abc import Callable

    from obstore import GetOptions, ObjectMeta
    from obstore.store import ObjectStore, RetryConfig

    _Settings = tuple[tuple[str, str], ...]


# obstore tries again by itself what may pass: 5xx, broken connections, timeouts. Those stay as they are, 5 s to
# connect and 30 s a request, for who gives client options takes away those of the environment (AWS_ALLOW_HTTP).
RETRIES: RetryConfig = {
    "max_retries": 5,
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
    "retry_timeout": timedelta(seconds=60),
}

Listed = TypeVar("Listed")
_PREFIXES = tuple(prefix for store in STORES for prefix in store.variables)
# By bucket, how a Spark session reaches it.
_OF_SESSIONS: dict[str, dict[str, str]] = {}
# The body of an answer ended early, or what arrived of it is not a listing.
_BROKEN_LISTING = re.compile(r"list response", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket or container; `root` is its URI with a slash at the end."""

    root: str
    store: ObjectStore
    _below: dict[str, S3Store] = field(default_factory=dict, repr=False, compare=False)

    def find(self, uri: str) -> DataFile | None:
        """Look an object up; None when there is none of exactly this name."""
        if not self.key(uri):
            return None
        with explaining(uri):
            try:
                return file_of(obstore.head(*self._place(uri)), self.root + self.key(uri))
            except FileNotFoundError:
                return None

    def walk(self, uri: str) -> list[DataFile]:
        """List all objects below a directory, at any depth; none when there is no such directory."""
        with explaining(uri):
            listed = _whole(
                lambda: [*chain.from_iterable(obstore.list(self.store, self.key(uri) or None, chunk_size=1000))]
            )
        return [self._file(meta) for meta in listed]

    def children(self, prefix: str, wanted: re.Pattern[str]) -> tuple[list[str], list[DataFile]]:
        """List what lies directly in a directory and has a name that matches."""
        with explaining(prefix):
            listed = _whole(lambda: obstore.list_with_delimiter(self.store, self.key(prefix) or None))
        directories = [self.root + key for key in listed["common_prefixes"] if _matches(key, wanted)]
        return directories, [self._file(meta) for meta in listed["objects"] if _matches(meta["path"], wanted)]

    def read(self, file: DataFile, start: int, length: int) -> bytes:
        """Read a range in one request; StorageFailure when the object is not the one that was listed.

        The request carries the ETag that the listing gave, and the store refuses it for any other content.
        """
        return read_object(*self._place(file.path), file, start, length)

    def _place(self, uri: str) -> tuple[ObjectStore, str]:
        """Return a store that takes the key of an object, and the key: obstore takes none with an empty part."""
        key = self.key(uri)
        above, empty, name = f"/{key}".rpartition("//")
        # Clients normalize dots, so the URL would name another object.
        if not empty or not isinstance(self.store, S3Store) or {".", ".."} & set(key.split("/")):
            return self.store, key
        if above not in self._below:
            self._below[above] = _below(self.store, above)
        return self._below[above], name

    def key(self, uri: str) -> str:
        """Return the key of an object."""
        return uri[len(self.root) :].rstrip("/")

    def _file(self, meta: ObjectMeta) -> DataFile:
        return file_of(meta, self.root + meta["path"])


def _whole(listing: Callable[[], Listed]) -> Listed:
    """Return a listing; list again if an answer breaks off, which obstore does for reads alone."""
    pause = RETRIES["backoff"]["init_backoff"].total_seconds()
    for _ in range(RETRIES["max_retries"]):
        try:
            return listing()
        except GenericError as error:
            if not _BROKEN_LISTING.search(str(error)):
                raise
        time.sleep(pause)
        pause *= 2
    return listing()


def _below(store: S3Store, path: str) -> S3Store:
    """Return a store whose keys are below `path` and an empty part: the path becomes a part of its endpoint."""
    config: dict[str, Any] = dict(store.config)
    endpoint = config.get("endpoint") or _first(S3_ENDPOINTS)
    is_virtual = str(config.get("virtual_hosted_style_request") or os.environ.get(S3_VIRTUAL, "")).lower()
    if endpoint is None:
        region = config.get("region") or _first(S3_REGIONS) or "us-east-1"
        endpoint = f"https://s3.{region}.amazonaws.com/{config['bucket']}"
    elif is_virtual not in {"true", "1"}:
        endpoint = f"{endpoint.rstrip('/')}/{config['bucket']}"
    config |= {"endpoint": f"{endpoint}{quote(path, safe='/-._~')}/", "virtual_hosted_style_request": "true"}
    options = {
        "config": config,
        "client_options": store.client_options,
        "credential_provider": store.credential_provider,
    }
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    return S3Store(retry_config=RETRIES, **given)


def _first(variables: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in variables if os.environ.get(name)), None)


def _matches(key: str, wanted: re.Pattern[str]) -> bool:
    return wanted.fullmatch(key.rpartition("/")[2]) is not None


def object_store(uri: str) -> Bucket:
    """Return the bucket of a URI; one that the environment describes otherwise than before is made anew."""
    return _open(*store_settings(uri))


def store_settings(uri: str) -> tuple[str, _Settings, _Settings]:
    """Return the root of a bucket and how the environment and sessions reach it: equal only for the same store."""
    root = root_of(uri)
    environment = tuple(sorted(item for item in os.environ.items() if item[0].upper().startswith(_PREFIXES)))
    return root, environment, tuple(_OF_SESSIONS.get(address(root), {}).items())


def root_of(uri: str) -> str:
    """Return the URI of the bucket that an object lies in, with a slash at the end."""
    scheme, _, rest = uri.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/"


def reach_as_session(uri: str, options: dict[str, str]) -> None:
    """Reach the bucket of a URI as a session does from now on, where the environment says nothing.

    `options`: of obstore's S3Store, only such as the environment does not set.
    """
    _OF_SESSIONS[address(root_of(uri))] = options


def session_options() -> dict[str, dict[str, str]]:
    """Return the options passed to `reach_as_session`, by URI."""
    return dict(_OF_SESSIONS)


@lru_cache(maxsize=64)
def _open(root: str, environment: _Settings, of_session: _Settings) -> Bucket:  # noqa: ARG001 - the environment is the cache's key
    with explaining(root):
        uri, options = address(root), dict[str, Any](of_session)
        if uri.startswith("s3://"):
            options |= profile_options(root)
        if options.get("endpoint", "").startswith("http://") and "AWS_ALLOW_HTTP" not in os.environ:
            options["client_options"] = {"allow_http": True}
        return Bucket(root, from_url(uri, retry_config=RETRIES, **options))


def file_of(meta: ObjectMeta, path: str) -> DataFile:
    """Turn what obstore says of an object into a file; without a time it says 1970."""
    modified_ns = (meta["last_modified"] - _EPOCH) // timedelta(microseconds=1) * 1000
    etag = meta["e_tag"]
    # Azure lists it without the quotes that the header has: one content, one name.
    quoted = etag is None or etag.endswith('"')
    return DataFile(path, meta["size"], modified_ns, etag if quoted else f'"{etag}"')


def read_object(store: ObjectStore, key: str, file: DataFile, start: int, length: int) -> bytes:
    """Read a range of the object that was listed as `file`, and of no other.

    With an ETag the request is conditional (If-Match); a weak one, which the condition never accepts, and that
    of a server that ignores conditions are compared with what is answered. Without ETags size and time are, to the
    second.
    """
    options: GetOptions = {"range": (start, start + length)}
    if file.etag is not None and not file.etag.startswith("W/"):
        options["if_match"] = file.etag
    with explaining(file.path):
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
    # A listing tells milliseconds, a header seconds.
    times = listed.modified_ns // 10**9, now.modified_ns // 10**9
    return times[0] == times[1] or 0 in times


@dataclass(frozen=True, slots=True)
class WebServer:
    """Whatever answers HEAD and GET with ranges."""

    def find(self, uri: str) -> DataFile | None:
        """Ask for size, time and ETag; None for 404. UnsupportedFeature for a page, which is what directories are."""
        with explaining(uri):
            store, key = _web_place(uri)
            try:
                answer = obstore.get(store, key, options={"head": True})
            except FileNotFoundError:
                return None
            except BaseError:
                # A signed URL may be good for GET alone.
                answer = obstore.get(store, key, options={"range": (0, 1)})
        if answer.attributes.get("Content-Type", "").startswith("text/html"):
            _refuse(uri)
        return file_of(answer.meta, uri)

    def walk(self, uri: str) -> NoReturn:
        """Refuse: there is no listing."""
        _refuse(uri)

    def children(self, prefix: str, wanted: re.Pattern[str]) -> NoReturn:  # noqa: ARG002 - as of other stores
        """Refuse: there is no listing."""
        _refuse(prefix)

    def read(self, file: DataFile, start: int, length: int) -> bytes:
        """Read a range in one request; StorageFailure when the file is not the one that was asked about.

        That it changed shows in its ETag; of a server without ETags in size and time, to the second.
        """
        with explaining(file.path):
            store, key = _web_place(file.path)
        return read_object(store, key, file, start, length)


def web_server(uri: str) -> WebServer:
    """Return the server of a URI."""
    del uri  # each file finds its own connection pool
    return WebServer()


def _refuse(uri: str) -> NoReturn:
    raise UnsupportedFeature(f"{uri}: HTTP has no listing of a directory; give the URLs of its files as a list")


def _web_place(uri: str) -> tuple[HTTPStore, str]:
    """Return the store and the path in it; a URL with a query (signed) is a store by itself."""
    if "?" in uri:
        return _open_web(uri), ""
    scheme, _, rest = uri.partition("://")
    host, _, path = rest.partition("/")
    return _open_web(f"{scheme}://{host}/"), unquote(path)


@lru_cache(maxsize=256)
def _open_web(url: str) -> HTTPStore:
    return HTTPStore(url, client_options={"allow_http": True}, retry_config=RETRIES)
