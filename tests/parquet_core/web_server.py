"""A local web server that records its requests."""

from __future__ import annotations

from hashlib import md5
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple
from urllib.parse import unquote


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
