"""Tables written by delta-rs have the same state as in delta-rs, and skipping on them loses no row."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from row_truth import leaves, selected

from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from parquet_core.pruning.predicate import Not

deltalake = pytest.importorskip("deltalake")

ROWS = 40


@pytest.fixture(scope="module")
def rows():
    """Rows of every type, with nulls, NaN, blank and long strings."""
    numbers = range(ROWS)
    start = dt.datetime(2024, 1, 1, 12, 30, 15, 678_912, tzinfo=dt.UTC)
    times = pa.array([start + dt.timedelta(hours=i) for i in numbers], pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "part": pa.array([["a", "b c", "d/e%", "é", None, "z"][i % 6] for i in numbers]),
            "day": pa.array([dt.date(2024, 1, 1 + i % 3) for i in numbers]),
            "i": pa.array([None if i % 7 == 0 else i * 1000 for i in numbers], pa.int32()),
            "big": pa.array([(1 << 62) + i * 1_000_003 for i in numbers], pa.int64()),
            "d": pa.array([float("nan") if i % 9 == 0 else i / 7 for i in numbers]),
            "f": pa.array([i / 7 for i in numbers], pa.float32()),
            "dec": pa.array([Decimal(f"{12345678901234567890 + i}.{i:02d}") for i in numbers], pa.decimal128(24, 2)),
            "s": pa.array([None if i == 3 else "long" * (i % 30) + chr(97 + i % 26) for i in numbers]),
            "ts": times,
            "ntz": times.cast(pa.timestamp("us")),
            "flag": pa.array([i % 2 == 0 for i in numbers]),
            "raw": pa.array([bytes([i]) for i in numbers]),
        }
    )


@pytest.fixture(scope="module", params=["commits", "checkpoint"])
def table(request, rows, tmp_path_factory):
    """A table of seven versions, two partition columns, a delete and an optimize, with and without a checkpoint."""
    path = str(tmp_path_factory.mktemp("delta-rs") / "table")
    for i in range(5):
        some = rows.slice(i * 8, 8)
        deltalake.write_deltalake(path, some, mode="append", partition_by=["part", "day"] if i == 0 else None)
    written = deltalake.DeltaTable(path)
    written.delete("i = 16000")
    written.optimize.compact()
    if request.param == "checkpoint":
        written.create_checkpoint()
        deltalake.write_deltalake(path, rows.slice(0, 4), mode="append")
    return path


def test_every_version_has_the_files_that_delta_rs_lists(table):
    last = deltalake.DeltaTable(table).version()
    assert last >= 6
    for version in range(last + 1):
        theirs = deltalake.DeltaTable(table, version=version)
        mine = open_snapshot(table, version=version)
        added = pa.table(theirs.get_add_actions())
        assert sorted(mine.paths()) == sorted(unquote(path) for path in added["path"].to_pylist())
        assert mine.total_bytes == pc.sum(added["size_bytes"]).as_py()
        assert mine.metadata.id == str(theirs.metadata().id)
    assert mine.version == last


def test_properties_and_columns_are_those_of_delta_rs(table):
    mine, theirs = open_snapshot(table), deltalake.DeltaTable(table)
    assert [column.leaf.path[0] for column in mine.schema.columns] == [field.name for field in theirs.schema().fields]
    assert list(mine.schema.partition_columns) == theirs.metadata().partition_columns
    assert mine.protocol.min_reader_version == theirs.protocol().min_reader_version


def test_no_row_is_lost(table, rows):
    mine = open_snapshot(table)
    held = contents(table)
    skipped = 0
    for predicate in leaves(rows, mine.schema):
        kept = set(mine.paths(skip_files(mine, predicate).kept))
        for path, content in held.items():
            inner = predicate.child if isinstance(predicate, Not) else predicate
            if isinstance(predicate, Not):
                column = inner.column[0]
                wanted = content[column].null_count < len(content)
            else:
                wanted = selected(content, inner)
            assert path in kept or not wanted, (predicate, path)
        skipped += len(held) - len(kept)
    assert skipped > len(held) * 50


def contents(table):
    """Return the rows of each live file, read by delta-rs from the partition that it reports."""
    found = {}
    theirs = deltalake.DeltaTable(table)
    dataset = theirs.to_pyarrow_dataset()
    for fragment in dataset.get_fragments():
        found[fragment.path] = fragment.to_table(schema=dataset.schema)
    return found
