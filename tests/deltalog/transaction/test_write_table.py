"""Arrow data written in one call: other readers find the same rows, and what does not fit leaves nothing."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltalog
import prune_assets as pr
from deltalog.errors import RefusedCommit, TableExists, UnsupportedTable
from deltalog.log.actions import Transaction
from deltalog.table.constraints import Constraint, constraints_of

deltalake = pytest.importorskip("deltalake")

ROWS = pa.table(
    {
        "id": pa.array(range(6), pa.int64()),
        "name": ["a", None, "c", "d", "é/ =%", "f"],
        "at": pa.array([dt.datetime(2024, 1, day, 12, 30, 15, 123456, dt.UTC) for day in (1, 1, 2, 2, 3, 3)]),
        "day": pa.array([dt.date(2024, 1, day) for day in (1, 1, 2, 2, 3, 3)]),
        "price": pa.array([Decimal(f"{i}.50") for i in range(6)], pa.decimal128(9, 2)),
        "ratio": pa.array([0.1, float("inf"), 1.5, None, -2.0, 1e20], pa.float32()),
        "yes": [True, False, None, True, False, True],
        "inner": pa.array([{"a": i, "b": [f"{i}"]} for i in range(6)]),
        "local": pa.array([1_704_067_200_000_000 + i for i in range(6)], pa.timestamp("us")),
    }
)


def sorted_rows(table):
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def by_delta_rs(place):
    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(place)))
    return sorted_rows(pa.table(query.execute("SELECT * FROM t").read_all()))


def data_files(place):
    return {path for path in place.rglob("*") if path.is_file() and "_delta_log" not in path.parts}


@pytest.mark.parametrize("by", [[], ["day"], ["name"], ["yes", "price"], ["ratio"], ["at"], ["local"]], ids="+".join)
def test_other_readers_find_the_rows_that_were_written(tmp_path, by):
    place = tmp_path / "t"
    deltalog.write_table(place, ROWS, partition_by=by)
    assert by_delta_rs(place) == sorted_rows(ROWS)
    deltalog.write_table(place, ROWS.slice(0, 2), mode="append")
    assert len(by_delta_rs(place)) == 8
    deltalog.write_table(place, ROWS.slice(2, 2), mode="overwrite")
    assert by_delta_rs(place) == sorted_rows(ROWS.slice(2, 2))


def test_files_are_skipped_by_what_was_written(tmp_path):
    deltalog.write_table(tmp_path, ROWS, partition_by=["day"])
    for where, files in (("day = DATE '2024-01-02'", 1), ("id < 1", 1), ("name = 'd'", 1), ("ratio < -1", 1)):
        planned = pr.plan(tmp_path, where=where)
        assert planned.report.table_snapshot.opened_files == len(planned.surviving_files) == files, where


def test_a_reader_is_written_some_rows_at_a_time(tmp_path):
    batches = pa.Table.from_batches(ROWS.to_batches(max_chunksize=1)).to_reader(max_chunksize=2)
    deltalog.write_table(tmp_path, batches, rows_a_file=4)
    assert deltalog.open_snapshot(tmp_path).file_count == 2
    assert by_delta_rs(tmp_path) == sorted_rows(ROWS)


def test_replacing_partitions_leaves_the_others(tmp_path):
    deltalog.write_table(tmp_path, ROWS, partition_by=["day"])
    deltalog.write_table(tmp_path, ROWS.slice(2, 1), mode="replace_partitions")
    assert [row["id"] for row in by_delta_rs(tmp_path)] == [0, 1, 2, 4, 5]


def test_names_of_column_mapping_are_written(tmp_path):
    fields = [mapped("day", "date", 1), mapped("x", "long", 2)]
    struct = {"type": "struct", "fields": [mapped("a", "integer", 4)]}
    fields.append(mapped("s", struct, 3))
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    schema = json.dumps({"type": "struct", "fields": fields})
    deltalog.create_table(tmp_path, schema, partition_by=["day"], properties=properties)
    inner = pa.array([{"a": 1}, None], pa.struct({"a": pa.int32()}))
    rows = pa.table({"x": [1, 2], "day": [dt.date(2024, 1, 1), None], "s": inner})
    deltalog.write_table(tmp_path, rows, mode="append")
    snapshot = deltalog.open_snapshot(tmp_path)
    (first, *_) = snapshot.paths()
    stored = pq.read_schema(tmp_path / first)
    assert stored.names == ["c2", "c3"]
    assert stored.field("c3").type.field(0).name == "c4"
    found = pl_rows(tmp_path)
    assert sorted(found, key=lambda row: row["x"]) == rows.select(["day", "x", "s"]).to_pylist()


def mapped(name, kind, number):
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c{number}"}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def pl_rows(place):
    return pytest.importorskip("polars_deltalake").scan_delta(str(place)).collect().to_arrow().to_pylist()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (pa.table({"id": [1], "other": [1]}), "no one column other"),
        (pa.table({"id": ["1"], "n": [1]}), "column id is int64 and not string"),
        (pa.table({"id": pa.array([1], pa.int32()), "n": [1]}), "cast it"),
        (pa.table({"n": [1]}), "column id must not be null; give its values"),
        (pa.table({"id": [1, None], "n": [1, 2]}), "column id must not be null, and 1 of its values are"),
        (pa.table({"id": [1], "n": [1], "at": pa.array([1], pa.timestamp("ns", "UTC"))}), "column at holds what"),
        (pa.table({"id": [1], "p": [""]}), "null to some readers"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_left(tmp_path, rows, words):
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("n", pa.int64()),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("p", pa.string()),
        ]
    )
    deltalog.create_table(tmp_path, schema, partition_by=["p"])
    with pytest.raises(RefusedCommit, match=words):
        deltalog.write_table(tmp_path, rows, mode="append")
    assert not data_files(tmp_path)
    assert deltalog.open_snapshot(tmp_path).version == 0


def test_columns_that_may_be_null_need_not_be_there(tmp_path):
    deltalog.create_table(tmp_path, ROWS.schema)
    deltalog.write_table(tmp_path, ROWS.select(["name", "id"]), mode="append")
    assert [(row["id"], row["day"]) for row in by_delta_rs(tmp_path)] == [(i, None) for i in range(6)]


@pytest.mark.parametrize(
    ("metadata", "properties", "feature"),
    [
        ({}, {"delta.constraints.positive": "x > 0"}, "checkConstraints: that rows obey positive"),
        ({"delta.generationExpression": "1"}, {}, "generatedColumns: what column x"),
        ({"delta.identity.start": 1, "delta.identity.step": 1}, {}, "identityColumns: what column x"),
        ({"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}, {}, "column x has a length"),
    ],
)
def test_what_would_have_to_be_checked_is_refused_by_its_name(tmp_path, metadata, properties, feature):
    field = {"name": "x", "type": "long", "nullable": True, "metadata": metadata}
    deltalog.create_table(tmp_path, json.dumps({"type": "struct", "fields": [field]}), properties=properties)
    with pytest.raises(UnsupportedTable, match=feature):
        deltalog.write_table(tmp_path, pa.table({"x": [1]}), mode="append")
    assert not data_files(tmp_path)


def test_a_table_that_is_there_is_left_alone_unless_a_mode_says_more(tmp_path):
    deltalog.write_table(tmp_path, ROWS)
    with pytest.raises(TableExists):
        deltalog.write_table(tmp_path, ROWS)
    with pytest.raises(RefusedCommit, match="partitioned by nothing"):
        deltalog.write_table(tmp_path, ROWS, mode="append", partition_by=["day"])
    with pytest.raises(RefusedCommit, match="does not change properties"):
        deltalog.write_table(tmp_path, ROWS, mode="append", properties={"a": "b"})
    assert len(data_files(tmp_path)) == 1


def test_what_an_application_has_written_before_is_not_written_again(tmp_path):
    for version in (1, 1, 2):
        deltalog.write_table(tmp_path, ROWS, mode="append", txn=Transaction("app", version))
    assert len(by_delta_rs(tmp_path)) == 12
    assert len(data_files(tmp_path)) == 2


def test_tables_in_a_store_are_written(s3):
    place = f"{s3}/t"
    deltalog.write_table(place, ROWS, partition_by=["day"])
    deltalog.write_table(place, ROWS, mode="append")
    planned = pr.plan(place, where="day = DATE '2024-01-01'")
    assert len(planned.surviving_files) == 2
    with pytest.raises(RefusedCommit, match="no one column"):
        deltalog.write_table(place, ROWS.append_column("z", ROWS["id"]), mode="append")


def test_rows_that_were_held_to_constraints_are_appended_and_to_these_alone(tmp_path):
    deltalog.create_table(tmp_path, pa.schema({"x": pa.int64()}), properties={"delta.constraints.positive": "x > 0"})
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    snapshot = deltalog.open_snapshot(tmp_path)
    adds = deltalog.adds_of(str(tmp_path), snapshot.schema, [deltalog.NewFile("a.parquet")])
    for obeys in ((), [Constraint("checkConstraints", "positive", "x > -1")]):
        with pytest.raises(UnsupportedTable, match="checkConstraints"):
            deltalog.append(snapshot, adds, obeys=obeys)
    deltalog.append(snapshot, adds, obeys=list(constraints_of(snapshot.properties, [])))
    assert len(deltalake.DeltaTable(str(tmp_path)).file_uris()) == 1
