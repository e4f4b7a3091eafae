"""Local stores: those of `emulated_stores`, an in-memory store, and a web server."""

from __future__ import annotations

import threading
from http.server import ThreadingHTTPServer
from uuid import uuid4

import pytest
from web_server import Handler, Web


@pytest.fixture(scope="session")
def http_server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def web(http_server, clean_environment):
    """A web server with nothing on it; `url` is where."""
    http_server.web = Web()
    http_server.web.url = f"http://127.0.0.1:{http_server.server_port}"
    return http_server.web


@pytest.fixture
def memory():
    """The root of a new directory in fsspec's memory."""
    import fsspec

    root = f"memory://{uuid4()}"
    yield root
    fs = fsspec.filesystem("memory")
    if fs.exists(root):
        fs.rm(root, recursive=True)


@pytest.fixture(params=["s3", "azure", "gcs", "memory"])
def root(request):
    """The root of a store that can list."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def put():
    """A function that stores bytes under a URI."""

    def store(uri, data):
        if uri.startswith("memory://"):
            import fsspec

            fsspec.filesystem("memory").pipe_file(uri, data)
        else:
            import obstore

            from parquet_core.storage.objects import object_store

            bucket = object_store(uri)
            obstore.put(bucket.store, bucket.key(uri), data)

    return store


@pytest.fixture
def upload(put):
    """A function that copies a directory below a URI."""

    def copy(directory, uri):
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                put(f"{uri}/{path.relative_to(directory).as_posix()}", path.read_bytes())
        return uri

    return copy


@pytest.fixture
def impatient_stores(monkeypatch):
    """Stores that pause a millisecond before they try again."""
    from datetime import timedelta

    from parquet_core.storage import objects

    pause = timedelta(milliseconds=1)
    monkeypatch.setitem(objects.RETRIES, "backoff", {"init_backoff": pause, "max_backoff": pause, "base": 2})
    objects._open.cache_clear()
    objects._open_web.cache_clear()
    yield
    objects._open.cache_clear()
    objects._open_web.cache_clear()
