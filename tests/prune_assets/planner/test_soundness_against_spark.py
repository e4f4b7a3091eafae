"""Reads of tables with partitions, odd names and changing files; `tests/fuzz` covers arbitrary predicates."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from needs_spark import needs_spark

import prune_assets as pr
from parquet_core.pruning.access_plan import Verdict
from parquet_core.pruning.levels import PARTITIONS
from parquet_core.pruning.predicate import columns_of
from prune_assets.planner.explain.plan import plan
from prune_assets.spark.scan_metrics import scan_metrics
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.spark.spark_versions import to_arrow
from tests.prune_assets.planner.other_writers import write_by_spark
from tests.prune_assets.planner.predicate_cases import random_table
from tests.prune_assets.planner.sql_cases import predicate

pytestmark = pytest.mark.spark


def answers_of_spark(spark, directory, predicates):
    """Evaluate the predicates as columns, where nothing is pushed down: {(file, row): [answers]}."""
    columns = [f"({text}) AS p{i}" for i, text in enumerate(predicates)]
    rows = (
        spark.read.parquet(str(directory)).selectExpr("_metadata.file_path", "_metadata.row_index", *columns).collect()
    )
    return {(unquote(urlsplit(row[0]).path), row[1]): row[2:] for row in rows}


def named_rows(index, ranges):
    base = np.zeros(len(index), np.int64)
    for i in range(1, len(index)):
        base[i] = base[i - 1] + index.groups.row_count[i - 1] if index.groups.file[i] == index.groups.file[i - 1] else 0
    return {
        (index.groups.files[index.groups.file[group]].path, int(base[group]) + row)
        for group, start, stop in zip(ranges.row_group, ranges.start, ranges.stop, strict=True)
        for row in range(start, stop)
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(2))
def test_a_pruned_read_gives_the_same_rows(spark, tmp_path, seed):
    chance = random.Random(seed)
    table = random_table(chance)
    write_by_spark(spark, chance, table, tmp_path / "t")
    whole = spark.read.parquet(str(tmp_path / "t"))
    for _ in range(12):
        where = predicate(chance)
        made = plan(tmp_path / "t", where=where, session=spark)
        pruned = pr.read(str(tmp_path / "t"), where=where, session=spark, plan=made)
        assert pruned.schema == whole.schema
        assert sorted(map(repr, pruned.collect())) == sorted(map(repr, whole.where(where).collect())), where


PARTITION_VALUES = {
    "num": ["1", "02", "-3", "15"],
    "big": ["1", "3000000000", "99999999999999999999"],
    "day": ["1994-01-05", "1994-01-20", "2024-02-29"],
    "mix": ["10", "9", "1994-01-05", "x"],
    "txt": ["a%2Fb", "a b", "\u00e9", "zz"],
    "odd": ["1", "1.5", "7"],
}
PARTITION_LITERALS = {
    "num": ["1", "2", "-3", "2.5", "40"],
    "big": ["1", "3000000000", "99999999999999999999", "5"],
    "day": ["DATE '1994-01-05'", "'1994-01-20'", "DATE '2000-01-01'"],
    "mix": ["'10'", "'9'", "'1994-01-05'", "'y'"],
    "txt": ["'a/b'", "'a b'", "'\u00e9'", "'zz'", "'%'"],
    "odd": ["1", "1.5", "2"],
}


def write_directories(chance, table, root):
    """Spread a table over directories of one or two columns; returns their names."""
    names = chance.sample(sorted(PARTITION_VALUES), chance.choice([1, 2]))
    for i in range(6):
        values = [chance.choice([*PARTITION_VALUES[name], "__HIVE_DEFAULT_PARTITION__"]) for name in names]
        # Of numbers alone Spark would make a number, which its literals are not all.
        values = ["x" if name == "mix" and i == 0 else value for name, value in zip(names, values, strict=True)]
        directory = root.joinpath(*(f"{name}={value}" for name, value in zip(names, values, strict=True)))
        directory.mkdir(parents=True, exist_ok=True)
        first = chance.randrange(table.num_rows - 60)
        pq.write_table(table.slice(first, 60), directory / f"{i}.parquet", row_group_size=30, write_page_index=True)
    return names


def predicate_on(chance, names):
    """Combine conditions on partition columns with conditions on columns of the files."""
    parts = []
    for _ in range(chance.randint(1, 3)):
        name = chance.choice(names)
        one, two = (chance.choice(PARTITION_LITERALS[name]) for _ in range(2))
        op = chance.choice(["=", "<>", "<", "<=", ">", ">="])
        forms = [f"{name} {op} {one}", f"{name} IN ({one}, {two})", f"{name} BETWEEN {one} AND {two}"]
        parts.append(chance.choice([*forms, *forms, f"{name} IS NULL", f"{name} IS NOT NULL", f"{name} <=> {one}"]))
    if chance.random() < 0.5:
        parts.append(predicate(chance, 1))
    text = f" {chance.choice(['AND', 'OR'])} ".join(parts)
    return f"NOT ({text})" if chance.random() < 0.3 else text


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(4))
def test_no_row_below_a_directory_that_spark_selects_is_skipped(spark, tmp_path, seed, monkeypatch):
    """Without a cache no plan knows of files that directory names rule out but what these say."""
    monkeypatch.setenv("PRUNE_CACHE_BYTES", "0")
    chance = random.Random(seed)
    names = write_directories(chance, random_table(chance), tmp_path / "t")
    predicates = [predicate_on(chance, names) for _ in range(40)]
    truth = answers_of_spark(spark, tmp_path / "t", predicates)
    asked = unopened = 0
    for i, where in enumerate(predicates):
        selected = {place for place, answers in truth.items() if answers[i] is True}
        made = plan(tmp_path / "t", where=where, session=spark)
        unopened += made.report.unopened_files
        assert selected <= named_rows(made.index, made.evaluation.access.ranges), where
        assert named_rows(made.index, made.evaluation.access.matches) <= selected, where
        asked += made.evaluation.after(PARTITIONS).status == "consulted"
        first, *others = made.report.levels
        kept = [level.kept.rows for level in made.report.levels]
        assert kept == sorted(kept, reverse=True)
        assert (first.skipped_rows is None) == (made.report.total.rows is None) == (made.report.unopened_files > 0)
        assert first.kept.rows - sum(level.skipped_rows for level in others) == made.report.kept.rows
    for where in predicates[:4]:
        same_rows(spark, tmp_path / "t", where)
    certain = [name for name in names if (name,) in made.index.groups.partition_values]
    assert asked > 20 or not certain, names
    assert unopened > 20 or not certain, names


def test_reads_that_left_files_unopened_have_the_rows_and_schema_of_spark(spark, tmp_path, monkeypatch):
    """The first file lacks a column and has another column in a different type; other footers are not read."""
    monkeypatch.setenv("PRUNE_CACHE_BYTES", "0")
    for day, kind, more in (
        (1, pa.int32(), {}),
        (2, pa.int32(), {"w": ["a", "b"]}),
        (3, pa.int64(), {"w": ["c", "d"]}),
    ):
        directory = tmp_path / f"t/day={day}"
        directory.mkdir(parents=True)
        table = pa.table({"id": pa.array([10 * day, 10 * day + 1], kind), **more})
        pq.write_table(table, directory / "a.parquet")
    for where, unopened in (
        ("day = 1 AND id = 10", 2),
        ("day = 2 AND id >= 20", 1),
        ("day < 3 AND (day = 2 OR id = 11)", 1),
        ("day <> 3 AND NOT (id = 20)", 1),
        ("day > 7 AND id = 20", 2),
        ("day IS NULL OR day < 2 AND id = 11", 2),
    ):
        made = plan(tmp_path / "t", where=where, session=spark)
        assert made.report.unopened_files == unopened, where
        same_rows(spark, tmp_path / "t", where)
    found = pr.read(tmp_path / "t", where=where, session=spark, plan=made)
    assert found.collect() == spark.read.parquet(str(tmp_path / "t")).where(where).collect()
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), tmp_path / "t/day=3/a.parquet")
    with pytest.raises(pr.PruneError, match="changed since it was planned; plan again"):
        pr.read(tmp_path / "t", where=where, session=spark, plan=made)


def test_files_beside_the_directories_are_passed_over_as_spark_does(spark, tmp_path):
    (tmp_path / "p=1").mkdir()
    pq.write_table(pa.table({"id": [1]}), tmp_path / "p=1/a.parquet")
    pq.write_table(pa.table({"id": [2]}), tmp_path / "b.parquet")
    assert same_rows(spark, tmp_path, "id = 2") == []
    assert len(same_rows(spark, tmp_path, "id < 3")) == 1


def test_partition_columns_can_be_chosen(spark, tmp_path):
    for day in (1, 2):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"id": [day]}), tmp_path / f"day={day}/a.parquet")
    found = pr.read(tmp_path, where="day = 2", session=spark, columns=["day", "id"])
    assert [tuple(row) for row in found.collect()] == [(2, 2)]


def test_a_session_that_infers_no_types_compares_strings(spark, tmp_path):
    for day in (9, 10):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"id": [day]}), tmp_path / f"day={day}/a.parquet")
    assert len(same_rows(spark, tmp_path, "day < 10")) == 1
    by_default = plan(tmp_path, where="day < '5'")
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    try:
        assert len(same_rows(spark, tmp_path, "day < '5'")) == 1
        with pytest.raises(pr.PruneError, match="pass session= to plan"):
            pr.read(tmp_path, where="day < '5'", session=spark, plan=by_default)
    finally:
        spark.conf.unset("spark.sql.sources.partitionColumnTypeInference.enabled")


@needs_spark(4, 1, "the rows of a row group can be limited")
def test_only_a_dictionary_knows_that_a_value_between_the_bounds_is_missing(spark, tmp_path):
    """parquet-java writes no bloom filter if the dictionary has all values, even if a bloom filter is requested."""
    rows = spark.range(4_000).selectExpr("id", "if(id % 2 = 0, 'AIR', if(id < 2000, 'SHIP', 'RAIL')) AS mode")
    options = {"parquet.bloom.filter.enabled#mode": "true", "parquet.bloom.filter.expected.ndv#mode": "4"}
    options |= {"parquet.block.row.count.limit": "1000", "parquet.page.size.row.check.min": "1"}
    rows.coalesce(1).sortWithinPartitions("id").write.options(**options).parquet(str(tmp_path / "t"))
    report = plan(tmp_path / "t", where="mode = 'RAIL'", session=spark).report
    assert {level.level: (level.status, level.kept.row_groups) for level in report.levels} == {
        "partition_values": ("not_applicable", 4),
        "row_group_statistics": ("consulted", 4),
        "bloom_filter": ("absent", 4),
        "dictionary": ("consulted", 2),
        "page_index": ("consulted", 2),
    }
    assert report.dictionary_bytes > 0
    skipped, _ = [group for file in report.files for group in file.row_groups if group.level == "dictionary"]
    assert skipped.evidence == ("row_group_statistics", "dictionary")
    assert "no dictionary value matches; mode in [AIR, SHIP], 0 nulls" in skipped.reason
    assert len(same_rows(spark, tmp_path / "t", "mode = 'RAIL'")) == 1_000


@needs_spark(4, 1, "the rows of a row group can be limited")
def test_what_the_survivors_have_in_common_is_handed_over(spark, tmp_path):
    """parquet-java asks one level after the other, so an OR over two columns keeps every row group."""
    rows = spark.range(10_000).selectExpr("id AS day", "id * 7919 % 10000 * 2 AS key")
    layout = pr.LayoutSpec(sort_by=["day"], bloom={"key": 0.001}, row_group_rows=500, page_rows=100, files=2)
    pr.write(rows, tmp_path / "t", layout=layout)
    where = f"day = 17 OR key = {7919 * 5_000 % 10_000 * 2}"
    made = plan(tmp_path / "t", where=where, session=spark)
    assert {column for part in made.derived_filters for column in columns_of(part)} == {("day",)}
    pruned = pr.read(tmp_path / "t", where=where, session=spark, plan=made)
    whole = spark.read.parquet(str(tmp_path / "t")).where(where)
    assert sorted(pruned.collect()) == sorted(whole.collect())
    assert [row.day for row in pruned.sort("day").collect()] == [17, 5_000]
    (with_plan,), (alone,) = scan_metrics(pruned), scan_metrics(whole)
    assert with_plan.rows <= 600, "a page of the day and the row group of the key"
    assert alone.rows > 9_000, "Spark alone reads nearly all: it drops a page of a row or two at most"


def test_a_read_refuses_what_changed_since_the_plan(spark, tmp_path):
    for i in range(2):
        pq.write_table(pa.table({"a": [10 * i]}), tmp_path / f"{i}.parquet")
    made = plan(tmp_path, where="a = 0", session=spark)
    assert len(made.surviving_files) == 1
    assert pr.read(tmp_path, where="a = 0", session=spark, plan=made).count() == 1
    for spoil in (
        lambda: pq.write_table(pa.table({"a": [0, 0]}), tmp_path / "1.parquet"),  # it was to be skipped
        lambda: pq.write_table(pa.table({"a": [0]}), tmp_path / "2.parquet"),
        (tmp_path / "0.parquet").unlink,
    ):
        made = plan(tmp_path, where="a = 0", session=spark)
        spoil()
        with pytest.raises(pr.PruneError, match="changed since it was planned; plan again"):
            pr.read(tmp_path, where="a = 0", session=spark, plan=made)


def same_rows(spark, table, where):
    """Read with and without the plan and compare; return the rows, sorted."""
    expected = spark.read.parquet(str(table)).where(where)
    found = pr.read(table, where=where, session=spark)
    assert found.schema == expected.schema
    rows = sorted(map(repr, expected.collect()))
    assert sorted(map(repr, found.collect())) == rows, where
    return rows


def test_a_directory_overrides_a_column_of_the_file(spark, tmp_path):
    for day in (1, 2):
        for spelling in ("day", "Day"):
            directory = tmp_path / spelling / f"{spelling}={day}"
            directory.mkdir(parents=True)
            pq.write_table(pa.table({"id": [day, 7], "day": [99, 99]}), directory / "a.parquet")
    for spelling in ("day", "Day"):
        assert len(same_rows(spark, tmp_path / spelling, "day = 1")) == 2
        assert len(same_rows(spark, tmp_path / spelling, "id = 2 AND day < 50")) == 1


def test_directories_under_a_pattern_keep_their_values(spark, tmp_path):
    for day, ids in ((1, [10, 11]), (2, [20, 11])):
        directory = tmp_path / f"t1/day={day}"
        directory.mkdir(parents=True)
        pq.write_table(pa.table({"id": ids}), directory / "a.parquet")
    assert len(same_rows(spark, f"{tmp_path}/t1*", "id = 10 AND day = 1")) == 1


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
def test_dates_of_the_old_calendar(spark, tmp_path, mode):
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", mode)
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", mode)
    try:
        rows = spark.range(200).selectExpr("id", "date_add(DATE '1500-01-01', cast(id AS int)) AS t")
        options = {"parquet.bloom.filter.enabled#t": "true", "parquet.bloom.filter.expected.ndv#t": "200"}
        options |= {"parquet.enable.dictionary#t": "false"}
        rows.coalesce(1).write.options(**options).parquet(str(tmp_path / "spark"))
        assert len(same_rows(spark, tmp_path / "spark", "t IN (DATE '1500-01-01', DATE '1500-01-02')")) == 2
        ancient = pa.table({"t": [dt.date(1500, 1, 1), dt.date(1500, 1, 2)]})
        (tmp_path / "arrow").mkdir()
        pq.write_table(ancient, tmp_path / "arrow/0.parquet", bloom_filter_options={"t": {"ndv": 9}})
        day = "1499-12-23" if mode == "LEGACY" else "1500-01-01"
        assert len(same_rows(spark, tmp_path / "arrow", f"t = DATE '{day}'")) == 1
    finally:
        spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInWrite")
        spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")


@pytest.mark.parametrize(
    ("mode", "zone"), [("CORRECTED", "UTC"), ("LEGACY", "Asia/Manila"), ("LEGACY", "Africa/Monrovia")]
)
def test_placeholders_of_another_calendar_are_skipped_by_later_days(spark, tmp_path, mode, zone):
    """Rows without a date often hold 0001-01-01 or 1900-01-01; bounds of other rows in the row group may be later."""
    days = [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 14), dt.date(1582, 10, 15), dt.date(2024, 1, 1)]
    moments = [*(dt.datetime(it.year, it.month, it.day) for it in days), dt.datetime(1900, 1, 1)]  # noqa: DTZ001
    moments += [dt.datetime(1899, 12, 31, 23, 59, 59), dt.datetime(1900, 1, 2, 1, 22)]  # noqa: DTZ001
    rows = [(day, moment) for day in days for moment in moments]
    table = pa.table(
        {
            "i": range(len(rows)),
            "d": pa.array([day for day, _ in rows]),
            "t": pa.array([moment for _, moment in rows], pa.timestamp("us", "UTC")),
        }
    )
    wheres = [f"d {op} DATE '{day.isoformat()}'" for op in ("=", "<", ">=") for day in days]
    wheres += [f"t {op} TIMESTAMP '{it.isoformat(' ')}'" for op in ("=", "<", ">=") for it in moments]
    settings = {"spark.sql.parquet.datetimeRebaseModeInRead": mode, "spark.sql.session.timeZone": zone}
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        for rows_a_group in (1, len(moments)):
            file = tmp_path / f"{rows_a_group}.parquet"
            pq.write_table(table, file, row_group_size=rows_a_group, write_page_index=True)
            selected = spark.read.parquet(str(file)).selectExpr("i", *wheres).collect()
            for number, where in enumerate(wheres, 1):
                kept = plan(file, where=where, session=spark).evaluation.access.verdict != Verdict.SKIP
                assert all(kept[row[0] // rows_a_group] for row in selected if row[number]), where
            late = plan(file, where="d > DATE '2000-01-01' AND t > TIMESTAMP '2000-01-01'", session=spark)
            assert late.report.kept.row_groups == 1
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_the_schema_is_that_of_the_first_file_by_path_or_of_a_summary(spark, tmp_path):
    spark.sql("SELECT 'abc' COLLATE utf8_lcase AS v").coalesce(1).write.parquet(str(tmp_path / "s"))
    collated = next((tmp_path / "s").glob("part-*.parquet"))
    table = tmp_path / "t"
    table.mkdir()
    (table / "a.parquet").write_bytes(collated.read_bytes())
    pq.write_table(pa.table({"v": ["ABC", "ABC"]}), table / "b.parquet")
    files = [str(table / "b.parquet"), str(table / "a.parquet")]
    where = "v = 'abc'"
    expected = sorted(map(repr, spark.read.parquet(*files).where(where).collect()))
    assert len(expected) == 3
    assert sorted(map(repr, pr.read(files, where=where, session=spark).collect())) == expected
    (table / "a.parquet").unlink()
    assert len(same_rows(spark, table, where)) == 0
    (table / "_common_metadata").write_bytes(collated.read_bytes())
    assert len(same_rows(spark, table, where)) == 2


def test_unsigned_numbers_beyond_long_are_handed_over(spark, tmp_path):
    high = [2**63 + 10 * i + j for i in range(4) for j in (0, 9)]
    numbers = pa.table({"u": pa.array(high, pa.uint64()), "x": [0, 1000, 1, 1000, 2, 1000, 3, 1000]})
    pq.write_table(numbers, tmp_path / "t.parquet", row_group_size=2, bloom_filter_options={"x": {"ndv": 9}})
    assert plan(tmp_path, where="x = 2 OR u = 0", session=spark).derived_filters
    assert len(same_rows(spark, tmp_path, "x = 2 OR u = 0")) == 1


def test_a_table_without_rows(spark, tmp_path):
    layout = pr.LayoutSpec(sort_by=["id"], bloom={"id": 0.01})
    pr.write(spark.range(5).limit(0), tmp_path / "t", layout=layout)
    assert len(same_rows(spark, tmp_path / "t", "id = 3 OR id < 2")) == 0
    report = plan(tmp_path / "t", where="id = 3").report
    assert (report.total.files, report.total.rows, report.kept.bytes) == (0, 0, 0)
    assert report.to_html()
    assert str(report)
    assert {finding.severity for finding in pr.check(tmp_path / "t", layout=layout)} == {pr.Severity.INFO}


def test_merged_schemas_are_refused(spark, tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "0.parquet")
    spark.conf.set("spark.sql.parquet.mergeSchema", "true")
    try:
        with pytest.raises(pr.PruneError, match="mergeSchema"):
            pr.read(tmp_path, where="a = 1", session=spark)
    finally:
        spark.conf.unset("spark.sql.parquet.mergeSchema")


@pytest.mark.parametrize(
    ("key", "where"),
    [
        ("spark.sql.parser.escapedStringLiterals", r"word = 'a\tb'"),
        pytest.param(
            "spark.sql.legacy.consecutiveStringLiterals.enabled",
            "word = 'it''s'",
            marks=needs_spark(4, 0, "a quote in a literal may be written twice"),
        ),
        ("spark.sql.caseSensitive", "word = 'x'"),
    ],
)
def test_settings_that_change_what_a_predicate_means_are_seen(spark, tmp_path, key, where):
    words = [[r"a\tb"], ["a\tb"], ["its"], ["it's"], ["x"]]
    for i, rows in enumerate(words):
        pq.write_table(pa.table({"word": rows}), tmp_path / f"{i}.parquet")
    by_default = plan(tmp_path, where=where)
    spark.conf.set(key, "true")
    try:
        expected = spark.read.parquet(str(tmp_path)).where(where).collect()
        assert len(expected) == 1
        assert pr.read(tmp_path, where=where, session=spark).collect() == expected
        with pytest.raises(pr.PruneError, match="pass session= to plan"):
            pr.read(tmp_path, where=where, session=spark, plan=by_default)
    finally:
        spark.conf.unset(key)


def test_names_that_look_like_patterns_are_read(spark, tmp_path):
    directory = tmp_path / "a[b]{c} ?"
    directory.mkdir()
    for i in (1, 2):
        pq.write_table(pa.table({"id": [i]}), directory / f"part[{i}]*.parquet")
    where = "id = 2"
    assert [tuple(row) for row in pr.read(directory, where=where, session=spark).collect()] == [(2,)]
    pattern = f"{tmp_path}/a*/part*2*"
    assert [tuple(row) for row in pr.read(pattern, where=where, session=spark).collect()] == [(2,)]
    assert pr.read(directory, where="id = 3", session=spark).collect() == []


def test_partition_directories_keep_their_columns(spark, tmp_path):
    rows = spark.range(100).selectExpr("id", "id % 3 AS p")
    rows.write.partitionBy("p").parquet(str(tmp_path / "t"))
    where = "(id = 7 OR id = 8) AND p < 2"
    pruned = pr.read(str(tmp_path / "t"), where=where, session=spark)
    expected = spark.read.parquet(str(tmp_path / "t")).where(where)
    assert pruned.schema == expected.schema
    assert sorted(pruned.collect()) == sorted(expected.collect())


def check(spark, directory, predicates):
    """Compare plans with Spark's answer for every row; return the number of skipped rows."""
    truth, skipped = answers_of_spark(spark, directory, predicates), 0
    for i, where in enumerate(predicates):
        selected = {place for place, answers in truth.items() if answers[i] is True}
        made = plan(directory, where=where, session=spark)
        kept = named_rows(made.index, made.evaluation.access.ranges)
        assert selected <= kept, where
        assert named_rows(made.index, made.evaluation.access.matches) <= selected, where
        skipped += len(truth) - len(kept)
    return skipped


