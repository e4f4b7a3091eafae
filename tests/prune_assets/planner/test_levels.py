"""Levels compared with the rows: no selected row is skipped, and proven rows match."""

from __future__ import annotations

import datetime as dt
import os
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.metadata_index import metadata_index
from parquet_core.dataset.opening import read_dataset
from parquet_core.pruning import evaluation, prune
from parquet_core.pruning.access_plan import Verdict
from parquet_core.pruning.known_levels import KnownLevel
from parquet_core.pruning.levels import BLOOM_FILTERS, DICTIONARIES, LEVELS, STATISTICS
from parquet_core.pruning.levels.dictionary_level import PROBED
from parquet_core.pruning.levels.pruning_query import LevelState, PruningLevel
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    In,
    Interval,
    InTuples,
    IsNull,
    Not,
    Op,
    Or,
    Unsupported,
    leaves,
)
from prune_assets.planner.explain import reasons
from prune_assets.planner.explain.plan import plan
from prune_assets.planner.spark_reader.survivors import MAX_RANGES, survivor_ranges
from prune_assets.sql.render import render
from prune_assets.tables.opening import open_as_written
from tests.prune_assets.planner.predicate_cases import random_predicate, random_table, truth, write_by_pyarrow


def rows_of(index, ranges):
    """Row numbers in the whole table that a range list names."""
    base = np.cumsum(index.groups.row_count) - index.groups.row_count
    return {
        int(base[group]) + row
        for group, start, stop in zip(ranges.row_group, ranges.start, ranges.stop, strict=True)
        for row in range(start, stop)
    }


@pytest.mark.sampled(14)
@pytest.mark.parametrize("seed", range(40))
def test_no_selected_row_is_skipped(seed, tmp_path):
    chance = random.Random(seed)
    table = random_table(chance)
    write_by_pyarrow(chance, table, tmp_path / "t")
    rows = table.to_pylist()
    index = read_dataset(tmp_path / "t")
    for _ in range(25):
        predicate = random_predicate(chance)
        selected = [truth(predicate, row) for row in rows]
        wanted = {i for i, answer in enumerate(selected) if answer is True}
        evaluation = prune(predicate, index)
        kept = rows_of(index, evaluation.access.ranges)
        assert wanted <= kept, predicate
        assert rows_of(index, evaluation.access.matches) <= wanted, predicate
        by_groups = prune(predicate, index, pages=False)
        assert kept <= rows_of(index, by_groups.access.ranges), "more evidence never keeps more"
        implied = survivor_ranges(evaluation, index)
        if implied is not None:
            assert len(list(leaves(implied))) <= MAX_RANGES + 1
            assert all(truth(implied, rows[i]) is True for i in wanted), predicate


@pytest.fixture
def sorted_table(tmp_path):
    """1,000 rows sorted by `day`, 10 row groups of 10 pages; `key` has a filter, `word` nothing but bounds."""
    days = list(range(1000))
    keys = [(i * 7919) % 1000 * 2 for i in range(1000)]
    words = [None if i < 200 else f"w{i:04}" for i in range(1000)]
    table = pa.table({"day": days, "key": pa.array(keys, pa.int64()), "word": words})
    options = {"row_group_size": 100, "max_rows_per_page": 10, "write_batch_size": 1, "write_page_index": True}
    pq.write_table(table, tmp_path / "t.parquet", bloom_filter_options={"key": {"ndv": 100, "fpp": 0.001}}, **options)
    return read_dataset(tmp_path / "t.parquet")


def eq(name, value):
    return Compare((name,), Op.EQ, pa.scalar(value))


