from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from unittest.mock import patch
from zlib import crc32

import pytest
from emulated_stores import (  # noqa: F401 - fixtures
    azure,
    azurite_url,
    bucket,
    clean_environment,
    gcs,
    gcs_server,
    moto_url,
    s3,
    store_at,
)

ROOT = Path(__file__).parents[1]
PARQUET_TESTING = ROOT.parent / "shared" / "data" / "parquet-testing"


def pytest_addoption(parser):
    parser.addoption("--deep", action="store_true", help="run the tests that take minutes, and no others")


def pytest_collection_modifyitems(config, items):
    """Choose the tests of `make test`, one case in so many of a `sampled` one among them, or with --deep the others."""
    deep = {item for item in items if item.get_closest_marker("deep")}
    sampled = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            sampled[item.path, item.originalname].append(item)
    for cases in sampled.values():
        (every,) = cases[0].get_closest_marker("sampled").args
        # In the order of a checksum of their names: as good as drawn, and the same each time.
        cases.sort(key=lambda item: crc32(item.name.encode()))
        deep.update(cases[-(-len(cases) // every) :])
    left = [item for item in items if (item in deep) != config.getoption("deep")]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if (item in deep) == config.getoption("deep")]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """No test finds what an earlier run kept, or leaves anything with the user."""
    with patch.dict(os.environ, {"PRUNE_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}):
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One local session for all tests; Java is one process, and a second start costs seconds."""
    from prune_assets.spark.session import spark_session

    scratch = tmp_path_factory.mktemp("spark")
    # Tests of finding Java see the machine as it is, not the JAVA_HOME that this sets.
    with patch.dict(os.environ):
        session = spark_session(
            master="local[2]",
            app_name="prune-assets tests",
            conf={
                "spark.sql.shuffle.partitions": "1",
                "spark.sql.session.timeZone": "UTC",
                "spark.sql.warehouse.dir": str(scratch / "warehouse"),
                "spark.local.dir": str(scratch / "local"),
                "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch / 'derby'}",
            },
        )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def parquet_testing():
    """The directory of the files of apache/parquet-testing."""
    if not PARQUET_TESTING.is_dir():
        pytest.skip(f"{PARQUET_TESTING} is not there: clone apache/parquet-testing to that place")
    return PARQUET_TESTING
