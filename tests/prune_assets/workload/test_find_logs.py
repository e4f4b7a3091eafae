from __future__ import annotations

import pytest
from log_lines import HEAD, end, metrics, query, start

import prune_assets as pr
from parquet_core.errors import TableNotFound
from parquet_core.storage import put
from prune_assets.workload.event_logs.find_logs import find_logs


def make(tmp_path, *names):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{")


def logs(path):
    return [
        (log.path.rpartition("/")[2], [file.path.rpartition("/")[2] for file in log.files], log.is_finished)
        for log in find_logs([str(path)])
    ]


def test_single_files_and_folders_of_a_directory(tmp_path):
    folder = "eventlog_v2_app-2"
    make(tmp_path, "app-1", ".app-1.crc", "app-3.zstd.inprogress", f"{folder}/appstatus_app-2.inprogress")
    make(tmp_path, *(f"{folder}/events_{number}_app-2.zstd" for number in (10, 9, 2)), "other/file")
    expected = (folder, [f"events_{number}_app-2.zstd" for number in (2, 9, 10)], False)
    single = [("app-1", ["app-1"], True), ("app-3.zstd.inprogress", ["app-3.zstd.inprogress"], False)]
    assert logs(tmp_path) == [expected, *single]
    assert logs(tmp_path / folder) == [expected]
    assert logs(tmp_path / "app-1") == single[:1]


def test_a_compacted_file_stands_for_those_before_it(tmp_path):
    folder = "eventlog_v2_app-2"
    make(tmp_path, f"{folder}/appstatus_app-2", *(f"{folder}/events_{number}_app-2" for number in (1, 2, 3, 4)))
    make(tmp_path, f"{folder}/events_3_app-2.compact")
    assert logs(tmp_path) == [(folder, ["events_3_app-2.compact", "events_4_app-2"], True)]


def test_nothing_there_is_said(tmp_path):
    with pytest.raises(TableNotFound, match="no event log there"):
        find_logs([str(tmp_path)])


def test_a_log_that_is_named_twice_is_one(tmp_path):
    make(tmp_path, "app-1")
    assert len(find_logs([str(tmp_path), str(tmp_path / "app-1")])) == 1


def test_logs_in_a_store(s3):
    rolled = f"{s3}/spark-events/eventlog_v2_app-2"
    put(f"{s3}/spark-events/app-1", HEAD + query())
    put(f"{rolled}/events_1_app-2", HEAD + start(0))
    put(f"{rolled}/events_2_app-2", metrics(0) + end(0) + query(1))
    put(f"{rolled}/appstatus_app-2", b"")
    found = pr.workload(f"{s3}/spark-events")
    assert [(shape.shape, shape.runs, shape.totals.rows_read) for shape in found.shapes] == [("k = ?", 3.0, 300)]
    assert not found.not_understood
    assert not found.problems
