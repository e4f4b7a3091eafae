"""Measured and predicted figures for files of many kinds; without Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltalog
import prune_assets as pr
from parquet_core.dataset.opening import read_dataset
from parquet_core.inspection import inspect_table
from parquet_core.quantities import bytes_text
from prune_assets.writing import assess

ROWS = 200


def put(table, name, values, **options):
    path = table / name
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = values if isinstance(values, dict) else {"x": values}
    pq.write_table(pa.table(columns), path, **{"write_page_index": True} | options)


def dry(table, *predicates, layout=None, **more):
    layout = pr.LayoutSpec(sort_by=["x"], row_group_rows=20) if layout is None else layout
    return pr.optimize(table, layout=layout, predicates=predicates, dry_run=True, **more)


def reasons(table, layout):
    return {file.path.rpartition("/")[2]: file.reasons for file in dry(table, layout=layout).picked}


def test_a_partition_column_that_cannot_order_the_rows_of_files_is_told_once(tmp_path, caplog):
    put(tmp_path, "day=1/0.parquet", [1, 2])
    dry(tmp_path)
    assert caplog.messages == []
    dry(tmp_path, layout=pr.LayoutSpec(sort_by=["day", "x"]))
    (said,) = caplog.messages
    assert said == (
        "sort_by: day is a partition column of the table, so each file has one value of it, and sorting by it has no "
        "effect; remove it from sort_by"
    )


KINDS = {
    "int8": (lambda i: i - 100, pa.int8(), "x < 0"),
    "int32": (lambda i: i - 100, pa.int32(), "x < 0"),
    "int64": (lambda i: i * 10**16, pa.int64(), f"x < {10**18}"),
    "the ends of int64": (lambda i: -(2**63) + i if i < 100 else 2**63 - ROWS + i, pa.int64(), "x < 0"),
    "uint32": (lambda i: i, pa.uint32(), "x < 100"),
    "double": (lambda i: i / 4, pa.float64(), "x < 25"),
    "infinite": (lambda i: -float("inf") if i < 100 else float("inf"), pa.float64(), "x < 0"),
    "float": (lambda i: i / 4, pa.float32(), "x < 25"),
    "date": (lambda i: dt.date(2024, 1, 1) + dt.timedelta(i), pa.date32(), "x < DATE '2024-04-10'"),
    "time": (
        lambda i: dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(i),
        pa.timestamp("us"),
        "x < TIMESTAMP_NTZ '2024-04-10'",
    ),
    "text": (lambda i: f"{i:04}", pa.string(), "x < '0100'"),
    "decimal": (Decimal, pa.decimal128(20, 2), "x < 100"),
    "boolean": (lambda i: i >= 100, pa.bool_(), "x = false"),
    "nulls before": (lambda i: None if i < 100 else i, pa.int64(), "x IS NULL"),
    "nulls alone": (lambda _: None, pa.int64(), "x > 3"),
}
# Between infinite bounds nothing less is forecast.
NOT_LESS = {"infinite"}


@pytest.mark.parametrize("name", KINDS)
def test_what_a_predicate_will_keep_is_forecast_for_every_type(tmp_path, name):
    value, kind, where = KINDS[name]
    for i in range(4):
        values = [value(j) for j in range(i, ROWS, 4)]
        put(tmp_path, f"{i}.parquet", {"x": pa.array(values, kind), "y": range(len(values))})
    done = dry(tmp_path, where)
    (kept,) = done.predicates
    assert len(done.picked) == 4
    if name not in NOT_LESS | {"nulls alone"}:
        assert kept.predicted == pytest.approx(kept.before / 2, rel=0.45)
    assert 0 <= kept.predicted <= kept.before


@pytest.mark.parametrize("table_format", ["parquet", "delta"])
@pytest.mark.parametrize("where", ["id < 1500", "id = 7000", "y = 1", "true"])
def test_the_bytes_of_a_predicate_are_those_that_a_plan_reads(tmp_path, where, table_format):
    """Whole row groups are not counted: most of their pages are skipped."""
    for i in range(4):
        rows = pa.table({"id": range(i, 40_000, 4), "y": [i % 7 for i in range(10_000)]})
        options = {"write_page_index": True, "max_rows_per_page": 1_000, "use_dictionary": ["y"]}
        pq.write_table(rows, tmp_path / f"{i}.parquet", **options)
    if table_format == "delta":
        deltalog.create_table(str(tmp_path), rows.schema)
        snapshot = deltalog.open_snapshot(str(tmp_path))
        files = [deltalog.NewFile(f"{i}.parquet") for i in range(4)]
        deltalog.append(snapshot, deltalog.adds_of(str(tmp_path), snapshot.schema, files))
    layout = pr.LayoutSpec(sort_by=["id"], page_rows=1_000, files=1)
    (found,) = pr.optimize(tmp_path, layout=layout, predicates=[where], dry_run=True).predicates
    assert found.before == pr.plan(tmp_path, where=where).report.kept.bytes
    if where == "id < 1500":  # of the 40 pages to come two
        assert found.predicted == pytest.approx(found.before / 2, rel=0.3)


def test_a_predicate_of_other_columns_alone_is_not_predicted(tmp_path):
    for i in range(2):
        put(tmp_path, f"{i}.parquet", {"x": range(i, ROWS, 2), "y": [i] * (ROWS // 2)})
    done = dry(tmp_path, "y = 1", "y = 1 OR x < 50")
    one, both = done.predicates
    assert 0 < one.before < both.before == both.predicted
    assert one.predicted is None
    line = f"bytes kept for y = 1: {bytes_text(one.before)} before, not predicted (not on the leading sort key)"
    assert line in str(done).splitlines()


def test_a_single_row_group_is_kept_whole(tmp_path):
    values = {"x": [i * 7919 % ROWS for i in range(ROWS)], "y": range(ROWS)}
    pq.write_table(pa.table(values), tmp_path / "0.parquet", row_group_size=ROWS // 10, write_page_index=True)
    (many,) = dry(
        tmp_path, "y < 10 AND x >= 0", layout=pr.LayoutSpec(sort_by=["x"], row_group_rows=ROWS // 10)
    ).predicates
    (one,) = dry(tmp_path, "y < 10 AND x >= 0", layout=pr.LayoutSpec(sort_by=["x"])).predicates
    assert many.predicted == pytest.approx(many.before, rel=0.2)
    assert one.predicted > 5 * one.before


def test_partitions_and_the_key_are_asked_together(tmp_path):
    for day in range(2):
        for i in range(2):
            put(tmp_path, f"day={day}/{i}.parquet", range(i, ROWS, 2))
    whole, half, none = dry(tmp_path, "day = 1", "day = 1 AND x < 100", "day = 0 AND day = 1").predicates
    assert whole.predicted == pytest.approx(whole.before, rel=0.3)
    assert half.predicted == pytest.approx(half.before / 2, rel=0.3)
    assert (none.before, none.predicted) == (0, 0)


LAYOUT = pr.LayoutSpec(sort_by=["x"], bloom={"y": 0.01})
WITH_FILTER = {"bloom_filter_options": {"y": True}}


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        pytest.param({"x": range(9), "y": range(9)}, WITH_FILTER, (), id="as it should be"),
        pytest.param({"x": range(9), "y": range(9)}, {}, ("lacks a bloom filter",), id="no filter"),
        pytest.param({"x": range(9), "y": pa.nulls(9, pa.int64())}, {}, (), id="no filter of nothing"),
        pytest.param(
            {"x": range(9), "y": range(9)},
            WITH_FILTER | {"write_page_index": False},
            ("lacks a page index",),
            id="index",
        ),
        pytest.param(
            {"x": [5, 6, 1, 2], "y": range(4)}, WITH_FILTER | {"row_group_size": 2}, ("not sorted",), id="row groups"
        ),
        pytest.param(
            {"x": [*range(5000, 10_000), *range(5000)], "y": range(10_000)},
            WITH_FILTER | {"max_rows_per_page": 100, "use_dictionary": False},
            ("not sorted",),
            id="pages",
        ),
        pytest.param(
            {"x": [f"{i:05}" for i in [*range(5000, 10_000), *range(5000)]], "y": range(10_000)},
            WITH_FILTER | {"max_rows_per_page": 100, "use_dictionary": False},
            ("not sorted",),
            id="pages of texts",
        ),
        pytest.param(
            {"x": ["a" * 80 + f"{i:05}" for i in range(10_000)], "y": range(10_000)},
            WITH_FILTER | {"max_rows_per_page": 100, "use_dictionary": False},
            (),
            id="texts whose bounds are cut",
        ),
        pytest.param({"x": [None, None, 1], "y": range(3)}, WITH_FILTER | {"row_group_size": 2}, (), id="nulls first"),
    ],
)
def test_faults_of_a_file(tmp_path, columns, options, expected):
    put(tmp_path, "a.parquet", columns, **options)
    assert reasons(tmp_path, LAYOUT).get("a.parquet", ()) == expected


def test_files_without_rows_or_row_groups_need_nothing(tmp_path):
    put(tmp_path, "a.parquet", range(9))
    put(tmp_path, "b.parquet", pa.array([], pa.int64()))
    pq.write_table(pa.table({"x": range(9)}).slice(0, 0), tmp_path / "c.parquet")
    done = dry(tmp_path)
    assert (done.considered, done.picked) == (1, ())
    assert done.depth_before == 1.0


def test_a_layout_without_a_key_asks_for_no_order(tmp_path):
    for i in range(3):
        put(tmp_path, f"{i}.parquet", range(ROWS))
    done = dry(tmp_path, "x > 3", layout=pr.LayoutSpec())
    assert {file.reasons for file in done.picked} == {("small",)}
    assert (done.depth_before, done.depth_predicted) == (None, None)
    assert "overlap" not in str(done)


@pytest.mark.parametrize("wide", [1, 20, 90])
def test_optimize_check_and_inspect_tell_one_overlap_depth(tmp_path, wide):
    """Of ten files of a row group each, which begin ten values apart."""
    for i in range(10):
        put(tmp_path, f"{i}.parquet", range(10 * i, 10 * i + wide + 1))
    found, layout = dry(tmp_path), pr.LayoutSpec(sort_by=["x"])
    inspected = (
        inspect_table(str(tmp_path), index := read_dataset(tmp_path), index.groups.columns).columns[0].overlap_depth
    )
    said = {one.code: one.message for one in pr.check(tmp_path, layout=layout)}
    assert found.depth_before == inspected == {1: 1.0, 20: 3.0, 90: 10.0}[wide]
    for unit in ("files", "row_groups"):
        assert f"overlap depth {inspected:.2f}" in said[f"overlap.{unit}"]


def test_the_depth_after_counts_what_is_left_as_it_is(tmp_path):
    """Two files become one, whose ends two others share; those stay."""
    target = pr.LayoutSpec(sort_by=["x"], target_file_bytes=1_000)
    for i, (low, high) in enumerate([(0, 10), (10, 20), (15, 30), (30, 40)]):
        put(tmp_path, f"{i}.parquet", range(low, high + 1))
    found = dry(tmp_path, layout=target)
    assert sorted(file.path[-9:] for file in found.picked) == ["1.parquet", "2.parquet"]
    # 0 and 3 share a value with one new file each; there is one new file or there are two.
    assert (found.depth_before, found.depth_predicted) == (2.0, 2.0)


def test_a_table_that_is_not_there_is_said_in_a_line(tmp_path):
    with pytest.raises(pr.PruneError, match="no such"):
        dry(tmp_path / "none")


def test_a_dry_run_counts_every_reason_and_reads_the_rows_that_bounds_leave_open(tmp_path):
    for i in range(4):
        values = range(i, ROWS * 4, 4)
        put(tmp_path, f"{i}.parquet", values if i == 3 else [*values[1:], values[0]])
    done = dry(tmp_path, rows=True)
    assert done.reasons == {"overlaps": 4, "small": 4, "not sorted": 3}
    assert "overlaps: 4, small: 4, not sorted: 3" in str(done)
    assert done.as_json()["reasons"] == done.reasons
    assert dry(tmp_path).reasons == {"overlaps": 4, "small": 4}


NOT_READ = "the order of rows inside of files was not read: --rows (rows=True) reads the sort key"


@pytest.mark.parametrize(
    ("sort_by", "values"),
    [
        pytest.param(["x"], {"x": [1, 0, 2]}, id="inside of a page"),
        pytest.param(["x", "y"], {"x": [1, 1, 2], "y": [2, 1, 1]}, id="second key"),
    ],
)
def test_what_a_check_calls_unsorted_is_picked_by_its_rows(tmp_path, sort_by, values):
    put(tmp_path, "0.parquet", values)
    put(tmp_path, "1.parquet", {"x": [3, 4, 5]} | ({"y": [2, 1, 0]} if "y" in values else {}))
    layout = pr.LayoutSpec(sort_by=sort_by, target_file_bytes=1024)
    (unsorted,) = [found for found in pr.check(tmp_path, layout=layout) if found.code == "order.rows"]
    assert unsorted.remedy == "sort the files by the key: prune optimize TABLE --layout layout.yaml --rows"
    without, found = dry(tmp_path, layout=layout), dry(tmp_path, layout=layout, rows=True)
    assert (without.picked, without.rows_read, NOT_READ in str(without)) == ((), False, True)
    assert [(file.path[-9:], file.reasons) for file in found.picked] == [("0.parquet", ("not sorted",))]
    assert (found.rows_read, NOT_READ in str(found), found.as_json()["rows_read"]) == (True, False, True)


def test_the_order_of_rows_is_no_matter_without_a_key(tmp_path):
    put(tmp_path, "0.parquet", [1, 0, 2])
    assert "not read" not in str(dry(tmp_path, layout=pr.LayoutSpec(bloom={"x": 0.01})))


def test_files_that_bounds_show_unsorted_and_files_elsewhere_are_not_read(tmp_path, monkeypatch):
    """A key that is read costs its bytes, so that only what bounds leave open is read, and that once."""
    put(tmp_path, "p=1/0.parquet", [*range(100, 200), *range(100)], row_group_size=100)
    put(tmp_path, "p=1/1.parquet", range(300, 400))
    put(tmp_path, "p=2/0.parquet", [1, 0])
    seen = []
    real = assess.unsorted_files

    def watched(index, files, keys):
        seen.extend(index.groups.files[file].path for file in files)
        return real(index, files, keys)

    monkeypatch.setattr(assess, "unsorted_files", watched)
    found = dry(tmp_path, layout=pr.LayoutSpec(sort_by=["x"], partition_by=["p"]), where="p = 1", rows=True)
    assert found.reasons == {"not sorted": 1}
    assert [path.removeprefix(f"{tmp_path}/") for path in seen] == ["p=1/1.parquet"]
