"""Stores on the loopback: S3 as moto plays it, and a web server that tells what it was asked."""

from __future__ import annotations

import logging
import os
import threading
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import unquote
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest


class Asked(NamedTuple):
    method: str
    path: str
    range: str | None
    condition: str | None


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
        web.asked.append(Asked(self.command, self.path, self.headers["Range"], self.headers["If-Match"]))
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
def clean_environment(monkeypatch):
    """No settings of this machine's owner, and nobody beyond the loopback who could be asked for credentials."""
    for name in os.environ:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "FSSPEC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return monkeypatch


@pytest.fixture
def web(http_server, clean_environment):
    """A web server with nothing on it; `url` is where."""
    http_server.web = Web()
    http_server.web.url = f"http://127.0.0.1:{http_server.server_port}"
    return http_server.web


@pytest.fixture(scope="session")
def moto_url():
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(moto_url, clean_environment):
    """The root of a new bucket."""
    for name, value in {
        "AWS_ENDPOINT_URL": moto_url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
    }.items():
        clean_environment.setenv(name, value)
    name = f"bucket-{uuid4()}"
    with urlopen(Request(f"{moto_url}/{name}", method="PUT"), timeout=30):
        return f"s3://{name}"


@pytest.fixture
def memory():
    """The root of a new directory in fsspec's memory."""
    import fsspec

    root = f"memory://{uuid4()}"
    yield root
    fs = fsspec.filesystem("memory")
    if fs.exists(root):
        fs.rm(root, recursive=True)


@pytest.fixture(params=["s3", "memory"])
def root(request):
    """The root of a store that can list."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def put():
    """A function that stores bytes under a URI."""

    def store(uri, data):
        if uri.startswith("s3://"):
            import obstore
            from obstore.store import from_url

            bucket, _, key = uri.removeprefix("s3://").partition("/")
            obstore.put(from_url(f"s3://{bucket}/"), key, data)
        else:
            import fsspec

            fsspec.filesystem("memory").pipe_file(uri, data)

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
