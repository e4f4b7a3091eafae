"""Conditions that bounds cannot decide, evaluated on known values: no selected row is skipped, and much is skipped."""

from __future__ import annotations

import datetime as dt
import random
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.planner.explain.plan import plan
from prune_assets.planner.value_tests import longest_matched
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.sql.syntax.parsed import parse_predicate
from tests.prune_assets.planner.known_value_cases import CONDITIONS, TYPES, condition, random_rows, write_parts
from tests.prune_assets.planner.named_rows import named_rows
from tests.prune_assets.planner.other_writers import write_by_duckdb, write_by_polars

pytestmark = pytest.mark.spark

EVERY = [text for texts in CONDITIONS.values() for text in texts]


@contextmanager
def settings(spark, **changed):
    names = {"zone": "spark.sql.session.timeZone", "ansi": "spark.sql.ansi.enabled"}
    before = {name: spark.conf.get(names[name]) for name in changed}
    for name, value in changed.items():
        spark.conf.set(names[name], value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(names[name], value)


def truth(spark, directory, predicates):
    """Return {(file, row): whether each predicate is TRUE}; as columns, so that nothing is pushed down."""
    columns = [f"({text}) AS p{i}" for i, text in enumerate(predicates)]
    rows = spark.read.parquet(str(directory)).selectExpr("_metadata.file_path", "_metadata.row_index", *columns)
    return {(unquote(urlsplit(row[0]).path), row[1]): row[2:] for row in rows.collect()}


def check(spark, directory, predicates, **sources):
    """Compare plans with Spark's answer for every row; return the rows that each plan skips."""
    answers, skipped = truth(spark, directory, predicates), {}
    for i, where in enumerate(predicates):
        selected = {place for place, row in answers.items() if row[i] is True}
        for name, source in sources.items():
            made = plan(directory, where=where, **{name: source})
            kept = named_rows(made.index, made.evaluation.access.ranges)
            assert selected <= kept, (where, name)
            assert named_rows(made.index, made.evaluation.access.matches) <= selected, (where, name)
            assert made.report.kept.rows == len(kept)
            if name == "session":
                skipped[where] = len(answers) - len(kept)
    return skipped


@pytest.mark.deep
@pytest.mark.parametrize("drawn", [0, 25])
@pytest.mark.parametrize(("zone", "ansi"), [("UTC", "true"), ("Europe/Berlin", "false")])
def test_no_row_that_spark_selects_is_skipped_by_its_values(spark, tmp_path, zone, ansi, drawn):
    chance = random.Random(zone)
    write_parts(chance, tmp_path / "t")
    with settings(spark, zone=zone, ansi=ansi):
        own = semantics_of(spark)
        predicates = EVERY + [condition(chance) for _ in range(drawn)]
        skipped = check(spark, tmp_path / "t", predicates, session=spark, semantics=own)
    assert sum(map(bool, skipped.values())) > len(skipped) / 2


@pytest.mark.deep
@pytest.mark.parametrize("writer", ["spark", "duckdb", "polars"])
def test_files_of_other_writers(spark, tmp_path, writer):
    chance = random.Random(writer)
    names = [name for name in TYPES if not (writer == "duckdb" and name == "z")]
    table = random_rows(chance, 200, least=4, most=8, names=tuple(names))
    if writer == "spark":
        pq.write_table(table, tmp_path / "source.parquet")
        rows = spark.read.parquet(str(tmp_path / "source.parquet"))
        rows.repartitionByRange(4, "n").write.parquet(str(tmp_path / "t"))
    else:
        (write_by_duckdb if writer == "duckdb" else write_by_polars)(chance, table, tmp_path / "t")
    predicates = [text for name in names for text in CONDITIONS[name]]
    skipped = check(spark, tmp_path / "t", predicates, session=spark)
    assert any(skipped.values())


def test_directories_answer_for_every_type_of_theirs(spark, tmp_path):
    values = {"s": ["AIR", "air", "TAKE BACK"], "n": [1, 2, 41], "d": ["2024-03-31", "2024-02-29", "1999-12-31"]}
    for i in range(4):
        for name, of_name in values.items():
            text = of_name[i] if i < 3 else "__HIVE_DEFAULT_PARTITION__"
            path = tmp_path / name / f"{name}={text}"
            path.mkdir(parents=True)
            pq.write_table(pa.table({"v": [i, i]}), path / "0.parquet")
    for name in values:
        skipped = check(spark, tmp_path / name, CONDITIONS[name], session=spark)
        undecided = [where for where, rows in skipped.items() if rows == 0]
        assert len(undecided) <= 2, undecided


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_value_for_which_a_part_raises_is_kept_and_matches_nothing(spark, tmp_path, ansi):
    for i, text in enumerate(["x", "12", "13"]):
        pq.write_table(pa.table({"s": [text] * 3}), tmp_path / f"{i}.parquet")
    pq.write_table(pa.table({"s": ["x", "12", "13"]}), tmp_path / "3.parquet")
    with settings(spark, ansi=ansi):
        made = plan(tmp_path, where="CAST(s AS INT) = 12 OR s = 'x'", session=spark)
    assert [file.verdict for file in made.files] == ["scan", "scan", "skip", "scan"]
    proven = named_rows(made.index, made.evaluation.access.matches)
    assert {path.rpartition("/")[2] for path, _ in proven} == (
        {"1.parquet"} if ansi == "true" else {"0.parquet", "1.parquet"}
    )


@pytest.fixture(scope="module")
def shipments(tmp_path_factory):
    """Seven files of two modes each, a month a file."""
    modes = ["AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "REG AIR"]
    root = tmp_path_factory.mktemp("shipments")
    for i in range(7):
        days = [dt.date(2024, i + 1, 1 + j % 20) for j in range(200)]
        data = {"mode": [modes[i], modes[(i + 1) % 7]] * 100, "day": days, "n": list(range(i * 200, i * 200 + 200))}
        pq.write_table(pa.table(data), root / f"{i}.parquet")
    return str(root)


SKIPPED = [
    ("lower(mode) = 'air'", 5, "AIR stands in two dictionaries of seven"),
    ("trim(mode) = 'AIR'", 5, "the same"),
    ("length(mode) = 3", 3, "AIR and FOB stand in four"),
    ("split(mode, ' ')[0] = 'REG'", 5, "REG AIR stands in two, whatever the grammar makes of brackets"),
    ("concat(mode, '-') = 'FOB-'", 5, "FOB stands in two"),
    ("mode RLIKE '^[A-C]'", 5, "no plain text to look for, and yet only AIR begins so"),
    ("month(day) = 3", 6, "the dictionary holds the days of one month"),
    ("date_format(day, 'yyyy-MM') = '2024-03'", 6, "a function that no rule knows"),
    ("mode NOT RLIKE '^.*I.*$'", 3, "both modes of three files have the letter"),
    ("lower(mode) = 'air' OR n = 1000", 4, "the dictionary and bounds meet in an OR"),
    ("rand() < 2 AND lower(mode) = 'air'", 5, "what chance says is not asked, its neighbour is"),
    ("uuid() = mode", 0, "it would be another one when Spark reads"),
    ("concat(mode, user) = 'x'", 0, "who the user is may change"),
    ("mode = concat(mode, CAST(day AS STRING))", 0, "two columns"),
    ("cast(n AS STRING) LIKE '%0'", 0, "every dictionary holds such a number"),
    ("mode IN (SELECT mode FROM VALUES ('AIR') AS other(mode))", 0, "a subquery is not run"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("where", "files", "why"), SKIPPED, ids=[where for where, *_ in SKIPPED])
def test_files_are_skipped_by_values_that_spark_is_asked_about(spark, shipments, where, files, why):
    made = plan(shipments, where=where, session=spark)
    assert len(made.index.groups.files) - len(made.surviving_files) == files, why
    assert (
        pr.read(shipments, where=where, session=spark, plan=made).count()
        == spark.read.parquet(shipments).where(where).count()
    )


def test_a_function_of_the_session_is_asked_like_any_other(spark, shipments):
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION twice(a STRING) RETURNS STRING RETURN concat(a, a)")
    try:
        assert len(plan(shipments, where="twice(mode) = 'FOBFOB'", session=spark).surviving_files) == 2
    finally:
        spark.sql("DROP TEMPORARY FUNCTION twice")


def test_a_column_is_asked_of_values_too(spark, shipments):
    from pyspark.sql.functions import col, lower

    assert len(plan(shipments, where=lower(col("mode")) == "air", session=spark).surviving_files) == 2


def test_a_plan_is_refused_where_values_come_to_something_else(spark, tmp_path):
    pq.write_table(pa.table({"t": pa.array([dt.datetime(2024, 1, 1, 23, tzinfo=dt.UTC)] * 3)}), tmp_path / "0.parquet")
    where = "date_format(t, 'HH') = '00'"
    made = plan(tmp_path, where=where, session=spark)
    assert made.surviving_files == ()
    assert pr.read(str(tmp_path), where=where, session=spark, plan=made).count() == 0
    with settings(spark, zone="Europe/Berlin"), pytest.raises(WrongUse, match="this session has other settings"):
        pr.read(str(tmp_path), where=where, session=spark, plan=made)


def test_moving_days_are_not_asked(spark, tmp_path):
    pq.write_table(pa.table({"d": [dt.date(2000, 1, 1)] * 3, "s": ["2000-01-01"] * 3}), tmp_path / "0.parquet")
    for where in ("last_day(d) > concat('to', 'day')", "to_date(s) > 'today'", "date_add(d, 3) > DATE 'tomorrow'"):
        assert len(plan(tmp_path, where=where, session=spark).surviving_files) == 1, where
    assert plan(tmp_path, where="to_date(s) > '2001-01-01'", session=spark).surviving_files == ()


@pytest.mark.parametrize(
    "unlikely", ["lower(u) NOT LIKE ALL ('%r%%é', 'b%')", "upper(u) LIKE '%R%R%R%B'", "u RLIKE '(r+)+b$'"]
)
def test_a_long_text_is_not_matched_to_many_wildcards(spark, tmp_path, unlikely):
    """Spark would try each way to split 4,000 letters; on all rows, which the other condition spares it."""
    texts = ["r" * 4_000 + "a", "rrb", "ra"] * 100
    table = pa.table({"u": texts, "n": range(300)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    made = plan(tmp_path / "t.parquet", where=f"n < 0 OR {unlikely}", session=spark)
    assert made.report.kept.rows == 300
    (part,) = made.report.unsupported
    assert "wildcards" in part.reason
    pq.write_table(table.filter(pa.compute.equal(table["u"], "ra")), tmp_path / "short.parquet")
    assert plan(tmp_path / "short.parquet", where=unlikely, session=spark).report.kept.rows in {0, 100}


@pytest.mark.parametrize(
    ("sql", "characters"),
    [
        ("lower(u) LIKE '%a%'", 4_472),
        ("lower(u) LIKE 'a%'", None),
        ("u LIKE ANY ('%a%b%', 'c')", 391),
        ("u RLIKE '(a+)+b'", 20),
        ("n * 100 % 7 = 3", None),
    ],
)
def test_the_longest_text_that_is_matched(sql, characters):
    assert longest_matched(parse_predicate(sql)) == characters
