from __future__ import annotations

import logging
import os
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from log_writer import Log


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "table")


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
def s3(moto_url, monkeypatch):
    """The root of a new bucket."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in {
        "NO_PROXY": "127.0.0.1",
        "AWS_ENDPOINT_URL": moto_url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
    }.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{uuid4()}"
    with urlopen(Request(f"{moto_url}/{name}", method="PUT"), timeout=30):
        return f"s3://{name}"
