"""Writers that create a table at the same time: each writes, or stops with a reason."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import put_files

import deltalog
from deltalog.errors import ConcurrentAppend, MetadataChanged, TableExists, UnsupportedTable
from deltalog.transaction.create_with_files import create_with_files

WRITERS, ROUNDS = 8, 20
SCHEMA = pa.schema({"day": pa.date32(), "id": pa.int64()})


def day_of(number):
    return dt.date(2024, 1, 1 + number)


def rows(number, schema=SCHEMA):
    return pa.table({"day": [day_of(number)] * 3, "id": [10 * number + i for i in range(3)]}, schema=schema)


def write(place, data, *, mode, partition_by=(), created=lambda: None):
    """Write where there is no table yet; `created` runs between the check of the place and the commit."""
    schema = deltalog.check_create(place, data.schema, partition_by=partition_by)
    files = put_files(place, data, schema)
    created()
    try:
        return create_with_files(str(place), schema, files, mode=mode)
    except deltalog.DeltaError:
        for file in files:
            (place / file.path).unlink()
        raise


def write_together(place, data, **options):
    """Start writers at the same time, and return the result or error of each."""
    together = Barrier(len(data), timeout=60)

    def one(some):
        try:
            return write(place, some, created=together.wait, **options)
        except deltalog.DeltaError as error:
            return error

    with ThreadPoolExecutor(len(data)) as pool:
        return list(pool.map(one, data))


def lose_to(place, created, data, **options):
    """Write after another writer has created the table that this writer found missing."""
    return write(place, data, created=created, **options)


def ids(place):
    paths = [place / path for path in deltalog.open_snapshot(place).paths()]
    return sorted(pa.concat_tables([pq.read_table(path, columns=["id"]) for path in paths])["id"].to_pylist())


def data_files(place):
    return {path.relative_to(place).as_posix() for path in place.rglob("*.parquet") if "_delta_log" not in path.parts}


@pytest.mark.parametrize("mode", ["replace_partitions", pytest.param("append", marks=pytest.mark.deep)])
def test_all_of_those_that_begin_together_write_their_rows(tmp_path, mode):
    for number in range(ROUNDS):
        place = tmp_path / str(number)
        done = write_together(place, [rows(i) for i in range(WRITERS)], mode=mode, partition_by=["day"])
        assert sorted(one.version for one in done) == list(range(WRITERS))
        assert ids(place) == sorted(10 * i + j for i in range(WRITERS) for j in range(3))
        assert data_files(place) == set(deltalog.open_snapshot(place).paths())


@pytest.mark.parametrize(("mode", "error"), [("overwrite", ConcurrentAppend), ("error", TableExists)])
def test_one_wins_where_each_wants_the_table_for_itself(tmp_path, mode, error):
    for number in range(3):
        place = tmp_path / str(number)
        done = write_together(place, [rows(i) for i in range(WRITERS)], mode=mode)
        (winner,) = (i for i, one in enumerate(done) if not isinstance(one, Exception))
        assert {type(one) for i, one in enumerate(done) if i != winner} == {error}
        assert all("\n" not in str(one) for one in done)
        assert ids(place) == [10 * winner + j for j in range(3)]
        assert data_files(place) == set(deltalog.open_snapshot(place).paths())


def test_two_writers_of_one_partition_are_told_so(tmp_path):
    done = write_together(tmp_path, [rows(1), rows(1)], mode="replace_partitions", partition_by=["day"])
    (error,) = (one for one in done if isinstance(one, Exception))
    assert isinstance(error, ConcurrentAppend)
    assert "created the table meanwhile and wrote the partition day=2024-01-02 too" in str(error)
    assert ids(tmp_path) == [10, 11, 12]


def test_an_overwrite_goes_on_where_the_other_wrote_no_rows(tmp_path):
    done = lose_to(tmp_path, lambda: deltalog.create_table(tmp_path, SCHEMA), rows(1), mode="overwrite")
    assert (done.version, ids(tmp_path)) == (1, [10, 11, 12])


def with_columns(*fields):
    return pa.schema([pa.field("day", pa.date32()), *fields])


OTHERS = {
    "another type": ({"schema": with_columns(pa.field("id", pa.int32()))}, "column id is integer and not long as here"),
    "a column more": (
        {"schema": with_columns(pa.field("id", pa.int64()), pa.field("x", pa.int64()))},
        "has the column x, which",
    ),
    "a column less": ({"schema": with_columns()}, "lacks the column id"),
    "another case": ({"schema": with_columns(pa.field("ID", pa.int64()))}, "has the column ID, which"),
    "no nulls": ({"schema": with_columns(pa.field("id", pa.int64(), nullable=False))}, "column id is NOT NULL"),
    "another partition": ({"schema": SCHEMA, "partition_by": ["id"]}, "partitioned by id, and the rows"),
    "no partition": ({"schema": SCHEMA, "partition_by": []}, "partitioned by nothing"),
    "mapped": ({"schema": None}, "columnMapping"),
}
MAPPED = (
    '{"type":"struct","fields":[{"name":"day","type":"date","nullable":true,"metadata":{"delta.columnMapping.id":1,'
    '"delta.columnMapping.physicalName":"d"}},{"name":"id","type":"long","nullable":true,"metadata":'
    '{"delta.columnMapping.id":2,"delta.columnMapping.physicalName":"i"}}]}'
)
MAPPING = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}


@pytest.mark.parametrize("other", OTHERS)
def test_files_of_another_shape_give_way(tmp_path, other):
    asked, said = OTHERS[other]
    partition_by = asked.get("partition_by", ["day"] if other != "a column less" else [])

    def created():
        schema, properties = (asked["schema"], None) if asked["schema"] is not None else (MAPPED, MAPPING)
        deltalog.create_table(tmp_path, schema, partition_by=partition_by, properties=properties)

    mine = ["day"] if other != "a column less" else []
    with pytest.raises(MetadataChanged, match=said) as raised:
        lose_to(tmp_path, created, rows(1), mode="append", partition_by=mine)
    assert "\n" not in str(raised.value)
    assert "write again" in str(raised.value)
    assert (deltalog.open_snapshot(tmp_path).version, data_files(tmp_path)) == (0, set())


def test_looser_columns_in_another_order_with_comments_fit(tmp_path):
    theirs = (
        '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{"comment":"a number"}},'
        '{"name":"day","type":"date","nullable":true,"metadata":{}}]}'
    )
    mine = pa.schema([pa.field("day", pa.date32(), nullable=False), pa.field("id", pa.int64(), nullable=False)])
    done = lose_to(tmp_path, lambda: deltalog.create_table(tmp_path, theirs), rows(1, mine), mode="append")
    assert (done.version, ids(tmp_path)) == (1, [10, 11, 12])


def test_a_table_with_demands_on_its_rows_refuses_those_that_were_not_held_to_them(tmp_path):
    def created():
        deltalog.create_table(tmp_path, SCHEMA, properties={"delta.constraints.some": "id > 0"})

    with pytest.raises(UnsupportedTable, match="checkConstraints"):
        lose_to(tmp_path, created, rows(1), mode="append")
    assert data_files(tmp_path) == set()


def test_a_version_that_comes_between_is_raced_for(tmp_path):
    def created():
        for i in range(3):
            write(tmp_path, rows(i), mode="append", partition_by=["day"])

    done = lose_to(tmp_path, created, rows(5), mode="replace_partitions", partition_by=["day"])
    assert (done.version, len(ids(tmp_path))) == (3, 12)
