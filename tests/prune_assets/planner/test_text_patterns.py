"""Patterns from SQL to row ranges: brute force, and Spark's own answer for every row."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_levels import rows_of
from test_soundness_against_spark import answers_of_spark, named_rows

from parquet_core.pruning.levels import PARTITIONS
from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.planner.explain.plan import plan
from tests.prune_assets.planner.predicate_cases import truth
from tests.prune_assets.planner.text_cases import text_predicate, text_table, write_texts


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(20))
def test_no_row_that_matches_is_skipped(seed, tmp_path):
    chance = random.Random(seed)
    table = text_table(chance)
    write_texts(chance, table, tmp_path / "t.parquet")
    rows = table.to_pylist()
    for _ in range(20):
        where = text_predicate(chance, table)
        made = plan(tmp_path / "t.parquet", where=where)
        wanted = {i for i, row in enumerate(rows) if truth(made.lowered.predicate, row) is True}
        assert wanted <= rows_of(made.index, made.evaluation.access.ranges), where
        assert rows_of(made.index, made.evaluation.access.matches) <= wanted, where


def write_by_spark(spark, chance, table, directory):
    source = directory.with_suffix(".source.parquet")
    pq.write_table(table, source)
    options = {
        "parquet.block.row.count.limit": chance.choice([30, 60, 240]),
        "parquet.page.row.count.limit": chance.choice([7, 15, 30]),
        "parquet.page.size.row.check.min": 1,
        "parquet.columnindex.truncate.length": chance.choice([1, 2, 64]),
        "parquet.enable.dictionary": chance.choice(["true", "false"]),
    }
    spark.read.parquet(str(source)).coalesce(1).write.options(**options).parquet(str(directory))


def check(spark, directory, predicates):
    """Compare plans with Spark's answers; return the numbers of skipped and of proven rows."""
    truths, skipped, proven = answers_of_spark(spark, directory, predicates), 0, 0
    for i, where in enumerate(predicates):
        selected = {place for place, answers in truths.items() if answers[i] is True}
        made = plan(directory, where=where, session=spark)
        access = made.evaluation.access
        kept, matches = named_rows(made.index, access.ranges), named_rows(made.index, access.matches)
        assert selected <= kept, where
        assert matches <= selected, where
        skipped, proven = skipped + len(truths) - len(kept), proven + len(matches)
    return skipped, proven


@pytest.mark.sampled(10)
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(10))
def test_no_text_that_spark_selects_is_skipped(spark, tmp_path, seed):
    chance = random.Random(seed)
    table = text_table(chance)
    if seed % 2:
        write_by_spark(spark, chance, table, tmp_path / "t")
    else:
        (tmp_path / "t").mkdir()
        write_texts(chance, table, tmp_path / "t/a.parquet")
    skipped, proven = check(spark, tmp_path / "t", [text_predicate(chance, table) for _ in range(20)])
    if seed % 2:  # by chance, pyarrow writes one row group without bounds
        assert skipped > 0
        assert proven > 120


BROKEN = ["61", "61FF62", "E2616263", "61E282", "FF", "80", "C3A9", "C3", "6162E26364", "F09F98", "EFBFBD", "", "6162"]


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("together", [1, 3])
def test_strings_that_are_no_utf8(spark, tmp_path, together):
    """Spark decodes them for some patterns, compares bytes for others, and counts characters by first bytes."""
    values = ", ".join(f"({i}, cast(X'{value}' as string))" for i, value in enumerate(BROKEN))
    rows = spark.sql(f"SELECT s FROM VALUES {values} AS t(i, s) ORDER BY i").coalesce(1)
    options = {"parquet.block.row.count.limit": together, "parquet.page.size.row.check.min": 1}
    rows.write.options(**options).parquet(str(tmp_path / "t"))
    texts = ["a", "ab", "b", "abc", "cd", "é", "", "\ufffd", "a\ufffd"]
    predicates = [f"{call}(s, '{text}')" for call in ("startswith", "endswith", "contains") for text in texts]
    patterns = [
        "_",
        "__",
        "_%",
        "a_b",
        "a%",
        "%b%",
        "ab%cd",
        "a%_b",
        "%a%c%",
        "\ufffd",
        "a\ufffd%",
        "a_%",
        "\\\\%%a",
        "%\\\\_",
    ]
    predicates += [f"s LIKE '{pattern}'" for pattern in patterns]
    predicates += [f"s RLIKE '{regex}'" for regex in ("^a", "^ab", "b", "^a$", "b$", "^a.b", "^\ufffd", "^é$", "^$")]
    predicates += [f"left(s, {n}) {op} '{text}'" for n in (1, 2) for op in ("=", "<=", ">", "<") for text in texts]
    skipped, proven = check(spark, tmp_path / "t", predicates + [f"NOT ({where})" for where in predicates])
    assert skipped > 400
    assert proven > 100


