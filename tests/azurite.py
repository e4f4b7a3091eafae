"""Azurite, the emulator of Azure Blob Storage, as a local process."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import shutil
import subprocess
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

MISSING = "Azurite is not there: npm install -g azurite, or set PRUNE_AZURITE to the path of azurite-blob"
ACCOUNT = "devstoreaccount1"
# Every emulator has this account with this key.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_OPTIONS = ["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--inMemoryPersistence"]


def executable():
    """Return the path of Azurite; None if it is not installed."""
    return os.environ.get("PRUNE_AZURITE") or shutil.which("azurite-blob")


@contextmanager
def running(scratch):
    """Run Azurite on a free port; yields its URL without the account."""
    command = [executable(), *_OPTIONS, "--blobHost", "127.0.0.1", "--blobPort", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=scratch) as process:
        try:
            said = []
            for line in process.stdout:
                said.append(line)
                if " listens on " in line:
                    break
            else:
                raise RuntimeError(f"Azurite did not start: {''.join(said)}")
            yield line.rpartition(" ")[2].strip()
        finally:
            process.terminate()


def make_container(url, name):
    """Create a container; the storage libraries for reading and writing cannot."""
    head = {"x-ms-date": datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"), "x-ms-version": "2021-08-06"}
    path = f"/{ACCOUNT}/{name}"
    said = [f"{name}:{value}" for name, value in head.items()]
    signed = "\n".join(["PUT", *[""] * 11, *said, f"/{ACCOUNT}{path}", "restype:container"])
    digest = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    head["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    assert urlsplit(url).hostname == "127.0.0.1"
    with urlopen(Request(f"{url}{path}?restype=container", method="PUT", headers=head), timeout=30):
        pass


def settings(url):
    """Return the environment variables that make the emulator look like a storage account."""
    return {
        "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        "AZURE_STORAGE_ENDPOINT": f"{url}/{ACCOUNT}",
        "AZURE_ALLOW_HTTP": "true",
    }