DAY = ("day",)
KEY_OF_500 = 500 * 7919 % 1000 * 2
# How many row groups are left by partition values, statistics, bloom filters, dictionaries, page indexes; rows left.
CASES = [
    (Interval(DAY, pa.scalar(123), pa.scalar(125)), (10, 1, 1, 1, 1), 10, "three days lie in one page"),
    (eq("key", 997), (10, 10, 0, 0, 0), 0, "an odd key is in no filter, though within all bounds"),
    (eq("key", KEY_OF_500), (10, 10, 1, 1, 1), 100, "the filters leave one row group; its pages overlap in `key`"),
    (
        Or((eq("day", 5), eq("key", 997))),
        (10, 10, 1, 1, 1),
        10,
        "bounds deny one arm and filters the other: met at the leaf",
    ),
    (Or((eq("day", 5), eq("day", 995))), (10, 2, 2, 2, 2), 20, "two pages far apart"),
    (IsNull(("word",)), (10, 2, 2, 2, 2), 200, "nulls are counted"),
    (Not(IsNull(("word",))), (10, 8, 8, 8, 8), 800, "row groups of nulls alone"),
    (And((eq("day", 5), eq("day", 995))), (10, 0, 0, 0, 0), 0, "no row group holds both"),
    (In(DAY, pa.array([-1, 2000])), (10, 0, 0, 0, 0), 0, "both values lie outside, though their hull covers all"),
    (Not(Compare(DAY, Op.LT, pa.scalar(990))), (10, 1, 1, 1, 1), 10, "NOT needs no rewriting"),
    (
        Or((eq("day", 5), Unsupported("rand() < 1", "random"))),
        (10, 10, 10, 10, 10),
        1000,
        "an arm nobody can answer keeps all",
    ),
    (And((eq("day", 5), Unsupported("rand() < 1", "random"))), (10, 1, 1, 1, 1), 10, "its sibling prunes all the same"),
]


@pytest.mark.parametrize(("predicate", "alive", "rows", "why"), CASES, ids=[why for *_, why in CASES])
def test_each_level_skips_what_it_can_prove(sorted_table, predicate, alive, rows, why):
    evaluation = prune(predicate, sorted_table)
    assert tuple(int(level.remaining.sum()) for level in evaluation.states) == alive, why
    assert len(rows_of(sorted_table, evaluation.access.ranges)) == rows, why


def test_whole_matches_are_proven(sorted_table):
    evaluation = prune(Compare(DAY, Op.GE, pa.scalar(855)), sorted_table)
    assert rows_of(sorted_table, evaluation.access.matches) == set(range(860, 1000))
    assert evaluation.access.verdict.tolist() == [Verdict.SKIP] * 8 + [Verdict.SELECTION, Verdict.SCAN]


def test_no_filter_is_fetched_where_it_could_change_nothing(sorted_table):
    state = prune(Or((eq("key", 997), IsNull(("word",)), Compare(DAY, Op.GE, pa.scalar(200)))), sorted_table)
    assert state.after(BLOOM_FILTERS).status == "not_applicable"
    assert "bloom" not in sorted_table.groups.traffic.bytes


def test_levels_say_what_became_of_them(sorted_table, tmp_path):
    asked = prune(eq("key", 997), sorted_table)
    assert [level.status for level in asked.states] == [
        "not_applicable",
        "consulted",
        "consulted",
        "not_applicable",
        "not_applicable",
    ]
    bare_options = {"write_statistics": False, "use_dictionary": False}
    pq.write_table(pa.table({"key": [1, 9]}), tmp_path / "bare.parquet", **bare_options)
    bare = prune(eq("key", 997), read_dataset(tmp_path / "bare.parquet"))
    assert [level.status for level in bare.states] == ["not_applicable", "absent", "absent", "absent", "absent"]
    assert all(level.why for level in bare.states)
    odd = prune(Unsupported("rand() < 1", "random"), sorted_table)
    assert [level.status for level in odd.states] == ["not_applicable"] * 5


def test_the_implied_range_says_what_spark_cannot_find_by_itself(sorted_table):
    evaluation = prune(Or((eq("day", 5), eq("key", KEY_OF_500))), sorted_table)
    implied = survivor_ranges(evaluation, sorted_table)
    assert render(implied) == "day BETWEEN 0 AND 9 OR day BETWEEN 500 AND 599"


