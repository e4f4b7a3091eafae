"""If little is skipped, the report has reasons and remedies; predicted savings are compared with rewritten tables."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prune_assets.planner.explain.plan import plan
from prune_assets.sql.semantics import SparkSemantics

ROWS, FILES = 20_000, 4
JANUARY = "day >= DATE '2021-01-01' AND day < DATE '2021-02-01'"


def written(path, table, **options):
    options = {"row_group_size": 1_000, "use_dictionary": False, **options}
    path.mkdir()
    for i in range(FILES):
        part = table.slice(i * len(table) // FILES, len(table) // FILES)
        pq.write_table(part, path / f"part-{i}.parquet", **options)
    return str(path)


@pytest.fixture(scope="module")
def data():
    draw = random.Random(5)
    days = [dt.date(2020, 1, 1) + dt.timedelta(draw.randrange(2_000)) for _ in range(ROWS)]
    names = [f"name {draw.randrange(10**9):09}" for _ in range(ROWS)]
    modes = [draw.choice(["AIR", "RAIL", "SHIP"]) for _ in range(ROWS)]
    number = [draw.randrange(0, ROWS, 2) for _ in range(ROWS)]
    return pa.table({"day": days, "name": names, "mode": modes, "id": number})


@pytest.fixture(scope="module")
def unsorted(tmp_path_factory, data):
    return written(tmp_path_factory.mktemp("unsorted") / "t", data)


def advice_of(table, where):
    return plan(table, where=where).report.advice


def remedies(advice):
    return {remedy.kind: remedy for remedy in advice.remedies}


def test_nothing_is_advised_where_enough_is_skipped(tmp_path, data):
    assert advice_of(written(tmp_path / "t", data.sort_by("day")), JANUARY) is None


def test_what_sorting_would_read_is_about_what_the_sorted_table_reads(tmp_path, data, unsorted):
    advice = advice_of(unsorted, JANUARY)
    assert "of the range of day" in advice.why
    expected = remedies(advice)["sort_by"].kept_bytes
    report = plan(written(tmp_path / "t", data.sort_by("day")), where=JANUARY).report
    assert report.kept.bytes / 2 <= expected <= report.kept.bytes * 2
    assert expected < report.total.bytes / 5


def hint_and_truth(tmp_path, table, where, key, **options):
    """The share that a hint says would be read, and that the sorted table reads."""
    report = plan(written(tmp_path / "hinted", table, **options), where=where).report
    found = remedies(report.advice)["sort_by"].kept_bytes
    made = plan(written(tmp_path / "sorted", table.sort_by(key), **options), where=where).report
    return found / report.total.bytes, made.kept.bytes / made.total.bytes


@pytest.mark.parametrize("where", ["v = 7", "v IN (3, 40, 77)", "v BETWEEN 20 AND 25", "v < 3"])
def test_the_figure_of_a_hint_is_near_what_sorting_brings(tmp_path, where):
    """The prediction also holds for row groups with many pages if a range reads only a few of them."""
    table = pa.table({"v": random.Random(1).choices(range(100), k=400_000)})
    pages = {"row_group_size": 50_000, "write_page_index": True, "max_rows_per_page": 20_000}
    hint, truth = hint_and_truth(tmp_path, table, where, "v", **pages)
    assert hint == pytest.approx(truth, abs=0.06)


def test_a_hint_promises_no_less_than_one_page(tmp_path):
    rare = [None if i % 1_000 else i // 1_000 for i in range(ROWS)]
    report = plan(written(tmp_path / "t", pa.table({"rare": rare, "x": range(ROWS)})), where="rare = 7").report
    assert all(remedy.kept_bytes != 0 for remedy in (report.advice.remedies if report.advice else ()))


def test_of_several_sort_keys_the_one_that_saves_most_comes_first(unsorted):
    advice = advice_of(unsorted, "id < 10000 AND day < DATE '2020-02-01' AND id > 10")
    assert [remedy.said.partition(":")[0] for remedy in advice.remedies] == ["sort by day", "sort by id"]


def test_texts_are_advised_to_be_sorted_without_a_figure(unsorted):
    found = remedies(advice_of(unsorted, "name = 'name 500000005'"))
    assert found["sort_by"].kept_bytes is None


@pytest.mark.parametrize("where", ["mode <> 'AIR'", "NOT (name = 'x')", "mode > 'B'"])
def test_what_asks_for_much_is_not_advised_to_be_sorted(unsorted, where):
    advice = advice_of(unsorted, where)
    assert advice.why
    assert remedies(advice) == {}


def test_a_bloom_filter_is_advised_only_where_it_can_tell_something(tmp_path, data, unsorted):
    where = "id = 777"
    assert "bloom filter on id" in remedies(advice_of(unsorted, where))["bloom_filter"].said
    filtered = written(tmp_path / "filtered", data, bloom_filter_options={"id": {"ndv": 1_000, "fpp": 0.01}})
    assert advice_of(filtered, where) is None, "777 is odd, and in no row group"
    (tmp_path / "filtered" / "part-9.parquet").write_bytes((tmp_path / "filtered" / "part-0.parquet").read_bytes())
    for i in range(4):
        part = data.slice(i * ROWS // 4, ROWS // 4)
        pq.write_table(part, tmp_path / "filtered" / f"part-{i}.parquet", row_group_size=1_000, use_dictionary=False)
    advice = advice_of(str(tmp_path / "filtered"), f"id = {data['id'][0]}")
    assert "bloom_filter" in remedies(advice), "most of the row groups that are read have none"
    told_by_dictionaries = written(tmp_path / "dictionaries", data, use_dictionary=["mode"])
    assert "bloom_filter" not in remedies(advice_of(told_by_dictionaries, "mode = 'AIR'")), "the value is there"
    assert "bloom_filter" not in remedies(advice_of(unsorted, "name LIKE 'name 5000001%'")), "filters know whole values"


def test_missing_bounds_are_the_reason_where_there_are_none(tmp_path, data):
    advice = advice_of(written(tmp_path / "t", data, write_statistics=False), JANUARY)
    assert advice.why == "most row groups have no bounds of day"
    assert set(remedies(advice)) == {"statistics"}


def test_what_asks_for_most_of_a_range_has_little_to_skip(unsorted):
    advice = advice_of(unsorted, "id >= 1000")
    assert advice.why == "the predicate covers 95.0 % of the range of id: there is little to skip"
    assert advice.remedies == ()
    assert advice_of(unsorted, "id >= 19000").why.startswith("values are spread over the table")


def test_a_true_predicate_has_nothing_to_skip(unsorted):
    advice = advice_of(unsorted, "id >= 0")
    assert advice.why == "the predicate is true of 100 % of the rows that are read: there is little to skip"
    assert advice.remedies == ()


@pytest.mark.parametrize("where", ["name = NULL", "NOT (name <> NULL)", "name = NULL AND id = 3", "id > 9 AND id < 3"])
def test_a_predicate_that_no_row_can_match_says_so(unsorted, where):
    assert advice_of(unsorted, where).why.startswith("no row can match this predicate")
    assert "Why nothing is read: no row can match" in str(plan(unsorted, where=where).report)


def test_a_predicate_that_no_row_matches_today_is_no_mistake(unsorted):
    assert advice_of(unsorted, "id = -5") is None
    assert advice_of(unsorted, "id = -5 AND name IS NULL") is None


def test_a_single_row_group_is_the_reason(tmp_path, data):
    path = tmp_path / "one.parquet"
    pq.write_table(data, path, use_dictionary=False)
    advice = advice_of(str(path), "id < 100")
    assert "one row group" in advice.why
    assert set(remedies(advice)) == {"row_groups"}
    assert set(remedies(advice_of(str(path), "id = 100"))) == {"row_groups"}, "a filter skips no share of one row group"


def test_a_refused_part_comes_with_its_remedy(unsorted):
    advice = advice_of(unsorted, "lower(mode) = 'air'")
    assert advice.why.startswith("no metadata can answer lower(mode) = 'air': ")
    assert remedies(advice)["write_predicate"].said.startswith("lower(mode) = 'air': ")


def test_what_to_write_instead_of_a_refused_part_is_its_remedy(tmp_path, data):
    report = plan(written(tmp_path / "t", data.sort_by("day")), where="CAST(day AS STRING) = '2021-01-05'").report
    assert report.advice.remedies[0].said == "CAST(day AS STRING) = '2021-01-05': write day = DATE '2021-01-05'"
    assert report.unsupported[0].remedy == "write day = DATE '2021-01-05'"


def test_a_bound_that_holds_for_some_values_alone_is_no_trouble(tmp_path, data):
    """For dates long before 1582 Spark's results are unknown, so the condition has a constant besides the bound."""
    times = data.append_column("at", data["day"].cast(pa.timestamp("ms")))
    table = written(tmp_path / "t", times)
    where = "(id <> 1) AND (date_trunc('month', at) <= TIMESTAMP_NTZ '2020-12-31 23:53:47')"
    advice = plan(table, where=where, semantics=SparkSemantics(time_zone="UTC")).report.advice
    assert remedies(advice)["sort_by"].kept_bytes > 0


