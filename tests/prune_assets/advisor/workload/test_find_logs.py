from __future__ import annotations

import gzip

import pytest
from log_lines import HEAD, end, metrics, query, start

import prune_assets as pr
from parquet_core.errors import TableNotFound, WrongUse
from parquet_core.storage import put
from prune_assets.advisor.workload.event_logs import find_logs as find_logs_module
from prune_assets.advisor.workload.event_logs.find_logs import find_logs


def make(tmp_path, *names):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("{")


def logs(path):
    return [
        (log.path.rpartition("/")[2], [file.path.rpartition("/")[2] for file in log.files], log.is_finished)
        for log in find_logs([str(path)])
    ]


def test_single_files_and_folders_of_a_directory(tmp_path):
    folder = "eventlog_v2_app-2"
    make(tmp_path, "app-1", ".app-1.crc", "app-3.zstd.inprogress", f"{folder}/appstatus_app-2.inprogress")
    make(tmp_path, *(f"{folder}/events_{number}_app-2.zstd" for number in (10, 9, 2)))
    expected = (folder, [f"events_{number}_app-2.zstd" for number in (2, 9, 10)], False)
    single = [("app-1", ["app-1"], True), ("app-3.zstd.inprogress", ["app-3.zstd.inprogress"], False)]
    assert logs(tmp_path) == [*single, expected]
    assert logs(tmp_path / folder) == [expected]
    assert logs(tmp_path / "app-1") == single[:1]


def test_a_compacted_file_stands_for_those_before_it(tmp_path):
    folder = "eventlog_v2_app-2"
    make(tmp_path, f"{folder}/appstatus_app-2", *(f"{folder}/events_{number}_app-2" for number in (1, 2, 3, 4)))
    make(tmp_path, f"{folder}/events_3_app-2.compact")
    assert logs(tmp_path) == [(folder, ["events_3_app-2.compact", "events_4_app-2"], True)]


def test_parts_of_a_rolling_log_are_one_log_wherever_they_lie(tmp_path):
    """As `aws s3 cp --recursive` leaves them, or named one by one."""
    names = [f"events_{number}_app-{app}.zstd" for app in (1, 2) for number in (10, 9)]
    make(tmp_path, *names, "appstatus_app-2.inprogress")
    expected = [("app-1", [names[1], names[0]], True), ("app-2", [names[3], names[2]], False)]
    assert logs(tmp_path) == expected
    named = find_logs([str(tmp_path / name) for name in names[:2]])
    assert [log.path.rpartition("/")[2] for log in named] == ["app-1"]
    folder = tmp_path / "eventlog_v2_app-3"
    make(folder, "events_1_app-3", "events_2_app-3")
    (log,) = find_logs([str(folder / "events_1_app-3"), str(folder / "events_2_app-3")])
    assert (log.path, len(log.files)) == (str(folder), 2)


DELIVERED = ["eventlog", "eventlog-2024-01-01--10-00.gz", "eventlog-2023-12-31--23-00.gz"]


def test_what_databricks_delivers_is_one_log_for_each_context(tmp_path):
    cluster = "0101-1200-abc"
    for context in ("1234", "5678"):
        make(tmp_path / cluster / "eventlog" / f"{cluster}_10_0_0_1" / context, *DELIVERED)
    make(tmp_path / cluster / "driver", "stdout", "stderr", "log4j-active.log", "log4j-2024-01-01-10.log.gz")
    make(tmp_path / cluster / "init_scripts", "setup")
    expected = [("eventlog", [DELIVERED[2], DELIVERED[1], DELIVERED[0]], False)] * 2
    for place in (tmp_path, tmp_path / cluster, tmp_path / cluster / "eventlog"):
        assert logs(place) == expected
    folder = tmp_path / cluster / "eventlog" / f"{cluster}_10_0_0_1" / "1234"
    assert logs(folder) == logs(f"{folder}/") == expected[:1]
    (log,) = find_logs([f"{folder}/{name}" for name in DELIVERED])
    assert [file.path.rpartition("/")[2] for file in log.files] == expected[0][1]


def test_folders_beside_one_that_is_named_eventlog_are_searched_too(tmp_path):
    make(tmp_path, "eventlog/app-1", "more/app-2", "driver/stdout")
    assert [log[0] for log in logs(tmp_path)] == ["app-1", "app-2"]


def test_folders_below_are_searched_for_files_that_may_be_logs(tmp_path):
    names = ["app-1.zstd", "application_17_0001_1.lz4", "spark-1.inprogress", "eventlog_v2_a/events_1_a"]
    others = ["part-0.parquet", "a.csv", "stderr", "_delta_log/00.json", ".hidden/app-2", "_SUCCESS"]
    make(tmp_path / "2024" / "01" / "31", *names, *others)
    make(tmp_path, "top.json")
    found = [log[0] for log in logs(tmp_path)]
    assert found == ["top.json", "app-1.zstd", "application_17_0001_1.lz4", "spark-1.inprogress", "eventlog_v2_a"]


