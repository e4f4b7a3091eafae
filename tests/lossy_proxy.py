"""A proxy for a store that can lose, cut or change responses and requests."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

# Headers that apply to a single connection, so the proxy does not forward them.
_NOT_HANDED_ON = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class Proxy(ThreadingHTTPServer):
    """Proxy server with faults.

    `loses`: whether the next response is lost, by method; `lost` counts lost responses. `breaks`: whether the body of
    the next response is cut in half, by method and path. `strips`: request headers to drop, in lower case. `requests`:
    method and path of each request.
    """

    daemon_threads = True

    def __init__(self, behind):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.behind = urlsplit(behind).netloc
        self.loses = lambda method: False
        self.lost = 0
        self.breaks = lambda method, path: False
        self.strips = frozenset()
        self.requests = []

    def ends_upload(self):
        """Tell whether the last request ends an upload in parts: a POST to S3, a list of blocks to Azure."""
        method, path = self.requests[-1]
        return (method == "POST" and "uploadId=" in path) or "comp=blocklist" in path


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # head and body in one packet

    def answer(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        request = self.command, unquote(self.path)
        self.server.requests.append(request)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in self.server.strips}
        behind = HTTPConnection(self.server.behind, timeout=30)
        behind.request(self.command, self.path, body, headers)
        answer = behind.getresponse()
        data = answer.read()
        behind.close()
        if self.server.loses(self.command):
            self.server.lost += 1
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _NOT_HANDED_ON:
                self.send_header(name, value)
        # The Content-Length of a HEAD response is the size of the object, not of the response.
        length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else len(data)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.server.breaks(*request):
            data = data[: len(data) // 2]
            self.close_connection = True
        self.wfile.write(data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *arguments):
        pass


@contextmanager
def running(behind):
    """The proxy while it runs."""
    with Proxy(behind) as proxy:
        threading.Thread(target=proxy.serve_forever, args=(0.02,), daemon=True).start()
        yield proxy
        proxy.shutdown()
