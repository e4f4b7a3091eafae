"""What every test stands on, the examples in docstrings among them; what only those in `tests` need is there."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import settings

# How long an example takes says what else the machine was doing.
settings.register_profile("deep", deadline=None, max_examples=100)
settings.register_profile("quick", deadline=None, max_examples=25)
settings.load_profile("quick")

# Nearly all that Spark does in a test it does once: code made fast at length is never used, and takes half of the time.
FOR_SHORT_JOBS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"

DELTALOG = Path(__file__).parent / "deltalog"

# In seconds since 1970: a slow machine leaves out the rest of what takes minutes (`.ci/run`, `.ci/matrix`).
UNTIL = float(os.environ.get("PRUNE_TESTS_UNTIL", "inf"))

# Airflow is in locks/e2e.lock alone: its examples run where it is installed. A folder of that name has no origin.
HAS_AIRFLOW = getattr(find_spec("airflow"), "origin", None) is not None
collect_ignore_glob = [] if HAS_AIRFLOW else ["prune_assets/airflow/*"]


def pytest_configure(config):
    """Give Airflow, which makes itself a home when it is imported, one of this run."""
    if HAS_AIRFLOW:
        home = tempfile.mkdtemp(prefix="airflow-home-")
        config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
        os.environ |= {"AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}


def pytest_ignore_collect(collection_path, config):
    """With `-m spark`, load only the files that have tests with Spark: one in five."""
    other = config.option.markexpr == "spark" and collection_path.suffix == ".py" and not _names_spark(collection_path)
    return True if other else None


def _names_spark(path):
    return re.search(rb"mark\.spark|^ *(>>>|\.\.\.).*\bspark\b", path.read_bytes(), re.MULTILINE) is not None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for examples only in files that have some: one in five."""
    collectors = yield
    examples = file_path.suffix != ".py" or b">>>" in file_path.read_bytes()
    return collectors if examples else [module for module in collectors if type(module) is pytest.Module]


@pytest.hookimpl(tryfirst=True)
def pytest_collection():
    """Pause the garbage collector: the tests and modules that collection loads live until the end."""
    gc.disable()


def pytest_collection_finish():
    """Exclude all loaded objects from later garbage collections, and collect less often."""
    if "dagster" in sys.modules:
        _leave_unstamped_databases_in_memory()
    gc.collect()
    gc.freeze()
    # A test makes little garbage: by default the collector runs after 700 new objects, thousands of times in all.
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def _leave_unstamped_databases_in_memory():
    """Do not load Dagster's 90 migrations for each instance in memory, to note which of them its database has."""
    from dagster._core.storage.event_log import in_memory as events
    from dagster._core.storage.runs import in_memory as runs

    for module in (events, runs):
        module.stamp_alembic_rev = lambda *_, **__: None


@pytest.hookimpl(tryfirst=True)  # before fixtures are made
def pytest_runtest_setup():
    """Skip the test after the deadline; reset the handlers of signals.

    Dagster leaves its own handler, and child processes inherit an ignored signal, as a shell ignores SIGINT for a
    process in the background.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if time.time() > UNTIL:
        pytest.skip("no time left (PRUNE_TESTS_UNTIL)")


def _names_in(item):
    """Return the names that an example uses."""
    codes = [compile(part.source, item.name, "single") for part in item.dtest.examples]
    return {name for code in codes for name in code.co_names}


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items):
    """Give every example a temporary directory of its own, and one that uses `spark` a session of that name."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.fixturenames.append("own_temporary_directory")
            names = _names_in(item)
            if item.path.is_relative_to(DELTALOG) and names & {"table", "snapshot"} and "tempfile" not in names:
                item.fixturenames.append("table_of_examples")
            if "spark" in names:
                item.add_marker("spark")
                item.fixturenames.append("spark_of_examples")
    for path in {item.path for item in items if item.get_closest_marker("spark")}:
        if not _names_spark(path):
            raise pytest.UsageError(f"{path}: `-m spark` leaves this file out; write pytest.mark.spark in the file")


@pytest.fixture(scope="session")
def directories_of_tests(tmp_path_factory):
    """Yield new directories, one per test."""
    parent = tmp_path_factory.mktemp("tests")
    return (parent / str(number) for number in count())


@pytest.fixture
def tmp_path(request, directories_of_tests):
    """A directory for this test alone.

    To number a directory, pytest lists the directories of all earlier tests: 9 ms after 8,000 tests.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = next(directories_of_tests) / name
    path.mkdir(parents=True, mode=0o700)
    return path


@pytest.fixture
def own_temporary_directory(tmp_path):
    """Examples make directories and leave them."""
    with patch("tempfile.tempdir", str(tmp_path)):
        yield


@pytest.fixture
def table_of_examples(own_temporary_directory, tmp_path, doctest_namespace):
    """Give examples of `deltalog` a table, its snapshot, and a file that is written and not yet committed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import deltalog

    table, rows = str(tmp_path / "table"), pa.table({"id": [1, 2, 3]})
    deltalog.create_table(table, rows.schema)
    for name in ("part-0.parquet", "part-1.parquet"):
        pq.write_table(rows, f"{table}/{name}")
    files = [deltalog.NewFile("part-0.parquet"), deltalog.NewFile("part-1.parquet")]
    first, new_file = deltalog.adds_of(table, deltalog.open_snapshot(table).schema, files)
    deltalog.append(deltalog.open_snapshot(table), [first])
    with patch.dict(doctest_namespace, table=table, snapshot=deltalog.open_snapshot(table), new_file=new_file):
        yield


@pytest.fixture
def spark_of_examples(spark, doctest_namespace):
    with patch.dict(doctest_namespace, spark=spark):
        yield


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """No test finds what an earlier run kept, or leaves anything with the user."""
    with patch.dict(os.environ, {"PRUNE_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}):
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One local session for all tests; Java is one process, and a second start costs seconds."""
    from prune_assets.spark.spark_session import spark_session

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
                # As in Spark 4: 3.5 refuses old dates until it is told their calendar.
                "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
                "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
                "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
                "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
                "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch / 'derby'} {FOR_SHORT_JOBS}",
            },
        )
    yield session
    session.stop()
