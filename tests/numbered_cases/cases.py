"""Helpers for the numbered cases: Spark's answer for every row, and files with edited metadata."""

from __future__ import annotations

import struct
from urllib.parse import unquote, urlsplit

import slow_thrift
from slow_thrift import BINARY, STRUCT

import prune_assets as pr
from prune_assets.planner.explain.plan import plan
from tests.prune_assets.planner.named_rows import named_rows

# Slots of parquet.thrift.
COLUMN_ORDERS, CREATED_BY, ROW_GROUPS, SCHEMA = 7, 6, 4, 2
META, STATISTICS = 3, 12
OLD_MAX, OLD_MIN, NULL_COUNT, MAX, MIN = 1, 2, 3, 5, 6


def selected_by_spark(spark, table, where):
    """Evaluate a predicate as a column, where nothing is pushed down: {(file, row)}."""
    column = f"coalesce(({where}), false) AS answer"
    rows = spark.read.parquet(str(table)).selectExpr("_metadata.file_path", "_metadata.row_index", column).collect()
    return {(unquote(urlsplit(row[0]).path), row[1]) for row in rows if row[2]}


def check(spark, table, where):
    """Compare plan and read with Spark's answer; return the number of selected and of kept rows."""
    truth = selected_by_spark(spark, table, where)
    made = plan(table, where=where, session=spark)
    kept = named_rows(made.index, made.evaluation.access.ranges)
    assert truth <= kept, where
    assert named_rows(made.index, made.evaluation.access.matches) <= truth, where
    # Like `count()`, this reads no column of its own, but it avoids the shuffle, which takes most of the time.
    assert len(pr.read(table, where=where, session=spark, plan=made).selectExpr("1").collect()) == len(truth), where
    return len(truth), len(kept)


def number_of_alone(spark, table, where):
    """Count the rows that Spark selects by itself, with its reader's filters."""
    return len(spark.read.parquet(str(table)).where(where).collect())


def edit_footer(path, change):
    """Let `change` edit the parsed footer in place."""
    data = path.read_bytes()
    (length,) = struct.unpack("<i", data[-8:-4])
    fields, _ = slow_thrift.parse(data[-8 - length : -8])
    change(fields)
    footer = slow_thrift.encode(fields)
    path.write_bytes(data[: -8 - length] + footer + struct.pack("<i", len(footer)) + data[-4:])


def edit_statistics(path, change, column=0):
    """Let `change` edit the statistics of a column in every row group."""

    def edit(fields):
        for chunk in chunks_of(fields, column):
            change(value_of(value_of(chunk, META), STATISTICS))

    edit_footer(path, edit)


def edit_column_index(path, change, column=0):
    """Apply `change` to the column index of a column in every row group, and write it again before the footer."""
    data = path.read_bytes()
    (length,) = struct.unpack("<i", data[-8:-4])
    body = data[: -8 - length]
    fields, _ = slow_thrift.parse(data[-8 - length : -8])
    for chunk in chunks_of(fields, column):
        start = value_of(chunk, 6)
        index, _ = slow_thrift.parse(data[start:])
        change(index)
        encoded = slow_thrift.encode(index)
        put(chunk, 6, slow_thrift.I64, len(body))
        put(chunk, 7, slow_thrift.I32, len(encoded))
        body += encoded
    footer = slow_thrift.encode(fields)
    path.write_bytes(body + footer + struct.pack("<i", len(footer)) + data[-4:])


def chunks_of(footer, column):
    return [value_of(group, 1)[1][column] for group in value_of(footer, ROW_GROUPS)[1]]


def value_of(fields, number):
    return next(value for found, _, value in fields if found == number)


def put(fields, number, wire, value):
    """Set a field, in the order of the numbers."""
    drop(fields, number)
    fields.append([number, wire, value])
    fields.sort(key=lambda field: field[0])


def drop(fields, *numbers):
    fields[:] = [field for field in fields if field[0] not in numbers]


def set_bounds(low, high):
    def change(statistics):
        put(statistics, MIN, BINARY, low)
        put(statistics, MAX, BINARY, high)

    return change


def set_orders(member):
    """Return an edit that gives every column that member of ColumnOrder, none for None."""

    def change(footer):
        count = len(value_of(footer, COLUMN_ORDERS)[1])
        if member is None:
            drop(footer, COLUMN_ORDERS)
        else:
            put(footer, COLUMN_ORDERS, slow_thrift.LIST, (STRUCT, [[[member, STRUCT, []]] for _ in range(count)]))

    return change