def test_all_nulls_and_no_rows_are_no_trouble(tmp_path):
    table = pa.table({"a": pa.nulls(100, pa.int64()), "b": range(100)})
    pq.write_table(table, tmp_path / "n.parquet", row_group_size=10)
    assert advice_of(str(tmp_path), "a = 1 OR b >= 0").why
    pq.write_table(table.slice(0, 0), tmp_path / "n.parquet")
    assert advice_of(str(tmp_path), "a = 1") is None


def test_advice_reads_nothing_more(unsorted):
    made = plan(unsorted, where=JANUARY)
    requests = made.index.groups.traffic.requests
    assert made.report.advice is not None
    assert made.report.requests == requests


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("id IS NULL", "every row group to read has nulls of id"),
        ("id IS NOT NULL", "every row group to read has values of id"),
        (
            "id IS NULL AND name IS NULL",
            "every row group to read has nulls of id; every row group to read has nulls of name",
        ),
    ],
)
def test_a_null_test_is_answered_by_null_counts(tmp_path, where, why):
    ids = pa.array([i if i % 10 < 5 else None for i in range(ROWS)])
    names = pa.array([f"{i}" if i % 10 < 5 else None for i in range(ROWS)])
    assert advice_of(written(tmp_path / "t", pa.table({"id": ids, "name": names})), where).why == why


