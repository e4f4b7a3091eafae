from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

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
