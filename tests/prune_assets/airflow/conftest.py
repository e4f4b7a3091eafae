from __future__ import annotations

import logging
from contextlib import suppress
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# A process of its own imports it.
collect_ignore = ["airflow_with_iceberg.py"]
handlers, level = logging.root.handlers[:], logging.root.level
with suppress(ImportError):
    import airflow.sdk  # noqa: F401 - each test module skips itself where this fails
# Airflow replaces all logging when it is imported; the other tests of this process keep theirs.
logging.root.handlers[:] = handlers
logging.root.setLevel(level)


class TaskInstance(SimpleNamespace):
    """The parts of a task instance that operators use: its name and XComs."""

    def __init__(self) -> None:
        super().__init__(dag_id="dag", run_id="manual__1", task_id="task", map_index=-1, xcoms={})

    def xcom_push(self, key, value):
        self.xcoms[key] = value


@pytest.fixture
def context():
    from airflow.sdk.execution_time.context import OutletEventAccessors

    return {
        "ti": TaskInstance(),
        "outlet_events": OutletEventAccessors(),
        "dag_run": SimpleNamespace(partition_key=None),
    }


def put(directory, name, ids):
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table({"id": list(ids)}), directory / f"{name}.parquet", row_group_size=100, write_page_index=True
    )


@pytest.fixture(name="put")
def put_files():
    return put


@pytest.fixture
def ids(tmp_path):
    """A table in order: 1,000 rows, 10 row groups."""
    put(tmp_path / "ids", "part-0", range(1000))
    return tmp_path / "ids"


@pytest.fixture
def broken(tmp_path):
    """A table of two files that overlap, one of them out of order."""
    put(tmp_path / "broken", "part-0", range(1000))
    put(tmp_path / "broken", "part-1", reversed(range(1000)))
    return tmp_path / "broken"


@pytest.fixture
def logged():
    """Captures logs as pairs of level and line; Airflow's logging bypasses pytest's."""
    from structlog.testing import capture_logs

    with capture_logs() as entries:
        yield lambda: [
            (
                entry["log_level"],
                entry["event"] % entry.get("positional_args", ()) if entry.get("positional_args") else entry["event"],
            )
            for entry in entries
            if "Task Runner" not in entry["event"]
        ]