def test_a_null_test_without_null_counts_says_so(tmp_path):
    ids = pa.array([i if i % 10 < 2 else None for i in range(ROWS)])
    table = written(tmp_path / "t", pa.table({"id": ids, "x": ids}), write_statistics=["x"])
    assert advice_of(table, "id IS NULL").why == "20 row groups to read without a null count of id"


def test_what_is_read_for_a_nan_that_may_be_there_is_not_blamed_on_the_order(tmp_path):
    table = pa.table({"ratio": pa.array([i / ROWS for i in range(ROWS)])})
    advice = advice_of(written(tmp_path / "t", table), "ratio > 0.99")
    assert advice.why == "ratio may hold NaN, which sorts above all numbers and which min and max leave out"
    assert remedies(advice)["write_predicate"].said.endswith("add an upper limit: ratio <= double('Infinity')")
    assert advice_of(str(tmp_path / "t"), "ratio > 0.99 AND ratio <= double('Infinity')") is None


def test_a_column_with_nan_is_not_to_be_written_again_as_it_is(tmp_path):
    table = pa.table({"ratio": pa.array([float("nan") if i % 10 == 0 else float(i) for i in range(ROWS)])})
    remedy = remedies(advice_of(written(tmp_path / "t", table, write_statistics=False), "ratio > 5"))["statistics"]
    assert "write NaN as null if it means a missing value: nullif(ratio, double('NaN'))" in remedy.said


def test_no_layout_is_advised_that_would_be_refused(tmp_path):
    values = [{"x": (i * 7919) % ROWS} for i in range(ROWS)]
    advice = advice_of(written(tmp_path / "t", pa.table({"s": values})), "s.x < 400")
    assert remedies(advice)["sort_by"].said.startswith("sort by a top-level copy of s.x: ")