@pytest.mark.spark
def test_strings_that_are_not_compared_by_bytes_are_kept(spark, tmp_path):
    rows = "SELECT cast(s AS string COLLATE UTF8_LCASE) AS c, s AS b FROM VALUES ('Ab'), ('ab'), ('zz') AS t(s)"
    spark.sql(rows).coalesce(1).write.option("parquet.block.row.count.limit", 1).parquet(str(tmp_path / "t"))
    conditions = ["{} LIKE 'a%'", "startswith({}, 'A')", "contains({}, 'B')", "{} LIKE 'a_'", "left({}, 1) = 'a'"]
    conditions += ["{} RLIKE '^z'", "endswith({}, 'B')", "{} NOT LIKE 'z%'"]
    for condition in conditions:
        where = condition.format("c")
        truths = answers_of_spark(spark, tmp_path / "t", [where])
        made = plan(tmp_path / "t", where=where, session=spark)
        (part,) = leaves(made.lowered.predicate)
        assert isinstance(part, Unsupported)
        assert "collation" in part.reason
        assert named_rows(made.index, made.evaluation.access.ranges) == truths.keys()
    skipped, _ = check(spark, tmp_path / "t", [condition.format("b") for condition in conditions])
    assert skipped > 10, "bytes are asked beside it"
    assert {row.c for row in spark.read.parquet(str(tmp_path / "t")).where("startswith(c, 'A')").collect()} == {
        "Ab",
        "ab",
    }


CASES = [
    ("kind LIKE '%x'", "dictionary", "EndsWith is asked of every entry"),
    ("kind LIKE '%x%'", "dictionary", "so is text anywhere"),
    ("kind LIKE '_x'", "dictionary", "and a pattern"),
    ("kind LIKE 'c%'", "row_group_statistics", "a prefix is a range"),
    ("kind LIKE 'ab'", "bloom_filter", "without a wildcard filters are asked"),
    ("kind NOT LIKE 'a%'", "row_group_statistics", "both bounds begin with it"),
    ("kind NOT LIKE '%a%'", "row_group_statistics", "all between the bounds begin with what both begin with"),
    ("kind NOT RLIKE '^a'", "row_group_statistics", "a prefix"),
    ("kind RLIKE '^b[0-9]'", "row_group_statistics", "a prefix is needed"),
    ("left(kind, 2) > 'az'", "row_group_statistics", "a range"),
]


@pytest.mark.parametrize(("where", "level", "why"), CASES, ids=[where for where, *_ in CASES])
def test_the_level_that_rules_a_row_group_out(tmp_path, where, level, why):
    filters = {"kind": {"ndv": 10, "fpp": 1e-6}}
    table = pa.table({"kind": ["aa", "ac", "ad"] * 10})
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=True, bloom_filter_options=filters)
    (file,) = plan(tmp_path / "t.parquet", where=where).report.files
    assert [(group.verdict, group.level) for group in file.row_groups] == [("skip", level)], why


def test_a_directory_is_asked_for_its_text(tmp_path):
    for name in ("ab", "cb", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"p={name}").mkdir()
        pq.write_table(pa.table({"x": [1]}), tmp_path / f"p={name}/a.parquet")
    for where, kept in (("p LIKE 'a%'", 1), ("p LIKE '%b'", 2), ("p NOT LIKE '_b'", 0), ("left(p, 1) <> 'c'", 1)):
        made = plan(tmp_path, where=where)
        assert int(made.evaluation.after(PARTITIONS).remaining.sum()) == kept, where