def test_a_decimal_just_below_a_whole_number_may_become_that_number(spark, tmp_path):
    """Spark casts long decimals to int by way of a double."""
    below = ["0." + "9" * 20, "-0." + "9" * 20, "6." + "9" * 17, "126.5", "1." + "0" * 20, "-128." + "9" * 17, "0"]
    values = {
        f"d{digits}_{scale}": (digits, scale) for digits, scale in ((38, 20), (20, 17), (18, 15), (18, 6), (15, 12))
    }
    table = {
        name: pa.array(
            [decimal.Decimal(text).quantize(decimal.Decimal(1).scaleb(-scale), decimal.ROUND_DOWN) for text in below],
            pa.decimal128(digits, scale),
        )
        for name, (digits, scale) in values.items()
    }
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table(table), tmp_path / "t/a.parquet", row_group_size=1)
    casts = [
        f"{how}({name} AS {kind})" for name in table for how in ("cast", "try_cast") for kind in ("smallint", "int")
    ]
    casts += [f"cast({name} AS bigint)" for name in table]
    predicates = [f"{cast} {test}" for cast in casts for test in ("= 0", "= 1", "= -1", "> 6", "<= -129")]
    assert check(spark, tmp_path / "t", predicates) > 300


def test_no_row_on_which_spark_raises_is_proven_to_match(spark, tmp_path):
    """Spark raises on the second row, whatever the other part of these says."""
    from pyspark.errors import PySparkException

    (tmp_path / "t").mkdir()
    table = pa.table({"x": pa.array([1, 2**31 - 1], pa.int32()), "y": pa.array([1, 1], pa.int32()), "s": ["7", "z"]})
    pq.write_table(table, tmp_path / "t/a.parquet", row_group_size=1)
    for where in (
        "NOT (5 BETWEEN x + 1 AND y)",
        "5 NOT BETWEEN x + 1 AND y",
        "cast(s AS int) = 8 OR y = 1",
        "NOT (s = 3 AND y = 2)",
        "x + y = 0 OR y = 1",
    ):
        made = plan(tmp_path / "t", where=where, session=spark)
        assert all(row == 0 for _, row in named_rows(made.index, made.evaluation.access.matches)), where
        with pytest.raises(PySparkException):
            spark.read.parquet(str(tmp_path / "t")).selectExpr(f"({where}) AS p").collect()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "ends", ["5 AND '20'", "'5' AND 20", "'five' AND 20", "5 AND 'twenty'", "'5' AND '20'", "5 AND NULL"]
)
@pytest.mark.parametrize("negation", ["", "NOT "])
def test_a_range_with_a_string_beside_a_number_without_ansi(spark, tmp_path, ends, negation):
    pq.write_table(pa.table({"x": pa.array(range(100), pa.int32())}), tmp_path / "a.parquet", row_group_size=10)
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    where = f"x {negation}BETWEEN {ends}"
    wanted = session.read.parquet(str(tmp_path)).where(where).orderBy("x").collect()
    assert pr.read(tmp_path, where=where, session=session).orderBy("x").collect() == wanted
    if not negation and ends.startswith("5 "):
        assert plan(tmp_path, where=where, session=session).report.kept.rows < 100 or not wanted


