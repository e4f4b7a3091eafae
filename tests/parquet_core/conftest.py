"""Stores on the loopback: those of `emulated_stores`, memory, and a web server that tells what it was asked."""

from __future__ import annotations

import threading
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import unquote
from uuid import uuid4

import pytest


class Asked(NamedTuple):
    method: str
    path: str
    range: str | None
    condition: str | None
    authorization: str | None


class Web:
    """`files` by path; `answers` by path or for all ("*"): a status and a body instead of a file."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.headers: dict[str, str] = {}
        self.asked: list[Asked] = []
        self.etags = self.conditions = self.ranges = True

    def reads(self):
        return [asked for asked in self.asked if asked.method == "GET"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # head and body in one packet

    def do_GET(self):
        self.answer()

    do_HEAD = do_PUT = do_GET

    def answer(self):
        web = self.server.web
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        path = unquote(self.path.partition("?")[0])
        told = (self.headers[name] for name in ("Range", "If-Match", "Authorization"))
        web.asked.append(Asked(self.command, self.path, *told))
        canned = web.answers.get(path, web.answers.get("*"))
        data = web.files.get(path)
        if canned or data is None:
            return self.send(*(canned or (404, b"")))
        etag = f'"{md5(data).hexdigest()}"'
        head = {"ETag": etag} if web.etags else {}
        if web.conditions and self.headers["If-Match"] not in {None, etag}:
            return self.send(412, b"")
        if self.headers["Range"] and web.ranges:
            first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            if first >= len(data):
                return self.send(416, b"")
            part = data[first : last + 1]
            return self.send(206, part, head | {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(data)}"})
        return self.send(200, data, head)

    def send(self, status, body, head=()):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **dict(head), **self.server.web.headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


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