def test_nothing_is_implied_where_spark_skips_as_much(sorted_table):
    assert survivor_ranges(prune(eq("day", 5), sorted_table), sorted_table) is None
    assert survivor_ranges(prune(eq("day", 5000), sorted_table), sorted_table) is None


def test_a_column_that_a_file_stores_otherwise_keeps_that_file_unless_spark_reads_it_whole(tmp_path):
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int64())}), tmp_path / "t/0.parquet")
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32())}), tmp_path / "t/1.parquet")
    pq.write_table(pa.table({"b": pa.array([1, 2], pa.int64())}), tmp_path / "t/2.parquet")
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.uint64())}), tmp_path / "t/3.parquet")
    evaluation = prune(eq("a", 7), read_dataset(tmp_path / "t"))
    assert evaluation.after(STATISTICS).remaining.tolist() == [False, False, False, True]


def test_nothing_is_implied_for_a_column_of_several_types(tmp_path):
    # Spark's own filters cut a limit down to the type of a file.
    (tmp_path / "t").mkdir()
    for i, kind in enumerate((pa.int64(), pa.int32())):
        rows = {"a": pa.array(range(1000), kind), "b": list(range(1000))}
        pq.write_table(pa.table(rows), tmp_path / f"t/{i}.parquet", row_group_size=100, write_page_index=True)
    index = read_dataset(tmp_path / "t")
    found = survivor_ranges(prune(Or((eq("a", 7), eq("b", 907))), index), index)
    assert found is None or found.column.name == "b"


def test_bounds_of_an_undefined_order_are_not_believed(sorted_table):
    provenances = tuple(replace(provenance, column_orders=()) for provenance in sorted_table.groups.provenances)
    groups = replace(sorted_table.footers.groups, provenances=provenances)
    unordered = metadata_index(groups, sorted_table.footers.source)
    evaluation = prune(eq("day", 5000), unordered)
    assert evaluation.after(STATISTICS).remaining.all()
    assert not evaluation.after(DICTIONARIES).remaining.any(), "a dictionary holds values, ordered by their type"


def test_a_row_group_without_rows_is_skipped(tmp_path):
    with pq.ParquetWriter(tmp_path / "t.parquet", pa.schema({"a": pa.int64()}), write_page_index=True) as writer:
        for rows in ([1], [], [2]):
            writer.write_table(pa.table({"a": pa.array(rows, pa.int64())}), row_group_size=10)
    index = read_dataset(tmp_path / "t.parquet")
    for predicate in (eq("a", 2), Unsupported("rand() < 1", "random"), Not(eq("a", 1))):
        evaluation = prune(predicate, index)
        assert (evaluation.access.verdict[index.groups.row_count == 0] == Verdict.SKIP).all()


def test_a_column_required_in_one_file_has_nulls_in_others(tmp_path):
    """Required columns cannot hold nulls, but that is so file by file; a file may also lack the column."""
    required = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64())])
    options = {"write_page_index": True, "max_rows_per_page": 5, "write_batch_size": 1}
    (tmp_path / "t").mkdir()
    numbers = list(range(10))
    pq.write_table(pa.table({"a": numbers, "b": numbers}, schema=required), tmp_path / "t/0.parquet", **options)
    pq.write_table(pa.table({"a": [None, 1] * 5, "b": numbers}), tmp_path / "t/1.parquet", **options)
    pq.write_table(pa.table({"b": numbers}), tmp_path / "t/2.parquet", **options)
    index = read_dataset(tmp_path / "t")
    is_null = prune(IsNull(("a",)), index)
    assert rows_of(index, is_null.access.ranges) == set(range(10, 30))
    assert rows_of(index, prune(Not(IsNull(("a",))), index).access.matches) == set(range(10))