def test_a_folder_that_has_two_names_is_read_once(tmp_path):
    make(tmp_path / "2024", "app-1", "eventlog_v2_a/events_1_a")
    (tmp_path / "latest").symlink_to(tmp_path / "2024")
    (tmp_path / "2024" / "loop").symlink_to(tmp_path)
    assert [log[0] for log in logs(tmp_path)] == ["app-1", "eventlog_v2_a"]


def test_a_pattern_names_files_and_folders(tmp_path):
    make(tmp_path / "logs", "app-1", "app-2", "driver.log")
    make(tmp_path / "logs" / "app-folder", "app-3")
    assert [log[0] for log in logs(tmp_path / "logs" / "app-*")] == ["app-3", "app-1", "app-2"]
    with pytest.raises(TableNotFound, match="no event log in this folder"):
        find_logs([str(tmp_path / "logs" / "x*")])


def test_a_path_that_databricks_alone_reads_says_how_to_copy_it():
    with pytest.raises(WrongUse, match=r"^dbfs:/logs/0101-abc: .*`databricks fs cp -r dbfs:/logs/0101-abc logs`"):
        find_logs(["dbfs:/logs/0101-abc/"])


def test_too_many_folders_are_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(find_logs_module, "_MOST_FOLDERS", 2)
    make(tmp_path / "a", "x.parquet")
    make(tmp_path / "b", "x.parquet")
    with pytest.raises(WrongUse, match=r"more than 2 folders; name the folder of the event logs$"):
        find_logs([str(tmp_path)])


def test_nothing_there_is_said(tmp_path):
    with pytest.raises(TableNotFound, match="no event log in this folder"):
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
    found = pr.Workload.read(f"{s3}/spark-events")
    assert [(shape.shape, shape.runs, shape.totals.rows_read) for shape in found.shapes] == [("k = ?", 3.0, 300)]
    assert not found.not_understood
    assert not found.problems


def test_what_databricks_delivers_into_a_store(s3):
    """The query begins in a part that is over, and ends in the current one."""
    place = f"{s3}/cluster-logs/0101-abc/eventlog/0101-abc_10_0_0_1/1234"
    put(f"{place}/eventlog-2024-01-01--10-00.gz", gzip.compress(HEAD) + gzip.compress(query(0) + start(1)))
    put(f"{place}/eventlog", metrics(1) + end(1))
    put(f"{s3}/cluster-logs/0101-abc/driver/stdout", b"hello")
    for path in (f"{s3}/cluster-logs/", f"{s3}/cluster-logs/0101-*", place):
        found = pr.Workload.read(path)
        assert [(shape.shape, shape.runs, shape.totals.rows_read) for shape in found.shapes] == [("k = ?", 2.0, 200)]
        assert found.shapes[0].applications == ("nightly",)
        assert (found.not_understood, found.problems) == ({}, ())


def test_a_part_without_those_before_it_says_what_is_missing(tmp_path):
    (tmp_path / "eventlog").write_bytes(metrics(0) + end(0) + query(1))
    found = pr.Workload.read(tmp_path / "eventlog")
    assert sum(shape.runs for shape in found.shapes) == 1
    assert found.not_understood == {"a query whose start is not in the log": 1}


def test_a_cursor_goes_on_in_a_log_that_databricks_rolls(tmp_path):
    cursor, log = tmp_path / "cursor.json", tmp_path / "log"
    log.mkdir()
    (log / "eventlog").write_bytes(HEAD + query(0) + start(1))

    def runs():
        return sum(shape.runs for shape in pr.Workload.read(log, cursor=cursor).shapes)

    assert (runs(), runs()) == (1, 0)
    (log / "eventlog-2024-01-01--10-00.gz").write_bytes(gzip.compress(HEAD + query(0) + start(1)))
    (log / "eventlog").write_bytes(metrics(1) + end(1) + query(2))
    assert (runs(), runs()) == (2, 0)


def test_a_damaged_part_that_is_over_is_told(tmp_path):
    whole = gzip.compress(HEAD + query(0))
    (tmp_path / "eventlog-2024-01-01--10-00.gz").write_bytes(whole[:-20])
    (tmp_path / "eventlog").write_bytes(query(1))
    (problem,) = pr.Workload.read(tmp_path).problems
    assert problem.endswith("eventlog-2024-01-01--10-00.gz: the file is truncated; the events before the end were read")