TEXTS = ("7", "+007", "-1", "300", "2147483648", "9223372036854775808", "5.5", " 7", "7 ", "seven", "", "Infinity")
FORMS = ("{}", "NOT ({})", "({}) IS NULL")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", ["tinyint", "smallint", "int", "bigint", "double", "float", "decimal(10,2)", "string"])
def test_a_text_beside_a_number_means_the_same_without_ansi(spark, tmp_path, kind):
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    rows = session.range(100).selectExpr(f"IF(id % 9 = 0, NULL, CAST(id AS {kind})) AS x", "id")
    pq.write_table(to_arrow(rows.orderBy("id")), tmp_path / "a.parquet", row_group_size=10)
    conditions = [
        form.format(f"x {sign} '{text}'") for text in TEXTS for sign in ("=", "<=>", "<>", "<", ">=") for form in FORMS
    ]
    table = session.read.parquet(str(tmp_path)).orderBy("id")
    selected = to_arrow(table.selectExpr(*(f"({sql}) AS c{i}" for i, sql in enumerate(conditions))))
    skipping, semantics = 0, semantics_of(session)
    for sql, truths in zip(conditions, selected.columns, strict=True):
        planned = plan(tmp_path, where=sql, semantics=semantics)
        skipped = planned.evaluation.access.verdict == Verdict.SKIP
        matches = np.array(truths.fill_null(fill_value=False).to_pylist()).reshape(10, 10).any(axis=1)
        assert not (skipped & matches).any(), sql
        skipping += skipped.any()
    assert skipping > 0 or kind in {"float", "decimal(10,2)"}


