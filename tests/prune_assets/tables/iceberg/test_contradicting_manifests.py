"""Manifests with contradicting counts and bounds are not trusted, and no row is lost."""

from __future__ import annotations

import datetime as dt
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.tables.iceberg import snapshot as opened
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.avro_files import changed
from tests.prune_assets.tables.iceberg.iceberg_tables import IdentityTransform, TruncateTransform, YearTransform

N, S, X = 2, 6, 9
NAN = float("nan")


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(opened, "_KEPT", {})


def table_of(directory, columns, field=None):
    """A table of one file, whose other columns are null."""
    table = made.catalog_in(directory).create_table("db.t", made.SCHEMA)
    if field is not None:
        with table.update_spec() as update:
            update.add_field(*field)
    count = len(next(iter(columns.values())))
    table.append(
        pa.table(
            {
                name: pa.array(columns.get(name, [None] * count), made.ARROW.field(name).type)
                for name in made.ARROW.names
            }
        )
    )
    return table


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the table of some columns, which is written once."""
    tables = {}

    def table(columns):
        key = repr(columns)
        if key not in tables:
            tables[key] = table_of(tmp_path_factory.mktemp("written"), columns)
        return tables[key]

    return table


@pytest.fixture
def changeable(written):
    """Return the table of some columns, whose files a test may change; afterwards they are as before."""
    before = []

    def table(columns):
        changed_table = written(columns)
        before.append((changed_table, made.files_in(changed_table)))
        return changed_table

    yield table
    for changed_table, files in before:
        made.restore(changed_table, files)


def manifest_of(table):
    (manifest,) = table.current_snapshot().manifests(table.io)
    return manifest.manifest_path.removeprefix("file://")


def list_of(table):
    return table.current_snapshot().manifest_list.removeprefix("file://")


def claim(table, field_id, **claims):
    """Change a claim of the manifest about a column; None removes the claim."""
    with changed(manifest_of(table)) as file:
        for row in file.rows:
            for name, value in claims.items():
                pairs = [pair for pair in row["data_file"][name] or [] if pair["key"] != field_id]
                row["data_file"][name] = pairs + ([] if value is None else [{"key": field_id, "value": value}])


def n(value):
    return struct.pack("<i", value)


def x(value):
    return struct.pack("<d", value)


# By name: the columns, the changed claims of the manifest, and conditions with the rows that they select.
CASES = {
    "all null beside bounds": (
        {"n": [5, 5]},
        N,
        {"null_value_counts": 2},
        {"n = 5": 2, "n IS NULL": 0, "n IS NOT NULL": 2, "n > 4": 2},
    ),
    "all null beside a lower bound alone": (
        {"n": [5, 6]},
        N,
        {"null_value_counts": 2, "upper_bounds": None},
        {"n = 5": 1},
    ),
    "all null beside an upper bound that no int has": (
        {"n": [5, 6]},
        N,
        {"null_value_counts": 2, "upper_bounds": b"abc", "lower_bounds": None},
        {"n = 5": 1},
    ),
    "all null beside an empty text": ({"s": ["", ""]}, S, {"null_value_counts": 2}, {"s = ''": 2, "s IS NOT NULL": 2}),
    "all null beside NaN": (
        {"x": [NAN, NAN]},
        X,
        {"null_value_counts": 2, "nan_value_counts": None, "lower_bounds": x(NAN), "upper_bounds": x(NAN)},
        {"isnan(x)": 2, "x > 1": 2},
    ),
    "all of those that are counted are null beside bounds": (
        {"n": [5, 6]},
        N,
        {"value_counts": 1, "null_value_counts": 1},
        {"n = 5": 1, "n IS NULL": 0, "n IS NOT NULL": 2},
    ),
    "all NaN beside bounds": (
        {"x": [1.0, 2.0]},
        X,
        {"nan_value_counts": 2},
        {"x = 1": 1, "x <= 2": 2, "NOT isnan(x)": 2},
    ),
    "all NaN beside bounds without a null count": (
        {"x": [1.0, 2.0]},
        X,
        {"nan_value_counts": 2, "null_value_counts": None},
        {"x = 1": 1, "NOT isnan(x)": 2},
    ),
    "nulls and NaN beside bounds": (
        {"x": [1.0, 2.0, None]},
        X,
        {"nan_value_counts": 1, "null_value_counts": 2},
        {"x = 1": 1, "x IS NULL": 1},
    ),
    "no NaN beside a bound that is one": (
        {"x": [1.0, NAN]},
        X,
        {"nan_value_counts": 0, "upper_bounds": x(NAN)},
        {"isnan(x)": 1, "x > 5": 1},
    ),
    "more nulls than rows": ({"n": [5, None]}, N, {"null_value_counts": 3}, {"n IS NULL": 1, "n = 5": 1}),
    "less than no nulls": ({"n": [5, None]}, N, {"null_value_counts": -1}, {"n IS NULL": 1, "n = 5": 1}),
    "more NaN than values": (
        {"x": [1.0, None]},
        X,
        {"nan_value_counts": 2},
        {"x = 1": 1, "x IS NULL": 1},
    ),
    "less than no NaN": ({"x": [1.0, NAN]}, X, {"nan_value_counts": -1}, {"isnan(x)": 1, "x > 5": 1}),
    "no count of NaN": ({"x": [1.0, NAN]}, X, {"nan_value_counts": None}, {"isnan(x)": 1, "x > 5": 1, "x = 1": 1}),
    "fewer values than rows": (
        {"n": [5, None]},
        N,
        {"value_counts": 1, "null_value_counts": 0},
        {"n IS NULL": 1, "n = 5": 1, "n IS NOT NULL": 1},
    ),
    "more values than rows": (
        {"n": [5, None]},
        N,
        {"value_counts": 4, "null_value_counts": 0},
        {"n IS NULL": 1, "n = 5": 1},
    ),
    "no count of values": (
        {"n": [5, 5]},
        N,
        {"value_counts": None, "null_value_counts": 2},
        {"n = 5": 2, "n IS NULL": 0, "n IS NOT NULL": 2},
    ),
    "turned bounds": ({"n": [5, 9]}, N, {"lower_bounds": n(9), "upper_bounds": n(5)}, {"n = 5": 1, "n > 8": 1}),
    "turned bounds of texts": ({"s": ["a", "b"]}, S, {"lower_bounds": b"b", "upper_bounds": b"a"}, {"s = 'a'": 1}),
}


@pytest.mark.parametrize(("columns", "number", "claims", "selected"), CASES.values(), ids=CASES)
def test_no_row_is_lost_by_a_manifest_that_contradicts_itself(changeable, columns, number, claims, selected):
    table = changeable(columns)
    claim(table, number, **claims)
    for where, count in selected.items():
        assert pr.count(made.folder(table), where=where) == count, where
        assert len(pr.read_arrow(made.folder(table), where=where, columns=["k"])) == count, where


def test_what_is_not_contradicted_still_skips(tmp_path):
    """Nulls that are counted too often are unknown; the bounds stay trusted."""
    table = table_of(tmp_path, {"n": [5, None], "x": [1.0, None]})
    claim(table, N, null_value_counts=7)
    plan = pr.plan(made.folder(table), where="n = 6")
    assert plan.report.kept.files == 0
    assert pr.plan(made.folder(table), where="n IS NULL").report.kept.files == 1
    assert pr.plan(made.folder(table), where="isnan(x)").report.kept.files == 0
    assert pr.plan(made.folder(table), where="day IS NOT NULL").report.kept.files == 0


def test_a_required_field_of_an_absent_struct_is_null(tmp_path):
    """apache/iceberg#18069: the rows of a null struct are not counted."""
    table = table_of(tmp_path, {"st": [None, {"a": 1, "t": "x"}]})
    claim(table, 13, value_counts=1, null_value_counts=0)
    assert pr.count(made.folder(table), where="st.a IS NULL") == 1
    assert pr.count(made.folder(table), where="st.a = 1") == 1
    assert pr.plan(made.folder(table), where="st.a = 2").report.kept.files == 0


