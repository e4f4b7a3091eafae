"""Storage on web servers, file by file: HTTP has no listing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import unquote

import obstore
from obstore.exceptions import BaseError
from obstore.store import HTTPStore

from parquet_core.errors import UnsupportedFeature
from parquet_core.storage.failures import explaining
from parquet_core.storage.objects import RETRIES, file_of, read_object

if TYPE_CHECKING:
    import re

    from parquet_core.storage.files import DataFile


@dataclass(frozen=True, slots=True)
class WebServer:
    """Whatever answers HEAD and GET with ranges."""

    def find(self, uri: str) -> DataFile | None:
        """Ask for size, time and ETag; None for 404. UnsupportedFeature for a page, which is what directories are."""
        with explaining(uri):
            store, key = _place(uri)
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
            store, key = _place(file.path)
        return read_object(store, key, file, start, length)


def web_server(uri: str) -> WebServer:
    """Return the server of a URI."""
    del uri  # each file finds its own connection pool
    return WebServer()


def _refuse(uri: str) -> NoReturn:
    raise UnsupportedFeature(f"{uri}: HTTP has no listing of a directory; give the URLs of its files as a list")


def _place(uri: str) -> tuple[HTTPStore, str]:
    """Return the store and the path in it; a URL with a query (signed) is a store by itself."""
    if "?" in uri:
        return _open(uri), ""
    scheme, _, rest = uri.partition("://")
    host, _, path = rest.partition("/")
    return _open(f"{scheme}://{host}/"), unquote(path)


@lru_cache(maxsize=256)
def _open(url: str) -> HTTPStore:
    return HTTPStore(url, client_options={"allow_http": True}, retry_config=RETRIES)
