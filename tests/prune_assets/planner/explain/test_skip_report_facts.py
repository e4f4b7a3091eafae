"""Report entries about levels, leaves and row groups, compared with the table."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.pruning.predicate import Unsupported
from prune_assets.planner.explain import file_reports
from prune_assets.planner.explain.plan import plan
from prune_assets.planner.explain.remedies import remedy_of

OPTIONS = {"row_group_size": 100, "max_rows_per_page": 10, "write_batch_size": 1, "write_page_index": True}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """2 files of 5 row groups of 100 rows of 10 pages: `x` is 0..999, `s` its digits, `d` its day, `k` scattered."""
    path = tmp_path_factory.mktemp("facts")
    for file in range(2):
        numbers = range(file * 500, file * 500 + 500)
        data = {
            "x": pa.array(numbers, pa.int32()),
            "s": [str(i) for i in numbers],
            "d": [dt.date(2024, 1, 1) + dt.timedelta(i) for i in numbers],
            "k": pa.array([(i * 7919) % 1000 * 2 for i in numbers], pa.int64()),
            "n": pa.array([None if i < 500 else i for i in numbers], pa.int32()),
        }
        bloom = {"k": {"ndv": 100, "fpp": 0.001}}
        pq.write_table(
            pa.table(data), path / f"{file}.parquet", bloom_filter_options=bloom, use_dictionary=["s"], **OPTIONS
        )
    return str(path)


def report_of(table, where, **options):
    return plan(table, where=where, **options).report


def groups_of(report):
    return [group for file in report.files for group in file.row_groups]


@pytest.mark.parametrize(
    "where",
    ["x = 123", "x < 250 OR s = '777'", "k = 997", "NOT (x > 10 AND d > DATE '2024-02-01')", "n IS NULL AND x > 33"],
)
def test_levels_hand_on_what_they_keep_in_every_unit(table, where):
    report = report_of(table, where)
    before = report.total
    for level in report.levels:
        assert level.total == before
        assert (level.skipped_rows, level.skipped_bytes) == (
            before.rows - level.kept.rows,
            before.bytes - level.kept.bytes,
        )
        assert level.status == "consulted" or level.kept == level.total
        assert level.why or level.skipped_rows, "a level that skips nothing says why"
        before = level.kept
    assert before == report.kept
    assert report.kept.rows == sum(
        group.row_count if group.verdict == "scan" else sum(stop - start for start, stop in group.ranges)
        for group in groups_of(report)
    )
    by_level = {level.level: 0 for level in report.levels}
    for group in groups_of(report):
        if group.level:
            by_level[group.level] += group.bytes - group.kept_bytes
    assert by_level == {level.level: level.skipped_bytes for level in report.levels}


KEPT = [
    ("x = 123", 1, ["x = 123: min 100, max 199", "no bloom filter"]),
    ("x >= 950", 9, ["x >= 950: min 900, max 999"]),
    ("x < 950", 3, ["x < 950: min 300, max 399: true for every row"]),
    ("NOT (x < 950)", 9, ["x < 950: min 900, max 999"]),
    ("x IN (1, 2, 350)", 0, ["2 of 3 values between min 0 and max 99, such as 1"]),
    ("x BETWEEN 123 AND 150", 1, ["min 100, max 199"]),
    ("k = 0", 0, ["the bloom filter may contain it"]),
    ("s = '44'", 0, ["min 0, max 99", "at least one dictionary value matches"]),
    ("n IS NULL", 0, ["100 of 100 rows are null: true for every row"]),
    ("n IS NOT NULL", 9, ["100 of 100 rows are not null: false for every row"]),
    (
        "upper(s) = concat(s, x) AND x < 50",
        0,
        ["upper(s) = concat(s, x): does not prune: a change of case changes the order of values"],
    ),
    ("upper(s) = '7' AND x < 50", 0, ["upper(s) = '7': at least one of 100 dictionary values matches or raises"]),
    ("ascii(s) = 55 AND x < 50", 0, ["ascii(s) = 55: ", "only a Spark session can test its values"]),
]


@pytest.mark.parametrize(("where", "number", "words"), KEPT, ids=[where for where, *_ in KEPT])
def test_a_kept_row_group_says_which_leaf_and_why(table, where, number, words):
    report = report_of(table, where)
    group = groups_of(report)[number]
    assert group.verdict != "skip"
    assert [word for word in words if word not in group.reason] == [], group.reason
    assert group.kept_by
    assert all(report.leaves[i].sql in group.reason for i in group.kept_by)


FLOATS = [
    ("f > 1", "max 1.0; NaN is possible, which bounds ignore"),
    ("f >= 1", "min 0.5, max 1.0"),
    ("f = 0.75D", "min 0.5, max 1.0"),
    ("f = double('NaN')", "NaN is possible, which bounds ignore"),
    ("f < 0.75D", "min 0.5, max 1.0"),
    ("isnan(f)", "the number of NaN is unknown"),
]


@pytest.mark.parametrize(("where", "words"), FLOATS, ids=[where for where, _ in FLOATS])
def test_what_is_said_of_floats_is_true(where, words, tmp_path):
    pq.write_table(pa.table({"f": [0.5, 1.0, None]}), tmp_path / "f.parquet", use_dictionary=False)
    (group,) = groups_of(report_of(str(tmp_path), where))
    assert words in group.reason


def test_a_constant_that_is_never_true_says_so(table):
    assert groups_of(report_of(table, "NULL"))[0].reason == "NULL: no row matches"


def test_only_the_arm_that_is_open_is_named(table):
    report = report_of(table, "x = 123 OR s = '777'")
    second, eighth = groups_of(report)[1], groups_of(report)[7]
    assert (second.kept_by, eighth.kept_by) == ((0,), (1,))
    assert "s = '777'" not in second.reason
    assert groups_of(report)[0].kept_by == ()


def test_a_filter_that_was_not_asked_is_not_said_to_agree(table):
    report = report_of(table, "x < 50 AND (k = 997 OR upper(s) = 'A')")
    assert "the bloom filter was not read" in groups_of(report)[0].reason


def test_leaves_add_up_what_they_rule_out_and_what_is_open(table):
    report = report_of(table, "x < 250 AND s <> 'z' AND k = 997")
    by_sql = {leaf.sql: leaf for leaf in report.leaves}
    (statistics,) = by_sql["x < 250"].denied
    assert (statistics.level, statistics.row_groups) == ("row_group_statistics", 7)
    assert statistics.bytes == sum(group.bytes for group in groups_of(report)[3:])
    (bloom,) = by_sql["k = 997"].denied
    assert (bloom.level, bloom.row_groups) == ("bloom_filter", 3), "filters of the other row groups were not asked"
    assert by_sql["s <> 'z'"].denied == ()
    assert report.kept.row_groups == 0
    assert all(leaf.open_row_groups == 0 for leaf in report.leaves)


def test_a_leaf_that_holds_for_every_row_is_told_from_one_that_is_open(table):
    x, unsupported = report_of(table, "x < 250 AND upper(s) = concat(s, x)").leaves
    assert (x.open_row_groups, x.proven_row_groups) == (3, 2)
    assert (unsupported.open_row_groups, unsupported.proven_row_groups) == (3, 0)
    assert unsupported.why


def test_conjuncts_skip_alone_what_they_skip_as_a_predicate(table):
    report = report_of(table, "x < 250 AND k = 997 AND upper(s) = 'A'")
    assert all(conjunct.complete for conjunct in report.conjuncts)
    for conjunct in report.conjuncts:
        alone = report_of(table, conjunct.sql)
        assert conjunct.skipped_alone_bytes == alone.skipped_bytes > 0 or "upper" in conjunct.sql


def test_conjuncts_are_asked_no_deeper_than_the_plan(table):
    report = report_of(table, "x = 123 AND s <> 'z'", depth="row_groups")
    assert report.conjuncts[0].skipped_alone_bytes == report.skipped_bytes


def test_a_part_says_what_to_write_instead(table):
    (part,) = report_of(table, "CAST(x AS STRING) = '123' AND s <> 'z'").unsupported
    assert part.remedy == "write x = 123"
    assert remedy_of(Unsupported("s = 5", "..", "..", "s = '5'")) == "write s = '5', if this is the intended condition"


@pytest.fixture
def few_in_words(monkeypatch):
    monkeypatch.setattr(file_reports, "MAX_DETAILED", 3)


@pytest.mark.usefixtures("few_in_words")
def test_of_a_large_table_the_costliest_row_groups_are_told_and_the_map_has_all(table):
    whole, report = plan(table, where="x >= 350 AND k <> 7"), report_of(table, "x >= 350 AND k <> 7")
    assert not report.files_complete
    told = groups_of(report)
    assert len(told) == 3
    kept = sorted((group.kept_bytes for file in whole.files for group in file.row_groups), reverse=True)
    assert sorted((group.kept_bytes for group in told), reverse=True) == kept[:3]
    assert all(group.reason and group.verdict != "skip" for group in told)
    assert {file.path: file.verdict for file in report.files}.items() <= {
        f.path: f.verdict for f in whole.files
    }.items()
    assert sum(cell.row_groups for cell in report.map) == report.total.row_groups == 10
    assert sum(cell.kept_row_groups for cell in report.map) == report.kept.row_groups
    assert sum(cell.kept_bytes for cell in report.map) == report.kept.bytes
    for i, level in enumerate(report.levels):
        assert sum(cell.skipped_bytes[i] for cell in report.map) == level.skipped_bytes
    assert report.to_html().count("<g>") == 10
    assert f"{report.kept.row_groups - 3:,} more" in report.to_html()


def test_conjuncts_of_a_large_table_are_asked_of_statistics_alone(table, monkeypatch):
    monkeypatch.setattr("prune_assets.planner.explain.attribution.MAX_ROW_GROUPS", 9)
    where = "x = 123 AND k = 997"
    plan_ = plan(table, where=where)
    requests = plan_.index.groups.traffic.requests
    report = plan_.report
    assert plan_.index.groups.traffic.requests == requests, "nothing more is read"
    assert [conjunct.complete for conjunct in report.conjuncts] == [False, False]
    assert report.conjuncts[1].skipped_alone_bytes == 0, "odd keys lie within all bounds"


def test_of_many_leaves_the_first_are_told(table):
    report = report_of(table, " OR ".join(f"(x > {i} AND s <> '{i}')" for i in range(150)))
    assert len(report.leaves) == 200
    group = groups_of(report)[9]
    assert group.kept_by == tuple(range(20))
    assert group.reason.endswith("and more")
