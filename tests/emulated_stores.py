"""Fixtures for local object stores: S3 by moto, Azure by Azurite, Google Cloud Storage by our stand-in."""

from __future__ import annotations

import logging
import os
from threading import Lock
from urllib.request import Request, urlopen
from uuid import uuid4

import azurite as azure_emulator
import gcs_stand_in
import pytest

STORES = ("s3", "azure", "gcs")


def s3_settings(url):
    """Return the environment variables for a server with the S3 API."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
    }


SETTINGS = {"s3": s3_settings, "az": azure_emulator.settings, "gs": gcs_stand_in.settings}


@pytest.fixture
def clean_environment(monkeypatch):
    """Removes settings of this machine, and prevents requests for credentials to other machines."""
    for name in os.environ:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "AZURITE_", "FSSPEC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return monkeypatch


@pytest.fixture
def store_at(clean_environment):
    """Function that sets the environment variables for the store of a URI scheme."""

    def say(scheme, url):
        for name, value in SETTINGS[scheme](url).items():
            clean_environment.setenv(name, value)

    return say


@pytest.fixture(scope="session")
def moto_url():
    from moto.s3.responses import S3Response
    from moto.server import ThreadedMotoServer

    # moto checks for the object before it stores it, so two concurrent conditional requests would both succeed.
    put, one_at_a_time = S3Response.put_object, Lock()

    def put_alone(response, *arguments, **options):
        with one_at_a_time:
            return put(response, *arguments, **options)

    S3Response.put_object = put_alone
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()
    S3Response.put_object = put


@pytest.fixture
def s3(moto_url, store_at):
    """The root of a new bucket."""
    store_at("s3", moto_url)
    name = f"bucket-{uuid4()}"
    with urlopen(Request(f"{moto_url}/{name}", method="PUT"), timeout=30):
        return f"s3://{name}"


@pytest.fixture(scope="session")
def azurite_url(tmp_path_factory):
    if azure_emulator.executable() is None:
        pytest.skip(azure_emulator.MISSING)
    with azure_emulator.running(tmp_path_factory.mktemp("azurite")) as url:
        yield url


@pytest.fixture
def azure(azurite_url, store_at):
    """The root of a new container."""
    store_at("az", azurite_url)
    name = f"container-{uuid4()}"
    azure_emulator.make_container(azurite_url, name)
    return f"az://{name}"


@pytest.fixture(scope="session")
def gcs_server():
    with gcs_stand_in.running() as server:
        yield server


@pytest.fixture
def gcs(gcs_server, store_at):
    """The root of a new bucket."""
    store_at("gs", gcs_server.url)
    name = f"bucket-{uuid4()}"
    gcs_server.buckets[name] = {}
    return f"gs://{name}"


@pytest.fixture(params=STORES)
def bucket(request):
    """The root of an empty bucket or container."""
    return request.getfixturevalue(request.param)
