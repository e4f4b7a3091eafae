"""Zipped logs: from Spark's history server, packed by users, and damaged."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_lines import HEAD, LOGS, end, metrics, query, start

import prune_assets as pr
from parquet_core.errors import PruneError
from parquet_core.storage import put


class _Unseekable(io.RawIOBase):
    """Java's ZipOutputStream writes zips like this: sizes follow the data."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def zipped(members):
    made = _Unseekable()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.data


def ran(path):
    found = pr.Workload.read(path)
    assert found.problems == ()
    return {shape.shape: shape.runs for shape in found.shapes}


ROLLING = {
    "eventlog_v2_app-2/": b"",
    "eventlog_v2_app-2/appstatus_app-2": b"",
    "eventlog_v2_app-2/events_1_app-2": HEAD + start(0),
    "eventlog_v2_app-2/events_2_app-2": metrics(0) + end(0),
}
FORMS = {
    "single": ({"app-1": HEAD + query(0)}, 1),
    "attempts": ({"app-1_1": HEAD + query(0), "app-1_2.inprogress": HEAD + query(0)}, 2),
    "rolling": (ROLLING, 1),
    "delivered": ({"x/eventlog": metrics(0) + end(0), "x/eventlog-2024-01-01--10-00": HEAD + start(0)}, 1),
    "packed by hand": ({"__MACOSX/._app-1": b"x", "logs/app-1": HEAD + query(0), "logs/.DS_Store": b"x"}, 1),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_zip_is_read_as_the_folder_in_it(tmp_path, form):
    members, runs = FORMS[form]
    (tmp_path / "eventLogs-app.zip").write_bytes(zipped(members))
    assert ran(tmp_path / "eventLogs-app.zip") == ran(tmp_path) == {"k = ?": runs}


def test_logs_in_a_zip_are_compressed_or_not(tmp_path):
    (tmp_path / "logs.zip").write_bytes(zipped({path.name: path.read_bytes() for path in LOGS.glob("spark-*.zstd")}))
    found, plain = pr.Workload.read(tmp_path), pr.Workload.read(LOGS)
    assert found == plain
    assert len(found.shapes) > 10


def test_a_zip_in_a_store(s3):
    put(f"{s3}/spark/eventLogs-app-2.zip", zipped(ROLLING))
    assert ran(f"{s3}/spark") == {"k = ?": 1}


def test_what_is_no_log_in_a_zip_is_named_in_one_line(tmp_path):
    members = {"app-1": HEAD + query(0)} | {f"notes-{i}.txt": b"hello" for i in range(9)}
    (tmp_path / "a.zip").write_bytes(zipped(members))
    found = pr.Workload.read(tmp_path)
    assert sum(shape.runs for shape in found.shapes) == 1
    (problem,) = found.problems
    assert problem.startswith("9 files are not Spark event logs and are left out: ")
    assert "a.zip!/notes-0.txt" in problem


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"hello", zipped(ROLLING)[:200]])
def test_a_damaged_zip_is_one_line(tmp_path, data):
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(PruneError) as raised:
        pr.Workload.read(tmp_path / "a.zip")
    assert str(raised.value).startswith(f"{tmp_path}/a.zip: ")
    (tmp_path / "app-1").write_bytes(HEAD + query(0))
    found = pr.Workload.read(tmp_path)
    assert sum(shape.runs for shape in found.shapes) == 1
    assert len(found.problems) == 1


@given(st.data())
def test_damage_costs_no_more_than_a_line(tmp_path_factory, data):
    whole = bytearray(zipped({"app-1": HEAD + query(0)}))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "a.zip"
    path.write_bytes(bytes(whole))
    try:
        found = pr.Workload.read(path)
    except PruneError:
        return
    assert sum(shape.runs for shape in found.shapes) <= 1