def make_nan(table, name):
    """Have the one file hold NaN in a column, also as its partition."""
    with changed(manifest_of(table)) as file:
        (row,) = file.rows
        path = Path(row["data_file"]["file_path"].removeprefix("file://"))
        rows = pq.read_table(path)
        position = rows.schema.get_field_index(name)
        pq.write_table(
            rows.set_column(position, rows.field(position), pa.array([NAN] * len(rows), rows.field(position).type)),
            path,
        )
        row["data_file"] |= {"file_size_in_bytes": path.stat().st_size, "partition": {"part": NAN}}
    claim(table, X, nan_value_counts=1, lower_bounds=None, upper_bounds=None)


def summarize(table, **claims):
    """Change a claim of the manifest list about the first partition field."""
    with changed(list_of(table)) as file:
        for row in file.rows:
            row["partitions"][0] |= claims


# By name: column, transform, values, the claim of the manifest list, and a condition that selects rows.
SUMMARIES = {
    "turned bounds": ("n", IdentityTransform(), [5], {"lower_bound": n(6), "upper_bound": n(4)}, "n = 5"),
    "turned years before 1970": (
        "day",
        YearTransform(),
        ["1970-05-01"],
        {"lower_bound": n(0), "upper_bound": n(-1)},
        "day = date '1970-05-01'",
    ),
    "no null and no value": (
        "n",
        IdentityTransform(),
        [None],
        {"contains_null": False, "lower_bound": None, "upper_bound": None},
        "n IS NULL",
    ),
    "no NaN and no value": (
        "x",
        IdentityTransform(),
        [NAN],
        {"contains_nan": False, "contains_null": False, "lower_bound": None, "upper_bound": None},
        "isnan(x)",
    ),
    "no NaN beside bounds that are": (
        "x",
        IdentityTransform(),
        [NAN],
        {"contains_nan": False, "lower_bound": x(NAN), "upper_bound": x(NAN)},
        "isnan(x)",
    ),
}


