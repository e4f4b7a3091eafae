"""Tables converted from Delta by UniForm or XTable: their upper bounds of times are truncated to milliseconds."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import prune_assets as pr
from prune_assets.spark.lower_predicate import lower_predicate
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.iceberg import snapshot as opened
from prune_assets.tables.iceberg.doubted_columns import doubted_columns
from prune_assets.tables.opening import open_table
from tests.prune_assets.tables.iceberg import iceberg_tables as made

LAST = dt.datetime(2026, 8, 10, 20, 4, 53, 80_758)  # noqa: DTZ001 - of a column without a zone
EARLIER = LAST - dt.timedelta(hours=1)
BIG = 2**60 + 3
UNIFORM, XTABLE = {"delta-version": "3"}, {"XTABLE_METADATA": "{}"}
CONVERTERS = {"UniForm": (UNIFORM, {}), "XTable": (XTABLE, {}), "XTable in the snapshot": ({}, XTABLE)}
LOST = {
    "equal": "ntz = timestamp_ntz '2026-08-10 20:04:53.080758'",
    "above": "ntz > timestamp_ntz '2026-08-10 20:04:53.0805'",
    "instant": "utc = timestamp '2026-08-10 20:04:53.080758Z'",
    "in": "ntz IN (timestamp_ntz '2026-08-10 20:04:53.080758', timestamp_ntz '2030-01-01 00:00:00')",
    "rounded by a float": f"big = {BIG}",
}
BEYOND = ["ntz > timestamp_ntz '2026-08-10 20:04:53.081'", "utc < timestamp '2026-08-10 19:04:53.080Z'", "big < 5"]


def micros(moment):
    return (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001 - of a column without a zone


def copied_bounds():
    """Return the bounds that a Delta log has of the columns."""
    low, high = (micros(moment.replace(microsecond=80_000)).to_bytes(8, "little") for moment in (EARLIER, LAST))
    big = int(float(BIG)).to_bytes(8, "little")
    return {"lower_bounds": {1: low, 2: low, 3: big}, "upper_bounds": {1: high, 2: high, 3: big}}


@pytest.fixture
def convert(tmp_path, monkeypatch):
    """Make a table as a converter leaves it: properties of the table, and of its snapshot."""

    def convert(properties, summary):
        monkeypatch.setattr(opened, "_KEPT", {})
        times = [EARLIER, LAST]
        rows = {"ntz": pa.array(times, pa.timestamp("us")), "utc": pa.array(times, pa.timestamp("us", "UTC"))}
        rows = pa.table(rows | {"big": [BIG, BIG]})
        table = made.catalog_in(tmp_path).create_table("db.t", rows.schema, properties=properties)
        made.append_changed(table, rows, copied_bounds(), summary)
        return made.folder(table)

    return convert


@pytest.mark.parametrize("where", LOST.values(), ids=LOST)
@pytest.mark.parametrize("converter", CONVERTERS.values(), ids=CONVERTERS)
def test_rows_above_a_bound_that_was_cut_are_found(convert, converter, where):
    location = convert(*converter)
    right = 2 if "big" in where else 1
    assert pr.count(location, where=where) == right
    assert pr.read_arrow(location, where=where).num_rows == right


def kept(location, where):
    """Return the number of files that remain after pruning by manifests."""
    table = open_table(location, semantics=SparkSemantics())
    return int(table.answers(lower_predicate(where, table, session=None).predicate).kept.sum())


@pytest.mark.parametrize("where", BEYOND)
def test_bounds_of_a_converted_table_still_skip(convert, where):
    assert kept(convert(UNIFORM, {}), where) == 0


@pytest.mark.parametrize(("properties", "files"), [({}, 0), (UNIFORM, 1)], ids=["other writers", "UniForm"])
def test_only_bounds_of_converted_tables_are_widened(convert, properties, files):
    assert kept(convert(properties, {}), "ntz = timestamp_ntz '2026-08-10 20:04:53.080999'") == files


def test_the_reader_of_iceberg_gets_no_condition_by_which_it_would_lose_rows(convert):
    table = open_table(convert(UNIFORM, {}), semantics=SparkSemantics())
    table.snapshot.open_all()

    def doubted(where):
        return doubted_columns(table.snapshot, lower_predicate(where, table, session=None).predicate)

    assert doubted(LOST["equal"]) == {("ntz",)}
    assert doubted(LOST["rounded by a float"]) == {("big",)}
    assert doubted("ntz > timestamp_ntz '2026-08-10 00:00:00' AND big > 5") == frozenset()
