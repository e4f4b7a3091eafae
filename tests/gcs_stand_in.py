"""A stand-in for Google Cloud Storage: neither Google's server nor an emulator verified against it.

It implements the XML API calls that obstore sends (PUT, copies, GET, HEAD, DELETE, lists, multipart uploads) and
honours `x-goog-if-generation-match` as the reference documents it. So it tests only the client side: URIs, settings,
conditions, and handling of responses. Installable emulators ignore this condition in the XML API.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager
from email.utils import formatdate
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import gmtime, strftime, time, time_ns
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

# A small page size, so that listings have several pages.
PAGE = 20


class Stored(NamedTuple):
    data: bytes
    generation: int
    at: float

    @property
    def etag(self):
        return f'"{md5(self.data).hexdigest()}"'


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.buckets: dict[str, dict[str, Stored]] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.generations = itertools.count(time_ns())
        self.uploads = itertools.count()
        self.lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # head and body in one packet

    def answer(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        url = urlsplit(self.path)
        bucket, _, key = unquote(url.path)[1:].partition("/")
        asked = {name: said[0] for name, said in parse_qs(url.query, keep_blank_values=True).items()}
        with self.server.lock:
            objects = self.server.buckets.get(bucket)
            if objects is None:
                return self.send(404, b"<Error><Code>NoSuchBucket</Code><Message>No such bucket.</Message></Error>")
            if not key:
                return self.list(objects, **{name.replace("-", "_"): said for name, said in asked.items()})
            if "uploads" in asked or "uploadId" in asked:
                return self.upload(objects, key, body, asked)
            return getattr(self, self.command.lower())(objects, key, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def put(self, objects, key, body):
        wanted = self.headers["x-goog-if-generation-match"]
        there = objects[key].generation if key in objects else 0
        if wanted is not None and int(wanted) != there:
            return self.send(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        if source := self.headers["x-goog-copy-source"]:
            body = objects[unquote(source).partition("/")[2]].data
        stored = objects[key] = Stored(body, next(self.server.generations), time())
        return self.send(200, b"", {"ETag": stored.etag, "x-goog-generation": stored.generation})

    def get(self, objects, key, _):
        stored = objects.get(key)
        if stored is None:
            return self.send(404, b"<Error><Code>NoSuchKey</Code></Error>")
        if self.headers["If-Match"] not in {None, stored.etag}:
            return self.send(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        head = {"ETag": stored.etag, "x-goog-generation": stored.generation, "Last-Modified": formatdate(stored.at)}
        size = len(stored.data)
        if not self.headers["Range"]:
            return self.send(200, stored.data, head)
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        if first >= size:
            return self.send(416, b"<Error><Code>InvalidRange</Code></Error>")
        last = min(last, size - 1)
        return self.send(206, stored.data[first : last + 1], head | {"Content-Range": f"bytes {first}-{last}/{size}"})

    head = get

    def delete(self, objects, key, _):
        return self.send(404 if objects.pop(key, None) is None else 204, b"")

    def list(self, objects, *, prefix="", delimiter="", continuation_token="", **_):
        keys = sorted(key for key in objects if key.startswith(prefix) and key > continuation_token)
        directories, text = set(), []
        if len(keys) > PAGE:
            text = [f"<NextContinuationToken>{escape(keys[PAGE - 1])}</NextContinuationToken>"]
        for key in keys[:PAGE]:
            rest, stored = key.removeprefix(prefix), objects[key]
            if delimiter and delimiter in rest:
                directories.add(prefix + rest.partition(delimiter)[0] + delimiter)
                continue
            at = strftime("%Y-%m-%dT%H:%M:%S.123Z", gmtime(stored.at))
            text.append(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{at}</LastModified><ETag>{stored.etag}</ETag>"
                f"<Generation>{stored.generation}</Generation><Size>{len(stored.data)}</Size></Contents>"
            )
        text += [f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(directories)]
        return self.send(200, f"<ListBucketResult>{''.join(text)}</ListBucketResult>".encode())

    def upload(self, objects, key, body, asked):
        if "uploads" in asked:
            name = str(next(self.server.uploads))
            self.server.parts[name] = {}
            text = f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>"
            return self.send(200, text.encode())
        parts = self.server.parts[asked["uploadId"]]
        if self.command == "PUT":
            parts[int(asked["partNumber"])] = body
            return self.send(200, b"", {"ETag": f'"{md5(body).hexdigest()}"'})
        stored = Stored(b"".join(data for _, data in sorted(parts.items())), next(self.server.generations), time())
        objects[key] = stored
        text = f"<CompleteMultipartUploadResult><ETag>{escape(stored.etag)}</ETag></CompleteMultipartUploadResult>"
        return self.send(200, text.encode(), {"x-goog-generation": stored.generation})

    def send(self, status, body, head=()):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **dict(head)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@contextmanager
def running():
    """The running stand-in; buckets are created by adding to `buckets`."""
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def settings(url):
    """Return the environment for the stand-in; without a token obstore searches the network for one first."""
    return {"GOOGLE_BASE_URL": url, "GOOGLE_BEARER_TOKEN": "any", "GOOGLE_ALLOW_HTTP": "true"}
