"""Bounds by file as checkpoints of other writers hold them."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkpoint_writer import add_type, head, write_checkpoint
from log_writer import Log, add

from deltalog import inspect_snapshot
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from parquet_core.pruning.predicate import Compare, Op

FILES = 8
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def day(number):
    return START + dt.timedelta(days=number)


def on_day(snapshot, number, **time):
    literal = pa.scalar(day(number) + dt.timedelta(**time), snapshot.schema.leaves[0].type)
    return snapshot.paths(skip_files(snapshot, Compare(("ts",), Op.EQ, literal)).kept)


@pytest.fixture
def int96(tmp_path):
    """A table with INT96 bounds, also in a struct, with one file per day; only its checkpoint lists the files."""
    log = Log(tmp_path / "t")
    inner = {"type": "struct", "fields": [{"name": "ts", "type": "timestamp", "nullable": True, "metadata": {}}]}
    log.create([("ts", "timestamp"), ("s", inner)])
    actions = head(log)
    for number in range(FILES):
        low, high = ({"ts": time, "s": {"ts": time}} for time in (day(number), day(number) + dt.timedelta(hours=23)))
        action = add(f"{number}.parquet")
        nulls = {"ts": 0, "s": {"ts": 0}}
        action["add"]["stats_parsed"] = {"numRecords": 5, "minValues": low, "maxValues": high, "nullCount": nulls}
        actions.append(action)
    kind = pa.timestamp("us", "UTC")
    bounds = pa.struct([("ts", kind), ("s", pa.struct([("ts", kind)]))])
    nulls = pa.struct([("ts", pa.int64()), ("s", pa.struct([("ts", pa.int64())]))])
    parsed = pa.struct([("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds), ("nullCount", nulls)])
    file = log.place / f"{0:020d}.checkpoint.parquet"
    write_checkpoint(file, actions, add=add_type(parsed, stats=False), use_deprecated_int96_timestamps=True)
    schema = pq.read_metadata(file).schema
    physical = {schema.column(i).physical_type for i in range(len(schema)) if schema.column(i).name == "ts"}
    assert physical == {"INT96", "INT64"}, "bounds are INT96, counts are not"
    return open_snapshot(log.path)


def test_int96_bounds_of_a_checkpoint_leave_one_file_of_eight(int96):
    assert on_day(int96, 3, hours=5) == ["3.parquet"]
    literal = pa.scalar(day(5), int96.schema.leaves[1].type)
    assert int96.paths(skip_files(int96, Compare(("s", "ts"), Op.LT, literal)).kept) == [
        f"{number}.parquet" for number in range(5)
    ]
    assert [(column.bounds, column.why) for column in inspect_snapshot(int96).columns] == [(FILES, "")] * 2


def test_int96_bounds_hold_to_the_microsecond_that_spark_reads(int96):
    """Bounds are widened to whole milliseconds, as for every writer."""
    assert on_day(int96, 3, microseconds=-1) == []
    assert on_day(int96, 3) == on_day(int96, 3, hours=23) == ["3.parquet"]
    assert on_day(int96, 3, hours=23, milliseconds=1) == []
