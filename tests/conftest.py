from __future__ import annotations

import atexit
import os
import sys
from collections import defaultdict
from pathlib import Path
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
from hypothesis import is_hypothesis_test, settings

ROOT = Path(__file__).parents[1]
PARQUET_TESTING = ROOT.parent / "shared" / "data" / "parquet-testing"


def pytest_addoption(parser):
    parser.addoption("--deep", action="store_true", help="run the tests that take minutes, and no others")
    parser.addoption("--e2e", action="store_true", help="run the tests in a real browser, and no others")


def pytest_configure(config):
    if config.getoption("deep"):
        settings.load_profile("deep")


def pytest_unconfigure():
    """Keep the summary as the last line: duckdb prints dozens of lines while Python exits."""
    if "duckdb" in sys.modules:
        atexit.register(os.dup2, os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def pytest_collection_modifyitems(config, items):
    """Select the tests of `make test`, or with --deep the others, or with --e2e those in a browser.

    For tests marked `sampled`, `make test` runs one in N cases, --deep the others. For hypothesis tests, `make test`
    runs a quarter of the examples, --deep all.
    """
    deep = {item for item in items if item.get_closest_marker("deep")}
    sampled = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            sampled[item.path, item.originalname].append(item)
    for cases in sampled.values():
        (every,) = cases[0].get_closest_marker("sampled").args
        # Ordered by a checksum of their names, which is as good as random, but always the same.
        cases.sort(key=lambda item: crc32(item.name.encode()))
        deep.update(cases[-(-len(cases) // every) :])
    drawn = {item for item in items if is_hypothesis_test(getattr(item, "obj", None))}
    browser = {item for item in items if item.get_closest_marker("e2e")}
    chosen = (
        browser
        if config.getoption("e2e")
        else (deep | drawn if config.getoption("deep") else {*items} - deep) - browser
    )
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


@pytest.fixture(scope="session")
def parquet_testing():
    """The directory of the files of apache/parquet-testing."""
    if not PARQUET_TESTING.is_dir():
        pytest.skip(f"{PARQUET_TESTING} is not there: clone apache/parquet-testing to that place")
    return PARQUET_TESTING


@pytest.fixture(autouse=True, scope="session")
def no_lines_of_progress():
    """Suppress progress lines about Spark stages, which appear only on slow machines."""
    from prune_assets.spark import progress

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(progress, "_SECONDS", 3_600.0)
        yield