@pytest.mark.parametrize("case", SUMMARIES.values(), ids=SUMMARIES)
def test_no_manifest_is_lost_by_a_summary_that_contradicts_itself(tmp_path, case):
    name, transform, values, claims, where = case
    values = [dt.date.fromisoformat(value) if isinstance(value, str) else value for value in values]
    # pyiceberg does not write a partition of NaN.
    table = table_of(tmp_path, {name: [1.0 if value is NAN else value for value in values]}, (name, transform, "part"))
    if NAN in values:
        make_nan(table, name)
    summarize(table, **claims)
    assert pr.count(made.folder(table), where=where) == len(values)


def test_manifests_that_repeat_the_rows_of_an_insert_in_each_file_are_counted_right(tmp_path):
    """ClickHouse before 26.5 (ClickHouse#104321) writes the total record count of all files into each entry."""
    table = table_of(tmp_path, {"n": [5, 6]})
    with changed(manifest_of(table)) as file:
        for row in file.rows:
            row["data_file"]["record_count"] = 6
    assert pr.count(made.folder(table)) == 2
    assert pr.count(made.folder(table), where="n IS NOT NULL") == 2


@pytest.mark.parametrize("width", [None, 20], ids=["identity", "truncate"])
def test_summaries_that_duckdb_cuts_without_rounding_up_lose_no_manifest(tmp_path, width):
    """duckdb/duckdb-iceberg#1047: the upper bound of a text in the list of manifests is its first 16 bytes."""
    transform = IdentityTransform() if width is None else TruncateTransform(width)
    for value in ("0123456789abcdef0123", "éééééééééééééééé and more"):
        directory = tmp_path / str(len(value))
        directory.mkdir()
        table = table_of(directory, {"s": [value]}, ("s", transform, "part"))
        for cut in {value.encode()[:16], value[:16].encode()}:
            summarize(table, lower_bound=cut, upper_bound=cut)
            opened._KEPT.clear()
            assert pr.count(made.folder(table), where=f"s = '{value}'") == 1
            assert pr.plan(made.folder(table), where="s > '~' AND s < '\u00e9'").report.kept.files == 0
