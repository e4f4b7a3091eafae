"""Plans of Delta tables: levels, versions, names, deleted rows and storage."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
from pathlib import Path
from uuid import uuid4

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from deltalog.errors import NoSuchVersion, NotADeltaTable
from deltalog.snapshot import write_cache
from parquet_core.errors import WrongUse
from parquet_core.pruning import prune
from parquet_core.pruning.predicate import And, In, InTuples
from prune_assets.tables.opening import open_as_written

PLAIN = {"minReaderVersion": 1, "minWriterVersion": 2}
MAPPED = {"minReaderVersion": 2, "minWriterVersion": 5}
VECTORS = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}


def field(name, kind, **metadata):
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def mapped(name, kind, physical, number):
    return field(name, kind, **{"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": number})


class Table:
    """A Delta table written by hand."""

    def __init__(self, path):
        self.path = path
        (path / "_delta_log").mkdir(parents=True)
        self.version = -1

    def commit(self, *actions):
        self.version += 1
        file = self.path / "_delta_log" / f"{self.version:020d}.json"
        file.write_text("".join(json.dumps(action) + "\n" for action in actions))

    def metadata(self, *fields, partitioned=(), **configuration):
        return {
            "metaData": {
                "id": "t",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": list(partitioned),
                "configuration": configuration,
            }
        }

    def add(self, name, columns, *, stats=None, partition=None, vector=None, ids=None):
        """Write a file of these columns; without `stats` the log tells none."""
        table = pa.table(columns)
        if ids is not None:
            numbered = [
                one.with_metadata({"PARQUET:field_id": str(number)})
                for one, number in zip(table.schema, ids, strict=True)
            ]
            table = table.cast(pa.schema(numbered))
        pq.write_table(table, self.path / name, row_group_size=10, write_page_index=True)
        action = {
            "path": name,
            "partitionValues": partition or {},
            "size": (self.path / name).stat().st_size,
            "modificationTime": 1,
            "dataChange": True,
        }
        if stats is not None:
            action["stats"] = json.dumps(stats)
        if vector is not None:
            action["deletionVector"] = vector
        return {"add": action}


@pytest.fixture
def table(tmp_path):
    return Table(tmp_path / "t")


def stats(low, high, rows=20, column="x"):
    return {"numRecords": rows, "minValues": {column: low}, "maxValues": {column: high}, "nullCount": {column: 0}}


@pytest.fixture
def partitioned(table):
    """Days 1 to 4, each with a file of twenty numbers, the last without statistics."""
    adds = [
        table.add(
            f"{day}.parquet",
            {"x": list(range(day * 20, day * 20 + 20))},
            stats=stats(day * 20, day * 20 + 19) if day < 4 else None,
            partition={"day": f"2024-01-0{day}"},
        )
        for day in (1, 2, 3, 4)
    ]
    table.commit(
        {"protocol": PLAIN}, table.metadata(field("x", "long"), field("day", "date"), partitioned=["day"]), *adds
    )
    return table


def levels(plan):
    return {level.level: level for level in plan.report.levels}


def names(plan):
    return [file.path.rpartition("/")[2] for file in plan.surviving_files]


def test_partition_values_come_first_then_statistics_then_footers_of_what_they_leave(partitioned):
    plan = pr.plan(partitioned.path, where="day <> DATE '2024-01-01' AND x BETWEEN 45 AND 55")
    found = levels(plan)
    assert [*found][:3] == ["partition_values", "delta_statistics", "row_group_statistics"]
    assert [(found[name].total.files, found[name].kept.files) for name in [*found][:3]] == [(4, 3), (3, 2), (2, 1)]
    assert [found[name].unit for name in [*found][:3]] == ["file", "file", "row group"]
    assert [found[name].status for name in [*found][:2]] == ["consulted", "consulted"]
    assert plan.report.table_snapshot.opened_files == 2
    assert names(plan) == ["2.parquet"]
    # Of files that were not opened the log tells rows and bytes, and nothing row groups.
    assert (found["partition_values"].total.rows, found["partition_values"].total.row_groups) == (80, None)
    assert (found["row_group_statistics"].total.rows, found["row_group_statistics"].total.row_groups) == (40, 4)
    reasons = {file.path.rpartition("/")[2]: file.row_groups[0].reason for file in plan.files}
    assert "'2024-01-01' in the log" in reasons["1.parquet"]
    assert "x in [60, 79], 0 nulls" in reasons["3.parquet"]


def test_tuples_of_a_partition_column_and_another_are_compared_together(table):
    """Each column alone keeps more than both together: files by the log, row groups of others by their footers."""
    adds = [
        table.add(
            f"{day}-{first:02}.parquet",
            {"k": list(range(first, first + 20))},
            stats=stats(first, first + 19, column="k") if first < 40 else None,
            partition={"day": f"2024-01-0{day}"},
        )
        for day in (1, 2, 3)
        for first in (0, 20, 40)
    ]
    table.commit(
        {"protocol": PLAIN}, table.metadata(field("k", "long"), field("day", "date"), partitioned=["day"]), *adds
    )
    tuples = [(1, 7), (1, 25), (2, 55), (3, 8)]
    day = pa.array([dt.date(2024, 1, day) for day, _ in tuples])
    k = pa.array([key for _, key in tuples])
    both = InTuples((("day",), ("k",)), (day, k))
    alone = And((In(("day",), day.unique()), In(("k",), k)))
    assert len(_survivors(table, alone)[0]) == 9
    files, row_groups = _survivors(table, both)
    assert files == ["1-00", "1-20", "1-40", "2-40", "3-00", "3-40"]
    assert row_groups == [("1-00", 0), ("1-20", 0), ("2-40", 1), ("3-00", 0)]


def _survivors(table, predicate):
    """Files that the log keeps, and row groups with rows to read."""
    opened = open_as_written(str(table.path))
    answers = opened.answers(predicate)
    index = opened.read(answers.left)
    stems = [Path(file.path).stem for file in index.groups.files]
    left = dict.fromkeys(prune(predicate, index, answers).access.ranges.row_group.tolist())
    groups = sorted((stems[index.groups.file[i]], int(index.groups.ordinal[i])) for i in left)
    return sorted(stems[i] for i in answers.kept.nonzero()[0]), groups


def test_the_report_survives_json_and_shows_the_version_in_every_form(partitioned):
    report = pr.plan(partitioned.path, where="x = 21").report
    assert json.loads(report.to_json())["table_snapshot"]["version"] == report.table_snapshot.version
    assert report.table_snapshot.format == "delta"
    commit = Path(partitioned.path, "_delta_log", f"{0:020}.json")
    committed = dt.datetime.fromtimestamp(commit.stat().st_mtime_ns // 1_000_000 / 1000, dt.UTC)
    assert dt.datetime.fromisoformat(report.table_snapshot.timestamp) == committed
    assert f"committed at {report.table_snapshot.timestamp}" in report.to_html()
    assert "Version    0: 4 files, 2 opened" in str(report)
    assert "Version 0: 4 files, 2 opened" in report.to_html()
    assert "File statistics" in report.to_html()


def test_a_file_that_does_not_tell_its_rows_says_so(partitioned):
    report = pr.plan(partitioned.path, where="day = DATE '2024-01-02'").report
    assert report.table_snapshot.unknown_rows == 1
    assert (report.total.rows, report.kept.rows) == (None, 20)
    assert "the metadata has no row count for 1 unopened file, so totals" in " ".join(str(report).split())


@pytest.mark.parametrize(
    ("where", "status", "why"),
    [
        ("day = DATE '2024-01-09'", "not_applicable", "partition values leave no file"),
        ("day > DATE '2024-01-01'", "not_applicable", "from statistics of files"),
        ("concat(x, day) = 'A'", "not_applicable", "from statistics of files"),
        ("x = 3 AND day = DATE '2024-01-04'", "absent", "no file has usable statistics for x; `prune inspect` gives"),
        ("x > 3", "consulted", "1 of 4 files have no usable statistics for x; `prune inspect` gives the reason"),
    ],
)
def test_the_level_of_the_log_says_whether_it_was_asked(partitioned, where, status, why):
    level = levels(pr.plan(partitioned.path, where=where))["delta_statistics"]
    assert level.status == status
    assert why in level.why


def test_a_predicate_that_contradicts_itself_opens_no_file(partitioned):
    plan = pr.plan(partitioned.path, where="x > 5 AND x < 3")
    assert plan.report.table_snapshot.opened_files == 0
    assert plan.report.kept.rows == 0


def test_columns_that_are_read_in_part_count_in_proportion(partitioned):
    report = pr.plan(partitioned.path, where="day = DATE '2024-01-02'", columns=["day"]).report
    assert report.table_snapshot.pro_rata
    assert report.total.bytes == 0


def test_removed_files_and_files_that_were_never_committed_are_not_read(partitioned):
    partitioned.commit({"remove": {"path": "2.parquet", "deletionTimestamp": 1, "dataChange": True}})
    shutil.copy(partitioned.path / "1.parquet", partitioned.path / "stray.parquet")
    assert names(pr.plan(partitioned.path, where="x >= 0")) == ["1.parquet", "3.parquet", "4.parquet"]


def test_an_older_version_by_number_and_by_time(partitioned):
    partitioned.commit({"remove": {"path": "2.parquet", "deletionTimestamp": 1, "dataChange": True}})
    first = partitioned.path / "_delta_log" / f"{0:020d}.json"
    os.utime(first, (1_700_000_000, 1_700_000_000))
    assert len(names(pr.plan(partitioned.path, where="x >= 0"))) == 3
    then = dt.datetime.fromtimestamp(1_700_000_100, dt.UTC)
    for chosen in (
        {"version": 0},
        {"timestamp": then},
        {"timestamp": then.isoformat()},
        {"timestamp": 1_700_000_000_000},
    ):
        plan = pr.plan(partitioned.path, where="x >= 0", **chosen)
        assert len(names(plan)) == 4
        assert plan.report.table_snapshot.version == 0
    with pytest.raises(NoSuchVersion):
        pr.plan(partitioned.path, where="x >= 0", version=7)
    with pytest.raises(WrongUse, match="not a valid time"):
        pr.plan(partitioned.path, where="x >= 0", timestamp="yesterday")
    with pytest.raises(WrongUse, match="has no zone"):
        pr.plan(partitioned.path, where="x >= 0", timestamp="2024-01-01")


@pytest.mark.parametrize("chosen", [{"version": 0}, {"timestamp": 0}])
def test_only_a_delta_table_has_versions(tmp_path, chosen):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    with pytest.raises(WrongUse, match="not a Delta table"):
        pr.plan(tmp_path, where="x = 1", **chosen)
    with pytest.raises(WrongUse, match="not a Delta table"):
        pr.plan([str(tmp_path / "a.parquet")], where="x = 1", **chosen)


def test_a_log_without_a_commit_is_no_plain_table(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(NotADeltaTable):
        pr.plan(tmp_path, where="x = 1")


def test_a_column_that_gets_the_name_of_another_is_not_taken_for_it(table):
    """Cached metadata of a column name must not be used for the column that has this name now."""
    add = table.add("f.parquet", {"p1": list(range(20)), "p2": list(range(1000, 1020))})
    mode = {"delta.columnMapping.mode": "name"}
    before = table.metadata(mapped("a", "long", "p1", 1), mapped("b", "long", "p2", 2), **mode)
    after = table.metadata(mapped("b", "long", "p1", 1), mapped("a", "long", "p2", 2), **mode)
    old = (1_600_000_000, 1_600_000_000)
    os.utime(table.path / "f.parquet", old)
    table.commit({"protocol": MAPPED}, before, add)
    assert pr.plan(table.path, where="a = 5").kept.rows.tolist() == [10, 0]
    assert pr.plan(table.path, where="a = 1005").report.kept.rows == 0
    table.commit(after)
    assert pr.plan(table.path, where="a = 5").report.kept.rows == 0
    assert pr.plan(table.path, where="a = 1005").kept.rows.tolist() == [10, 0]
    assert pr.plan(table.path, where="b = 5", version=1).kept.rows.tolist() == [10, 0]


def test_a_dropped_column_of_a_file_is_not_taken_for_a_new_one_of_its_name(table):
    add = table.add("f.parquet", {"a": list(range(20))})
    mode = {"delta.columnMapping.mode": "name"}
    table.commit({"protocol": MAPPED}, table.metadata(mapped("a", "long", "col-1", 2), **mode), add)
    # In the table, the column is null in all rows.
    assert pr.plan(table.path, where="a = 9").report.kept.rows == 0
    assert pr.plan(table.path, where="a IS NULL").report.kept.rows == 20


@pytest.mark.parametrize(("ids", "kept"), [([7], 10), ([8], 20), (None, 20)])
def test_where_columns_are_known_by_number_a_name_alone_proves_nothing(table, ids, kept):
    add = table.add("f.parquet", {"p": list(range(20))}, ids=ids)
    mode = {"delta.columnMapping.mode": "id"}
    table.commit({"protocol": MAPPED}, table.metadata(mapped("a", "long", "p", 7), **mode), add)
    assert pr.plan(table.path, where="a < 5").report.levels[2].kept.rows == kept


def test_rows_of_a_file_with_deleted_ones_are_never_told_to_match(table):
    # Row 3 of the first file, inline.
    vector = {"storageType": "i", "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    vector |= {"sizeInBytes": 40, "cardinality": 6}
    adds = [
        table.add("a.parquet", {"x": list(range(20))}, stats=stats(0, 19) | {"tightBounds": False}, vector=vector),
        table.add("b.parquet", {"x": list(range(20))}, stats=stats(0, 19)),
    ]
    table.commit({"protocol": VECTORS}, table.metadata(field("x", "long")), *adds)
    plan = pr.plan(table.path, where="x >= 0")
    matched = {file.path.rpartition("/")[2]: [group.matches for group in file.row_groups] for file in plan.files}
    assert matched == {"a.parquet": [(), ()], "b.parquet": [((0, 10),), ((0, 10),)]}
    delta = plan.report.table_snapshot
    assert (delta.files_with_deletes, delta.deleted_rows, delta.kept_deleted_rows) == (1, 6, 6)
    assert "row counts include 6 rows that deletion vectors of 1 file hide, 6 of them in files to read" in " ".join(
        str(plan.report).split()
    )


def test_a_widened_column_is_answered_from_the_log_and_from_older_footers(table):
    changes = [{"fromType": "integer", "toType": "long"}]
    adds = [
        table.add("old.parquet", {"x": pa.array(range(20), pa.int32())}, stats=stats(0, 19)),
        table.add("new.parquet", {"x": pa.array(range(100, 120), pa.int64())}, stats=stats(100, 119)),
    ]
    table.commit({"protocol": PLAIN}, table.metadata(field("x", "long", **{"delta.typeChanges": changes})), *adds)
    assert names(pr.plan(table.path, where="x > 50")) == ["new.parquet"]
    plan = pr.plan(table.path, where="x IN (3, 105)")
    kept = {file.path.rpartition("/")[2]: [group.verdict for group in file.row_groups] for file in plan.files}
    assert kept["old.parquet"] == ["scan", "skip"]
    assert kept["new.parquet"].count("skip") == 1


def test_a_table_in_a_store_is_planned_from_its_log(partitioned):
    store, place = fsspec.filesystem("memory"), f"/{uuid4()}/t"
    for file in partitioned.path.rglob("*"):
        if file.is_file():
            store.pipe(f"{place}/{file.relative_to(partitioned.path)}", file.read_bytes())
    store.pipe(f"{place}/stray.parquet", (partitioned.path / "1.parquet").read_bytes())
    plan = pr.plan(f"memory:/{place}", where="x BETWEEN 21 AND 25")
    assert names(plan) == ["1.parquet"]
    assert plan.report.table_snapshot.opened_files == 2


def test_a_missing_data_file_is_named(partitioned):
    (partitioned.path / "2.parquet").unlink()
    with pytest.raises(pr.PruneError, match=r"2\.parquet"):
        pr.plan(partitioned.path, where="x >= 0")
    assert names(pr.plan(partitioned.path, where="x < 25")) == ["1.parquet"]


@pytest.mark.spark
def test_a_column_of_spark_is_planned_as_its_text_is(spark, partitioned):
    from pyspark.sql import functions as fn

    where = (fn.col("x") > 44) & (fn.col("x") < 50) & (fn.col("day") >= fn.lit(dt.date(2024, 1, 2)))
    plan = pr.plan(partitioned.path, where=where, session=spark)
    assert names(plan) == ["2.parquet"]
    assert levels(plan)["partition_values"].status == "consulted"


def test_the_second_plan_reads_no_log(partitioned, tmp_path, monkeypatch):
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(write_cache, "_LEAST_BYTES", 0)
    for file in (partitioned.path / "_delta_log").iterdir():
        os.utime(file, (1_600_000_000, 1_600_000_000))
    where = "x >= 0"
    first = pr.plan(partitioned.path, where=where)
    assert first.report.kept == pr.plan(partitioned.path, where=where).report.kept
    second = pr.plan(partitioned.path, where=where)
    assert first.table.snapshot.opened != ()
    assert second.table.snapshot.opened == ()
    assert second.table.snapshot.traffic.bytes.get("log", 0) == 0
    assert [(file.path, file.verdict) for file in second.files] == [(file.path, file.verdict) for file in first.files]


@pytest.mark.parametrize("first", ["day = DATE '2030-01-01' AND x > 0", "x > 1000000", "x >= 0", "day IS NULL"])
def test_what_one_plan_keeps_on_disk_serves_every_other(partitioned, tmp_path, monkeypatch, first):
    """One that opens no file too: it has kept page indexes of no row group."""
    others = ["x > 44 AND x < 50", "day = DATE '2024-01-02' AND x < 50", "x >= 0"]
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "none"))
    wanted = [pr.plan(partitioned.path, where=where).report.kept for where in others]
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    assert pr.plan(partitioned.path, where=first).report.total.files > 0
    assert [pr.plan(partitioned.path, where=where).report.kept for where in others] == wanted
