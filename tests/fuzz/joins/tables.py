"""Tables of random joins: plain files of several writers, Delta tables with partitions, and CHAR columns."""

from __future__ import annotations

import json

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
from planner.tables import ROW, arrow_rows, random_table
from planner.writing import write

import deltalog

LAYOUTS = ["plain", "plain", "delta", "partitioned", "partitioned", "char"]


def write_random_table(draw, directory, spark):
    """Write a table; return its layout and the session's time zone. If `spark` is None, Spark writes no file."""
    layout = draw.choice(LAYOUTS)
    table = random_table(draw, by_spark=spark is not None)
    if layout == "plain":
        write(table, directory, spark)
    elif layout == "char":
        _with_char(draw, directory)
    else:
        _as_delta(draw, table, directory, partitioned=layout == "partitioned")
    return layout, table.zone


def _as_delta(draw, table, directory, *, partitioned):
    rows = arrow_rows(table)
    rows = rows.cast(pa.schema([pa.field(field.name, _of_delta(field.type)) for field in rows.schema]), safe=False)
    count = rows.num_rows
    parts = {
        "day": pa.array([8000 + row * 5 // count for row in range(count)], pa.int32()).cast(pa.date32()),
        "store": pa.array([None if row % 11 == 0 else row % 3 for row in range(count)], pa.int32()),
        "zone": pa.array([draw.choice(["a b", "\u00e9", "", "x"]) or None for _ in range(count)]),
        "at": pa.array([row * 4 // count * 86_400_000_000 for row in range(count)], pa.timestamp("us", "UTC")),
    }
    names = draw.sample(sorted(parts), draw.choice([1, 2])) if partitioned else []
    for name in names:
        rows = rows.append_column(name, parts[name])
    step = -(-count // draw.choice([1, 2, 4]))
    for start in range(0, count, step):
        # Copied: delta-rs refuses structs with an offset.
        part = rows.take(list(range(start, min(start + step, count))))
        deltalake.write_deltalake(str(directory), part, mode="append", partition_by=names or None)


def _of_delta(arrow_type):
    """Return the type in which Delta has values of a type."""
    if pa.types.is_struct(arrow_type):
        return pa.struct([pa.field(field.name, _of_delta(field.type)) for field in arrow_type])
    if pa.types.is_unsigned_integer(arrow_type):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.int64()}[arrow_type.bit_width]
    return pa.timestamp("us", arrow_type.tz) if pa.types.is_timestamp(arrow_type) else arrow_type


def _with_char(draw, directory):
    """Write a Delta table with a CHAR(4) column, whose values are padded in some files only."""
    directory.mkdir()
    field = {"name": "c", "type": "string", "nullable": True, "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}}
    others = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("n", ROW)]
    deltalog.create_table(directory, json.dumps({"type": "struct", "fields": [field, *others]}))
    files = []
    for i in range(4):
        width = draw.choice([0, 4])
        texts = [draw.choice(["ab", "b", "", "\u00e9", "abcd", None]) for _ in range(10)]
        numbers = range(i * 10, i * 10 + 10)
        padded = [None if text is None else text.ljust(width) for text in texts]
        pq.write_table(pa.table({"c": padded, "n": numbers, ROW: numbers}), directory / f"{i}.parquet")
        files.append(deltalog.NewFile(f"{i}.parquet"))
    snapshot = deltalog.open_snapshot(directory)
    deltalog.append(snapshot, deltalog.adds_of(str(directory), snapshot.schema, files))