def test_a_function_of_the_session_is_not_taken_for_spark_s_own(spark, tmp_path):
    pq.write_table(pa.table({"x": pa.array(range(-50, 50), pa.int32())}), tmp_path / "a.parquet", row_group_size=10)
    session = spark.newSession()
    session.conf.set("spark.sql.functionResolution.sessionOrder", "first")
    assert len(plan(tmp_path, where="abs(x) = 49", session=session).report.files[0].row_groups) == 10
    assert plan(tmp_path, where="abs(x) = 49", session=session).report.kept.row_groups == 2
    session.udf.register("abs", lambda x: 49 if x == 0 else 1, "int")
    for where in ("abs(x) = 49", "ABS(x) > 48", "CASE WHEN abs(x) = 49 THEN true END", "NOT (x <> 0 OR abs(x) <> 49)"):
        found = pr.read(tmp_path, where=where, session=session).collect()
        assert [row.x for row in found] == [0], where
    reason = plan(tmp_path, where="abs(x) = 49", session=session).report.unsupported[0].reason
    assert "not a built-in function in this session" in reason
    assert plan(tmp_path, where="-x = 49", session=session).report.kept.row_groups == 1
    assert plan(tmp_path, where="abs(x) = 49", session=spark).report.kept.row_groups == 2
