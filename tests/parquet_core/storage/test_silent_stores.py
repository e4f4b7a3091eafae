"""Unresponsive endpoints: an error within seconds that names them, and a log line while a request waits."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from datetime import timedelta

import pytest

from parquet_core.errors import StorageFailure
from parquet_core.storage import connection, list_data_files, objects

S3 = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
SETTINGS = {
    "s3": S3,
    "az": {"AZURE_STORAGE_ACCOUNT_NAME": "acc", "AZURE_STORAGE_ACCOUNT_KEY": "YWJj", "AZURE_ALLOW_HTTP": "true"},
    "gs": {"GOOGLE_SKIP_SIGNATURE": "true", "GOOGLE_ALLOW_HTTP": "true"},
}
ENDPOINTS = {"s3": "AWS_ENDPOINT_URL", "az": "AZURE_STORAGE_ENDPOINT", "gs": "GOOGLE_BASE_URL"}


@pytest.fixture
def full():
    """A port that accepts no connection, because its queue is full."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.settimeout(0)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@pytest.fixture
def silent():
    """A port that accepts connections but never responds."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield server.getsockname()[1]


@pytest.fixture
def setup(clean_environment, monkeypatch):
    """Return a function that sets the endpoint of a scheme; a first request ends within a second or two."""
    monkeypatch.setattr(objects, "_CONNECT_SECONDS", 1)
    monkeypatch.setattr(objects, "_SHORT_RETRY_TIME", timedelta(seconds=0.5))

    def say(scheme, port, **more):
        for name, value in (SETTINGS[scheme] | {ENDPOINTS[scheme]: f"http://127.0.0.1:{port}"} | more).items():
            clean_environment.setenv(name, value)

    return say


@pytest.mark.parametrize("scheme", ["s3", "az", "gs"])
def test_an_endpoint_that_takes_no_connection_fails_within_seconds(full, setup, scheme):
    setup(scheme, full)
    started = time.monotonic()
    message = (
        rf"^{scheme}://b/t: http://127\.0\.0\.1:{full} \({ENDPOINTS[scheme]}\) cannot be reached; check the network"
    )
    with pytest.raises(StorageFailure, match=message):
        list_data_files(f"{scheme}://b/t")
    assert time.monotonic() - started < 4, "the library waits 5 s for a connection by itself"


def test_an_endpoint_that_answers_nothing_is_named_while_it_is_waited_for(silent, setup, monkeypatch, caplog):
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.05)
    setup("s3", silent, AWS_TIMEOUT="1s")
    with pytest.raises(StorageFailure, match=rf"http://127\.0\.0\.1:{silent} \(AWS_ENDPOINT_URL\) cannot be reached"):
        list_data_files(["s3://b/t/a"])
    assert f"waiting for an answer from http://127.0.0.1:{silent} (AWS_ENDPOINT_URL)" in caplog.text
    assert len(caplog.records) == 1


def test_the_line_has_no_password(silent, setup, monkeypatch, caplog):
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.05)
    setup("s3", silent, AWS_TIMEOUT="1s", AWS_ENDPOINT_URL=f"http://me:secret@127.0.0.1:{silent}")
    with pytest.raises(StorageFailure) as caught:
        list_data_files(["s3://b/t/a"])
    assert "secret" not in caplog.text + str(caught.value)


def test_a_store_that_answered_is_waited_for(web, setup, impatient_stores):
    """A response of 503 at the first contact is retried as often as later ones."""
    setup("s3", web.url.rpartition(":")[2])
    web.files = {"/b/t/a": b"x"}
    failures = iter([(503, b"later")] * 3)

    class Later(dict):
        def get(self, path, default=None):
            return next(failures, None) if path == "/b/t/a" else default

    web.answers = Later()
    assert [file.size for file in list_data_files(["s3://b/t/a"])] == [1]
    assert objects.object_store("s3://b/").connection.answered
