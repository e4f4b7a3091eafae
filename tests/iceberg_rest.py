"""A REST catalog of Iceberg on this machine: the server of Iceberg's own tests, with the jars of pyspark's Hadoop.

Its jars are fetched from Maven Central, once, into a cache outside of the tree; without them the test is skipped.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pyspark
import pytest
from hadoop_aws import fetched

from prune_assets.spark.java import find_java

ICEBERG, JETTY = "1.11.0", "12.1.8"
_NAMES = [
    f"org/apache/iceberg/iceberg-open-api/{ICEBERG}/iceberg-open-api-{ICEBERG}-test-fixtures",
    f"org/apache/iceberg/iceberg-core/{ICEBERG}/iceberg-core-{ICEBERG}-tests",
    *(
        f"org/apache/iceberg/iceberg-{part}/{ICEBERG}/iceberg-{part}-{ICEBERG}"
        for part in ("core", "api", "common", "bundled-guava")
    ),
    *(
        f"org/eclipse/jetty/jetty-{part}/{JETTY}/jetty-{part}-{JETTY}"
        for part in ("server", "http", "io", "util", "session", "security")
    ),
    *(
        f"org/eclipse/jetty/compression/jetty-compression-{part}/{JETTY}/jetty-compression-{part}-{JETTY}"
        for part in ("common", "server", "gzip")
    ),
    f"org/eclipse/jetty/ee10/jetty-ee10-servlet/{JETTY}/jetty-ee10-servlet-{JETTY}",
    f"org/eclipse/jetty/ee/jetty-ee-webapp/{JETTY}/jetty-ee-webapp-{JETTY}",
    "jakarta/servlet/jakarta.servlet-api/6.0.0/jakarta.servlet-api-6.0.0",
    "com/github/ben-manes/caffeine/caffeine/2.9.3/caffeine-2.9.3",
    "org/apache/httpcomponents/client5/httpclient5/5.5/httpclient5-5.5",
    "org/apache/httpcomponents/core5/httpcore5/5.3.4/httpcore5-5.3.4",
    "org/apache/httpcomponents/core5/httpcore5-h2/5.3.4/httpcore5-h2-5.3.4",
    "org/xerial/sqlite-jdbc/3.50.3.0/sqlite-jdbc-3.50.3.0",
]
_SECONDS = 30


@contextmanager
def rest_catalog(place):
    """The address of a REST catalog that keeps its tables in a directory."""
    cache = Path.home() / ".cache" / "prune-tests" / f"iceberg-rest-{ICEBERG}"
    try:
        ours = [str(fetched(cache, f"{name}.jar")) for name in _NAMES]
    except OSError as error:
        pytest.skip(f"Iceberg's REST catalog is not here, and Maven Central cannot be reached: {error}")
    of_spark = str(Path(pyspark.__file__).parent / "jars" / "*")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "CATALOG_REST_PORT": str(port),
        "CATALOG_WAREHOUSE": str(place),
        "CATALOG_URI": f"jdbc:sqlite:{place}/catalog.db",
    }
    # Its own jars come first: Spark has an older API of servlets.
    command = [str(find_java().home / "bin" / "java"), "-XX:TieredStopAtLevel=1", "-cp", ":".join([*ours, of_spark])]
    log = Path(place) / "server.log"
    with (
        log.open("w") as out,
        subprocess.Popen(
            [*command, "org.apache.iceberg.rest.RESTCatalogServer"],
            env={**os.environ, **settings},
            stdout=out,
            stderr=subprocess.STDOUT,
        ) as server,
    ):
        try:
            _wait(f"http://127.0.0.1:{port}", server, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


def _wait(address, server, log):
    until = time.monotonic() + _SECONDS
    while True:
        try:
            urlopen(f"{address}/v1/config", timeout=5).close()
        except OSError:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        else:
            return


def environment(name, address):
    """The variables by which pyiceberg knows the catalog."""
    return {f"PYICEBERG_CATALOG__{name.upper()}__{key}": value for key, value in (("TYPE", "rest"), ("URI", address))}
