"""The whole way from SQL to row ranges against Spark's own answer about every row."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from predicate_cases import TYPES, random_table, write_by_pyarrow
from sql_cases import predicate

import prune_assets as pr
from parquet_core.predicate import Unsupported, leaves
from prune_assets.planner.plan import plan
from prune_assets.spark.metrics import scan_metrics

PREDICATES = 45

pytestmark = pytest.mark.spark


def write_by_spark(spark, chance, table, directory):
    source = directory.with_suffix(".source.parquet")
    pq.write_table(table, source)
    options = {
        "parquet.block.row.count.limit": chance.choice([50, 100, 400]),
        "parquet.page.row.count.limit": chance.choice([7, 20, 50]),
        "parquet.page.size.row.check.min": 1,
        "parquet.columnindex.truncate.length": chance.choice([1, 4, 64]),
        "parquet.writer.version": chance.choice(["v1", "v2"]),
    }
    for name in TYPES:
        if chance.random() < 0.6:
            options |= {
                f"parquet.bloom.filter.enabled#{name}": "true",
                f"parquet.bloom.filter.expected.ndv#{name}": 64,
                f"parquet.enable.dictionary#{name}": "false",
            }
    rows = spark.read.parquet(str(source))
    if chance.random() < 0.5:
        rows = rows.repartitionByRange(3, "day").sortWithinPartitions("day")
    rows.write.options(**options).parquet(str(directory))


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
        base[i] = base[i - 1] + index.row_count[i - 1] if index.file[i] == index.file[i - 1] else 0
    return {
        (index.files[index.file[group]].path, int(base[group]) + row)
        for group, start, stop in zip(ranges.row_group, ranges.start, ranges.stop, strict=True)
        for row in range(start, stop)
    }


@pytest.mark.parametrize("seed", range(8))
def test_no_row_that_spark_selects_is_skipped(spark, tmp_path, seed):
    chance = random.Random(1000 + seed)
    table = random_table(chance)
    directory = tmp_path / "t"
    if seed % 2:
        write_by_spark(spark, chance, table, directory)
    else:
        write_by_pyarrow(chance, table, directory)
    predicates = [predicate(chance) for _ in range(PREDICATES)]
    truth = answers_of_spark(spark, directory, predicates)
    assert len(truth) == table.num_rows
    lowered = 0
    for i, where in enumerate(predicates):
        selected = {place for place, answers in truth.items() if answers[i] is True}
        made = plan(directory, where=where, session=spark)
        access = made.evaluation.access
        assert selected <= named_rows(made.index, access.ranges), where
        assert named_rows(made.index, access.matches) <= selected, where
        lowered += not any(isinstance(part, Unsupported) for part in leaves(made.lowered.predicate))
        assert made.report.kept.rows == access.ranges.row_totals(len(made.index)).sum()
    assert lowered > PREDICATES / 3, "most of the grammar must reach the metadata, or nothing is tested"


@pytest.mark.parametrize("seed", range(2))
def test_a_pruned_read_gives_the_same_rows(spark, tmp_path, seed):
    chance = random.Random(seed)
    table = random_table(chance)
    write_by_spark(spark, chance, table, tmp_path / "t")
    whole = spark.read.parquet(str(tmp_path / "t"))
    for _ in range(12):
        where = predicate(chance)
        made = plan(tmp_path / "t", where=where, session=spark)
        pruned = pr.read(spark, str(tmp_path / "t"), where=where, plan=made)
        assert pruned.schema == whole.schema
        assert sorted(map(repr, pruned.collect())) == sorted(map(repr, whole.where(where).collect())), where


def test_what_the_survivors_have_in_common_is_handed_over(spark, tmp_path):
    """parquet-java asks one level after the other, so an OR over two columns keeps every row group."""
    rows = spark.range(10_000).selectExpr("id AS day", "id * 7919 % 10000 * 2 AS key")
    layout = pr.LayoutSpec(sort_by=["day"], bloom={"key": 0.001}, row_group_rows=500, page_rows=100, files=2)
    pr.write(rows, tmp_path / "t", layout=layout)
    where = f"day = 17 OR key = {7919 * 5_000 % 10_000 * 2}"
    made = plan(tmp_path / "t", where=where, session=spark)
    assert made.implied.column.path == ("day",)
    pruned = pr.read(spark, tmp_path / "t", where=where, plan=made)
    whole = spark.read.parquet(str(tmp_path / "t")).where(where)
    assert sorted(pruned.collect()) == sorted(whole.collect())
    assert [row.day for row in pruned.sort("day").collect()] == [17, 5_000]
    (with_plan,), (alone,) = scan_metrics(pruned), scan_metrics(whole)
    assert with_plan.rows <= 600, "a page of the day and the row group of the key"
    assert alone.rows > 9_000, "Spark alone reads nearly all: it drops a page of a row or two at most"


def test_a_read_refuses_what_changed_since_the_plan(spark, tmp_path):
    table = random_table(random.Random(5))
    pq.write_table(table, tmp_path / "t.parquet")
    made = plan(str(tmp_path / "t.parquet"), where="key > 0")
    Path(tmp_path / "t.parquet").write_bytes(b"other")
    with pytest.raises(pr.PruneError, match="changed since it was planned; plan again"):
        pr.read(spark, str(tmp_path / "t.parquet"), where="key > 0", plan=made)


@pytest.mark.parametrize(
    ("key", "where"),
    [
        ("spark.sql.parser.escapedStringLiterals", r"word = 'a\tb'"),
        ("spark.sql.legacy.consecutiveStringLiterals.enabled", "word = 'it''s'"),
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
        assert pr.read(spark, tmp_path, where=where).collect() == expected
        with pytest.raises(pr.PruneError, match="pass session= to plan"):
            pr.read(spark, tmp_path, where=where, plan=by_default)
    finally:
        spark.conf.unset(key)


def test_names_that_look_like_patterns_are_read(spark, tmp_path):
    directory = tmp_path / "a[b]{c} ?"
    directory.mkdir()
    for i in (1, 2):
        pq.write_table(pa.table({"id": [i]}), directory / f"part[{i}]*.parquet")
    where = "id = 2"
    assert [tuple(row) for row in pr.read(spark, directory, where=where).collect()] == [(2,)]
    pattern = f"{tmp_path}/a*/part*2*"
    assert [tuple(row) for row in pr.read(spark, pattern, where=where).collect()] == [(2,)]
    assert pr.read(spark, directory, where="id = 3").collect() == []


def test_partition_directories_keep_their_columns(spark, tmp_path):
    rows = spark.range(100).selectExpr("id", "id % 3 AS p")
    rows.write.partitionBy("p").parquet(str(tmp_path / "t"))
    where = "(id = 7 OR id = 8) AND p < 2"
    pruned = pr.read(spark, str(tmp_path / "t"), where=where)
    expected = spark.read.parquet(str(tmp_path / "t")).where(where)
    assert pruned.schema == expected.schema
    assert sorted(pruned.collect()) == sorted(expected.collect())