def test_predicates_on_columns_that_are_not_pruned_on_keep_all(tmp_path):
    table = pa.table({"t": pa.array([1, 2], pa.time64("us")), "h": pa.array([1, 2], pa.float16()), "i": [1, 2]})
    pq.write_table(table, tmp_path / "t.parquet", write_page_index=True)
    index = read_dataset(tmp_path / "t.parquet")
    for leaf in (
        Compare(("t",), Op.GT, pa.scalar(9, pa.time64("us"))),
        Compare(("h",), Op.GT, pa.scalar(9, pa.float16())),
        eq("nowhere", 1),
        IsNull(("t",)),
    ):
        assert prune(leaf, index).access.verdict.tolist() == [Verdict.SCAN]
        assert prune(And((leaf, eq("i", 7))), index).access.verdict.tolist() == [Verdict.SKIP]


def test_dates_beyond_pythons_calendar(tmp_path):
    days = pa.array([-1_000_000, 0, 5, 10_000_000], pa.int32()).cast(pa.date32())
    table = pa.table({"t": days, "x": [1, 5, 2, 6]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2, bloom_filter_options={"t": {"ndv": 10}})
    index = read_dataset(tmp_path / "t.parquet")
    late = prune(Compare(("t",), Op.EQ, pa.scalar(10_000_000, pa.int32()).cast(pa.date32())), index)
    assert late.access.verdict.tolist() == [Verdict.SKIP, Verdict.SCAN]
    made = plan(str(tmp_path / "t.parquet"), where="t > DATE '2020-01-01' AND x > 0")
    assert "max 29349-01-26" in made.report.to_json()
    assert survivor_ranges(prune(eq("x", 6), index), index) is None


def test_old_dates_of_files_without_a_spark_version_may_be_rebased(tmp_path):
    """With datetimeRebaseModeInRead=LEGACY a session reads other days before 1582-10-15 than the file stores."""
    for name, day in (("old", dt.date(1500, 1, 1)), ("new", dt.date(1600, 1, 1))):
        table = pa.table({"t": pa.array([day], pa.date32())})
        pq.write_table(
            table, tmp_path / f"{name}.parquet", bloom_filter_options={"t": {"ndv": 9}}, write_page_index=True
        )
        other = pa.scalar(day - dt.timedelta(9), pa.date32())
        evaluation = prune(Compare(("t",), Op.EQ, other), read_dataset(tmp_path / f"{name}.parquet"))
        assert evaluation.access.verdict.tolist() == [Verdict.SCAN if name == "old" else Verdict.SKIP]


def test_a_directory_is_worth_more_than_footers_and_each_level_is_credited(tmp_path):
    """Partition values are evaluated first; a dictionary excludes values between the bounds; the totals add up."""
    for day in ("2024-01-01", "2024-01-02", "__HIVE_DEFAULT_PARTITION__"):
        for i, middle in enumerate(("b", "x")):
            (tmp_path / f"day={day}").mkdir(exist_ok=True)
            words = pa.table({"w": ["a", middle, "z"] * 20})
            path = tmp_path / f"day={day}/{i}.parquet"
            pq.write_table(words, path, write_page_index=True)
            os.utime(path, (1_600_000_000, 1_600_000_000))
    # The total counts the rows of all files, including excluded files.
    assert plan(tmp_path, where="w >= 'a'").report.total.rows == 360
    report = plan(tmp_path, where="day >= '2024-01-02' AND w = 'b'").report
    left = {level.level: (level.status, level.kept.files) for level in report.levels}
    assert left == {
        "partition_values": ("consulted", 2),
        "row_group_statistics": ("consulted", 2),
        "bloom_filter": ("absent", 2),
        "dictionary": ("consulted", 1),
        "page_index": ("consulted", 1),
    }
    assert sum(level.skipped_rows for level in report.levels) == report.total.rows - report.kept.rows == 300
    assert [file.row_groups[0].level for file in report.files] == [
        *["partition_values"] * 2,
        *["", "dictionary"],
        *["partition_values"] * 2,
    ]
    assert "day is 2024-01-01 by its directory" in report.files[0].row_groups[0].reason
    assert "day is null by its directory" in report.files[4].row_groups[0].reason
    for text in (str(report), report.to_html()):
        assert "Partition values" in text
        assert "Dictionary" in text
    whole = plan(tmp_path, where="day = DATE '2024-01-01'")
    assert whole.evaluation.access.matches.row_totals(6).tolist() == [60, 60, 0, 0, 0, 0], "proven without a bound"


def test_no_dictionary_is_read_where_it_could_change_nothing(tmp_path):
    words = pa.table({"w": ["a", "b", "z"] * 20, "x": range(60)})
    pq.write_table(words, tmp_path / "t.parquet", write_statistics=["w"])
    index = read_dataset(tmp_path / "t.parquet")
    either = Or((eq("w", "m"), Unsupported("rand() < 1", "random")))
    for predicate in (either, eq("w", "zz"), IsNull(("w",)), Not(IsNull(("w",)))):
        assert prune(predicate, index).after(DICTIONARIES).status == "not_applicable"
    assert "dictionary" not in index.groups.traffic.bytes
    between = Interval(("w",), pa.scalar("c"), pa.scalar("y"))
    assert prune(between, index).access.verdict.tolist() == [Verdict.SKIP], "ranges profit too"
    assert index.groups.traffic.bytes["dictionary"] > 0


def test_a_dictionary_that_costs_more_than_it_could_save_is_left_alone(tmp_path):
    many = pa.table({"a": pa.array([i * 2 for i in range(30_000)], pa.int64())})
    pq.write_table(many, tmp_path / "t.parquet", compression="none")
    index = read_dataset(tmp_path / "t.parquet")
    evaluation = prune(eq("a", 7), index)
    assert evaluation.after(DICTIONARIES).status == "not_applicable"
    assert evaluation.after(DICTIONARIES).why == "reading some dictionaries would cost more than it could save"
    assert "dictionary" not in index.groups.traffic.bytes


def test_dictionaries_of_too_many_values_are_read_of_a_few_row_groups_alone(tmp_path):
    rows = pa.table({"a": np.arange(60_000) // 2, "few": np.arange(60_000) // 6_000 + 1000 * (np.arange(60_000) % 2)})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=6_000)
    found = plan(tmp_path / "t.parquet", where="a % 2000 = 77")
    assert found.evaluation.access.verdict.tolist().count(Verdict.SKIP) == 0
    cached = found.index.dictionaries.cached(found.index.groups.columns[0], np.arange(10))
    assert [dictionary is not None for dictionary in cached] == [True] * PROBED + [False] * 6
    each = plan(tmp_path / "t.parquet", where="few % 1000 = 7")
    assert each.evaluation.access.verdict.tolist().count(Verdict.SKIP) == 9


CAST = (
    "no equality or IN to look up; w = 1 does not prune: Spark casts the strings of the column to numbers; with "
    "ansi.enabled it raises an error for a string that is not a number"
)


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("w = 1", CAST),
        ("x > 3 AND w = 1", CAST),
        ("x > 3", "no equality or IN to look up"),
    ],
)
def test_filters_that_are_not_asked_say_why(tmp_path, where, why):
    pq.write_table(pa.table({"w": ["1", "2", "3"], "x": [3, 3, 5]}), tmp_path / "t.parquet")
    (level,) = (it for it in plan(tmp_path, where=where).report.levels if it.level == BLOOM_FILTERS.name)
    assert (level.status, level.why) == ("not_applicable", why)


@pytest.fixture
def sorted_floats(tmp_path):
    """Write 1,000 doubles in 10 sorted row groups, with a flag, bytes, a struct field, and NaN in the last row."""
    numbers = [i / 10 for i in range(999)] + [float("nan")]
    table = pa.table(
        {
            "x": numbers,
            "flag": [i >= 500 for i in range(1000)],
            "blob": [bytes([i // 10]) for i in range(1000)],
            "at": [None if i < 200 else {"x": i} for i in range(1000)],
        }
    )
    options = {"row_group_size": 100, "max_rows_per_page": 10, "write_batch_size": 1, "write_page_index": True}
    filters = {"x": {"ndv": 100, "fpp": 0.001}, "at.x": {"ndv": 100, "fpp": 0.001}}
    pq.write_table(table, tmp_path / "t.parquet", bloom_filter_options=filters, use_dictionary=False, **options)
    return tmp_path / "t.parquet"


FLOAT_CASES = [
    ("x = 5.05", (1, 0, 0), 0, "bounds leave one row group, its filter denies"),
    ("x >= 99.0", (10, 10, 10), 1000, "nothing counts NaN here, and NaN is larger"),
    ("x >= 99.0 AND x < 99.5", (1, 1, 1), 10, "NaN lies outside of an interval"),
    ("x BETWEEN 5 AND 5.25", (1, 1, 1), 10, "an interval"),
    ("NOT x < 99 AND x <= 99.5", (1, 1, 1), 10, "an interval, however it is written"),
    ("x < 5", (1, 1, 1), 50, "NaN is not smaller"),
    ("x = 'NaN'", (10, 10, 10), 1000, "NaN may be anywhere"),
    ("isnan(x)", (10, 10, 10), 1000, "NaN may be anywhere"),
    ("x <=> NULL", (0, 0, 0), 0, "no null"),
    ("flag", (5, 5, 5), 500, "a bare column"),
    ("NOT flag", (5, 5, 5), 500, "its opposite"),
    ("flag IS UNKNOWN", (0, 0, 0), 0, "no null"),
    ("(flag AND x < 40) IS TRUE", (0, 0, 0), 0, "a whole condition"),
    ("blob = X'2A'", (1, 1, 1), 10, "bytes"),
    ("blob > X'62FF'", (1, 1, 1), 10, "bytes compare like strings"),
    ("at.x = 555", (1, 1, 1), 10, "a field of a struct"),
    ("at.x IS NULL", (2, 2, 2), 200, "a struct that is null has fields that are null"),
    ("at.x IS DISTINCT FROM 555", (10, 10, 10), 1000, "nulls differ"),
    ("NOT (at.x <=> NULL) AND at.x < 250", (1, 1, 1), 50, "null-safe"),
]


@pytest.mark.parametrize(("where", "alive", "rows", "why"), FLOAT_CASES, ids=[where for where, *_ in FLOAT_CASES])
def test_floats_flags_bytes_and_fields(sorted_floats, where, alive, rows, why):
    made = plan(str(sorted_floats), where=where)
    evaluation = made.evaluation
    asked = (evaluation.after(STATISTICS), evaluation.after(BLOOM_FILTERS), evaluation.pages)
    assert tuple(int(level.remaining.sum()) for level in asked) == alive, why
    assert len(rows_of(made.index, made.evaluation.access.ranges)) == rows, why


def test_a_known_count_of_nan_lets_bounds_decide(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    for i in range(10):
        part = pa.table({"x": [i + j / 10 for j in range(10)]})
        with duckdb.connect() as connection:
            connection.register("part", part)
            connection.execute(f"COPY part TO '{tmp_path}/{i}.parquet' (FORMAT parquet)")
    for where, files in (("x > 7.5", 3), ("x >= 'NaN'", 0), ("x <> 5", 10), ("NOT x < 9", 1), ("isnan(x)", 0)):
        assert plan(str(tmp_path), where=where).evaluation.after(STATISTICS).remaining.sum() == files, where


def test_both_zeros_are_one_value(tmp_path):
    """A filter has the bits of the zero that was written, and so do bounds of old writers."""
    for i, zero in enumerate((0.0, -0.0, 1.0)):
        table = pa.table({"x": [zero], "y": pa.array([zero], pa.float32())})
        filters = {"x": {"ndv": 9, "fpp": 1e-6}, "y": {"ndv": 9, "fpp": 1e-6}}
        pq.write_table(table, tmp_path / f"{i}.parquet", write_statistics=False, bloom_filter_options=filters)
    for where in ("x = 0", "x = -0D", "x IN (-0.0, 5)", "y = 0F", "y <=> -0D"):
        left = plan(str(tmp_path), where=where).evaluation.after(BLOOM_FILTERS).remaining
        assert left.tolist() == [True, True, False], where


@pytest.mark.parametrize(
    "where", ["{} > 3", "{} = 'NaN'", "{} = 0.0", "{} = -0D", "{} BETWEEN -0D AND 1", "{} IN (0.0, 9)", "NOT {} < 6"]
)
def test_files_that_order_floats_in_either_way(parquet_testing, where):
    path = parquet_testing / "data/floating_orders_nan_count.parquet"
    rows = pq.read_table(path)
    index = read_dataset(path)
    asked = 0
    for column in index.groups.columns:
        if column.unsupported:
            continue
        made = plan(str(path), where=where.format(f"`{column.name}`"))
        values = rows.column(column.name).to_pylist()
        selected = {i for i, value in enumerate(values) if truth(made.lowered.predicate, {column.name: value}) is True}
        assert selected <= rows_of(made.index, made.evaluation.access.ranges), column.name
        assert rows_of(made.index, made.evaluation.access.matches) <= selected, column.name
        asked += 1
    assert asked == 4, "float and double in either order; half floats are nothing to Spark"


def test_a_nan_among_the_bounds_spoils_them(parquet_testing):
    made = plan(str(parquet_testing / "data/nan_in_stats.parquet"), where="x > 5")
    assert made.evaluation.access.verdict.tolist() == [Verdict.SCAN]


def test_every_level_has_a_title_and_reports_list_them_in_cost_order():
    assert [level.name for level in LEVELS] == [known.key for known in KnownLevel]


def test_a_new_kind_of_evidence_is_an_entry(tmp_path, monkeypatch):
    """Planning, explanations and reports use only the entries of LEVELS."""

    def evaluate_boxes(query, before):
        outcomes = before.by_leaf.copy()
        outcomes[0, 1] = Outcomes.FALSE
        return LevelState("geospatial_boxes", query.fold(outcomes), outcomes, "consulted")

    def explain(state, query, leaf, column, position):
        return "the box may hold it"

    entry = PruningLevel("geospatial_boxes", evaluate_boxes, denies="its box denies it; ", explain=explain)
    for module in (evaluation, reasons):
        monkeypatch.setattr(module, "LEVELS", (*LEVELS[:3], entry, *LEVELS[3:]))
    pq.write_table(pa.table({"a": range(100)}), tmp_path / "f.parquet", row_group_size=20)
    report = plan(str(tmp_path), where="a IN (25, 45)").report
    skipped, kept = report.files[0].row_groups[1:3]
    assert (skipped.verdict, skipped.level) == ("skip", "geospatial_boxes")
    assert "its box denies it" in skipped.reason
    assert "the box may hold it" in kept.reason
    assert "Geospatial boxes" in str(report)
    assert "Geospatial boxes" in report.to_html()


def test_tuples_of_a_directory_value_and_a_column_are_compared_together(tmp_path):
    """The row groups of k hold 0 to 9, 10 to 19, ... in each directory; pages hold 5 rows."""
    for day in (1, 2, 3):
        path = tmp_path / f"day={day}" / "a.parquet"
        path.parent.mkdir()
        pq.write_table(pa.table({"k": range(40)}), path, row_group_size=10, write_page_index=True, max_rows_per_page=5)
    tuples = [(1, 3), (2, 17), (2, 31), (9, 1)]
    day, k = (
        pa.array(values, kind) for values, kind in zip(zip(*tuples, strict=True), (pa.int32(), pa.int64()), strict=True)
    )
    opened = open_as_written(str(tmp_path))
    predicate = InTuples((("day",), ("k",)), (day, k))
    answers = opened.answers(predicate)
    assert answers.kept.tolist() == [True, True, False]
    index = opened.read(answers.left)
    ranges = prune(predicate, index, answers).access.ranges
    found = zip(
        index.groups.file[ranges.row_group],
        index.groups.ordinal[ranges.row_group],
        ranges.start,
        ranges.stop,
        strict=True,
    )
    assert [tuple(map(int, each)) for each in found] == [(0, 0, 0, 5), (1, 1, 5, 10), (1, 3, 0, 5)]
