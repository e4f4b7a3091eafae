"""Where statistics of a column are not used there is a reason, whatever the cause."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest
from checkpoint_writer import add_type, head, parsed_type, write_checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from log_writer import Log, add

from deltalog import inspect_snapshot
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.coverage import coverage_of

GOOD = {
    "long": (1, 2),
    "integer": (1, 2),
    "double": (0.5, 1.5),
    "decimal(12,2)": (1, 2),
    "string": ("a", "b"),
    "date": ("2024-01-01", "2024-01-02"),
    "timestamp": ("2024-01-01T00:00:00.000Z", "2024-01-02T00:00:00.000Z"),
    "timestamp_ntz": ("2024-01-01T00:00:00.000", "2024-01-02T00:00:00.000"),
}
CUT = "x" * 33 + "\ufffd"


def stats(low=None, high=None, nulls=0, records=5):
    """Statistics as JSON; None leaves a part out."""
    parts = {"numRecords": records, "minValues": {"x": low}, "maxValues": {"x": high}, "nullCount": {"x": nulls}}
    parts = {name: part for name, part in parts.items() if part is not None and part != {"x": None}}
    return json.dumps(parts)


# Type of the column, incomplete statistics of a file, and the reported reason.
CAUSES = [
    ("long", None, "no statistics"),
    ("long", "", "no numRecords"),
    ("long", "no JSON", "no numRecords"),
    ("long", "{}", "no numRecords"),
    ("long", stats(1, 2, records=None), "no numRecords"),
    ("long", stats(1, 2, records=0), "numRecords is not positive"),
    ("long", stats(1, 2, records=-5), "numRecords is not positive"),
    ("long", stats(1, 2, nulls=6), "the null count does not fit numRecords"),
    ("long", stats(1, 2, nulls=-1), "the null count does not fit numRecords"),
    ("long", stats(1, 2, nulls="x"), "the null count does not fit numRecords"),
    ("long", stats(1, 2, nulls=None), "no null count"),
    ("long", stats(nulls=5), "only nulls"),
    ("long", stats(1, 2, nulls=5), "bounds, although the null count says that every value is null"),
    ("long", stats(), "no minimum or maximum"),
    ("long", stats(high=2), "no minimum: the maximum alone is used"),
    ("long", stats(low=2), "no maximum: the minimum alone is used"),
    ("long", stats(2, 1), "the minimum is larger than the maximum"),
    ("string", stats("b", "a"), "the minimum is larger than the maximum"),
    ("integer", stats(1, 1 << 40), "a bound is not a valid integer (stored as JSON)"),
    ("long", stats("a", "b"), "a bound is not a valid long (stored as JSON)"),
    ("double", stats("a", "b"), "a bound is not a valid double (stored as JSON)"),
    ("double", stats("NaN", "NaN"), "the bounds are NaN"),
    ("double", stats(1.0, "NaN"), "the maximum is NaN: the minimum alone is used"),
    ("decimal(12,2)", stats(1, 1e20), "a bound is not a valid decimal(12,2) (stored as JSON)"),
    ("string", stats(1, 2), "a bound is not a valid string (stored as JSON)"),
    ("string", stats("x", CUT), "an old writer cut the maximum: the minimum alone is used"),
    ("date", stats("2024-01-01", "soon"), "a bound is not a valid date (stored as JSON)"),
    ("date", stats("1400-01-01", "2024-01-01"), "a bound is before 1582-10-15, where the calendars of writers differ"),
    (
        "timestamp",
        stats("1800-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        "a bound is before 1900-01-03, where the calendars of writers differ",
    ),
    ("timestamp_ntz", stats("2024", "2024"), "a bound is not a valid timestamp_ntz (stored as JSON)"),
    ("boolean", stats(nulls=None), "type boolean has only null counts; no null count in 1 of 4 files"),
    ("binary", stats(nulls=9), "type binary has only null counts; the null count does not fit numRecords in 1 of 4"),
]


def inspected(log):
    (column,) = inspect_snapshot(open_snapshot(log.path)).columns
    return column


@pytest.mark.parametrize(("kind", "lacking", "reason"), CAUSES)
def test_each_file_without_used_statistics_is_counted_with_its_reason(tmp_path, kind, lacking, reason):
    log = Log(tmp_path / "t")
    fine = stats(*GOOD.get(kind, (None, None)))
    log.create([("x", kind)], *(add(f"{i}", stats=fine) for i in range(3)), add("lacking", stats=lacking))
    column = inspected(log)
    if kind in GOOD:
        assert column.why == f"{reason} in 1 of 4 files"
        assert min(column.bounds, column.null_counts) == 3
    else:
        assert column.why.startswith(reason)


@pytest.mark.parametrize(("kind", "lacking", "reason"), CAUSES[:30])
def test_a_reason_that_holds_in_every_file_is_said_without_a_count(tmp_path, kind, lacking, reason):
    log = Log(tmp_path / "t")
    log.create([("x", kind)], add("lacking", stats=lacking))
    assert inspected(log).why == reason


@pytest.mark.parametrize(("kind", "lacking", "reason"), CAUSES[:30])
def test_many_files_have_the_reason_that_one_has(tmp_path, kind, lacking, reason):
    # Batches of 64 or more JSON texts are parsed together.
    log = Log(tmp_path / "t")
    log.create([("x", kind)], *(add(f"{i}", stats=lacking) for i in range(70)))
    assert inspected(log).why == reason


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        (
            {"delta.dataSkippingStatsColumns": "y"},
            "no minimum or maximum: delta.dataSkippingStatsColumns does not name the column",
        ),
        ({"delta.dataSkippingStatsColumns": "x"}, "no minimum or maximum"),
        (
            {"delta.dataSkippingNumIndexedCols": "0"},
            "no minimum or maximum: it is column 1, and delta.dataSkippingNumIndexedCols is 0",
        ),
    ],
)
def test_the_property_that_keeps_writers_from_bounds_is_named(tmp_path, properties, reason):
    log = Log(tmp_path / "t")
    log.create([("x", "long")], add("a", stats=stats()), **properties)
    assert inspected(log).why == reason


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (
            {"type": "array", "elementType": "long", "containsNull": True},
            "lists and maps are not supported",
        ),
        ("variant", "type variant is not supported"),
        ("long", "the table has no files"),
    ],
)
def test_columns_without_files_and_of_other_types_have_a_reason(tmp_path, kind, reason):
    log = Log(tmp_path / "t")
    log.create([("x", kind)])
    assert inspected(log).why == reason


STORED = [
    ("timestamp", pa.timestamp("us"), 5, "a bound is not a valid timestamp (stored as timestamp[us])"),
    (
        "timestamp_ntz",
        pa.timestamp("us", "UTC"),
        5,
        "a bound is not a valid timestamp_ntz (stored as timestamp[us, tz=UTC])",
    ),
    ("long", pa.string(), "5", "a bound is not a valid long (stored as string)"),
    ("long", pa.int64(), None, "no minimum or maximum"),
]


@pytest.mark.parametrize(("kind", "stored", "value", "reason"), STORED)
def test_parsed_statistics_of_another_type_are_named(tmp_path, kind, stored, value, reason):
    log = Log(tmp_path / "t")
    log.create([("x", kind)])
    action, bound = add("a"), {"x": value}
    action["add"]["stats_parsed"] = {"numRecords": 5, "minValues": bound, "maxValues": bound, "nullCount": {"x": 0}}
    checkpoint = log.place / f"{0:020d}.checkpoint.parquet"
    write_checkpoint(checkpoint, [*head(log), action], add=add_type(parsed_type(x=stored), stats=False))
    assert inspected(log).why == reason


PART = st.one_of(
    st.none(), st.integers(-3, 7), st.sampled_from(["NaN", "b", CUT, "1400-01-01", "2024-01-01", math.inf])
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([*GOOD, "boolean"]), st.lists(st.tuples(PART, PART, PART, PART), min_size=1, max_size=4))
def test_no_file_is_without_a_reason(tmp_path_factory, kind, files):
    """Each file has both bounds and a null count, or counts once under a reason."""
    log = Log(tmp_path_factory.mktemp("any") / "t")
    log.create([("x", kind)], *(add(f"{i}", stats=stats(*parts)) for i, parts in enumerate(files)))
    snapshot = open_snapshot(log.path)
    (covered,) = coverage_of(snapshot, snapshot.schema.columns)
    full = min(covered.bounds, covered.null_counts) if kind != "boolean" else covered.null_counts
    assert len(files) - covered.missing.total() <= full
    assert all(covered.missing)
    assert bool(inspected(log).why) == (covered.missing.total() > 0 or kind == "boolean")
