"""Timestamps from SQL to row ranges against Spark's own answer, by writer, unit and time zone."""

from __future__ import annotations

import contextlib
import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_soundness_against_spark import answers_of_spark, named_rows

import prune_assets as pr
from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.planner.explain.plan import plan

pytestmark = pytest.mark.spark

ROWS = 240
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
# One day each in which clocks change in that zone.
ZONES = {
    "America/Sao_Paulo": "2017-10-15",
    "America/Havana": "2012-04-01",
    "Africa/Cairo": "2023-04-28",
    "Asia/Beirut": "2024-03-31",
    "Pacific/Apia": "2011-12-30",
    "Atlantic/Azores": "2024-10-27",
    "Antarctica/Troll": "2024-03-31",
    "America/St_Johns": "2006-10-29",
    "Australia/Lord_Howe": "2024-04-07",
    "America/Los_Angeles": "2024-11-03",
    "UTC": "2024-02-29",
    "+05:45": "1970-01-01",
}


def moments(chance, zone, unit):
    """Draw microseconds around the change of clocks, sorted half of the time."""
    middle = (datetime.fromisoformat(ZONES[zone]) - EPOCH) // timedelta(microseconds=1)
    step = 1_000 if unit == "ms" else 1
    values = [
        middle // step * step + chance.randint(-130, 130) * 15 * 60 * 10**6 + chance.choice([0, 0, 1, -1]) * step
        for _ in range(ROWS)
    ]
    values += [chance.choice([middle, -(2**51), -(2**53), 2**52]) // step * step for _ in range(12)]
    if chance.random() < 0.6:
        values.sort()
    else:
        chance.shuffle(values)
    return [None if chance.random() < 0.05 else value // step for value in values]


def random_table(chance, zone, unit):
    ts, ntz = moments(chance, zone, unit), moments(chance, zone, unit)
    days = [
        None if value is None else value * (1_000 if unit == "ms" else 1) // 86_400_000_000
        for value in moments(chance, zone, unit)
    ]
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp(unit, "UTC")),
            "ntz": pa.array(ntz, pa.timestamp(unit)),
            "day": pa.array(days, pa.date32()),
        }
    )


def write_by_pyarrow(chance, table, directory, unit):
    directory.mkdir()
    cuts = [0, *sorted(chance.sample(range(1, table.num_rows), 2)), table.num_rows]
    for i, (start, stop) in enumerate(pairwise(cuts)):
        part = table.slice(start, stop - start)
        if i == 1 and unit == "ms":
            part = part.cast(
                pa.schema([("ts", pa.timestamp("us", "UTC")), ("ntz", pa.timestamp("us")), ("day", pa.date32())])
            )
        pq.write_table(
            part,
            directory / f"{i}.parquet",
            row_group_size=chance.choice([20, 60]),
            max_rows_per_page=chance.choice([5, 20]),
            write_batch_size=1,
            write_page_index=chance.random() < 0.8,
            bloom_filter_options={name: {"ndv": 64} for name in ("ts", "ntz", "day") if chance.random() < 0.6},
            use_dictionary=chance.random() < 0.6,
            coerce_timestamps=None,
        )


def write_by_spark(spark, chance, table, directory, form):
    source = directory.with_suffix(".source.parquet")
    pq.write_table(table, source)
    options = {"parquet.block.row.count.limit": 40, "parquet.page.row.count.limit": 9}
    options |= {"parquet.page.size.row.check.min": 1}
    for name in ("ts", "ntz"):
        if chance.random() < 0.5:
            options |= {f"parquet.bloom.filter.enabled#{name}": "true", f"parquet.enable.dictionary#{name}": "false"}
            options |= {f"parquet.bloom.filter.expected.ndv#{name}": 64}
    spark.conf.set("spark.sql.parquet.outputTimestampType", form)
    try:
        spark.read.parquet(str(source)).write.options(**options).parquet(str(directory))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")


def literal(chance, zone, *kinds):
    near = datetime.fromisoformat(ZONES[zone]) + timedelta(minutes=15 * chance.randint(-130, 130))
    near += chance.choice([timedelta(), timedelta(), timedelta(microseconds=1), timedelta(microseconds=500)])
    offset = chance.choice(["", "", "", "Z", " +02:00", " Europe/Paris"])
    step = chance.choice(
        ["", "", "", " + INTERVAL 1 DAY", " - INTERVAL '1' MONTH", " + INTERVAL 3 HOURS", " - INTERVAL 90 SECONDS"]
    )
    forms = {
        "ts": f"{chance.choice(['TIMESTAMP', 'TIMESTAMP_LTZ'])} '{near}{offset}'{step}",
        "ntz": f"TIMESTAMP_NTZ '{near}'{step}",
        "day": f"DATE '{near.date()}'",
        "hours": f"DATE '{near.date()}' + INTERVAL {chance.randint(-30, 30)} HOURS",
        "text": f"'{near}'",
        "date text": f"'{near.date()}'",
    }
    return forms[chance.choice(kinds)]


KINDS = {
    "ts": ["ts", "ts", "ts", "ntz", "day", "hours", "text", "date text"],
    "ntz": ["ntz", "ntz", "ts", "day", "hours", "text", "date text"],
    "day": ["day", "ts", "ts", "ntz", "ntz", "hours", "date text"],
}


def leaf(chance, zone):
    name = chance.choice(["ts", "ts", "ntz", "day"])
    one, two = (literal(chance, zone, *KINDS[name]) for _ in range(2))
    op = chance.choice(["=", "=", "<", "<=", ">", ">=", "<>", "<=>"])
    many = ", ".join(
        literal(chance, zone, chance.choice(["ts", "ntz", "day"]) if name == "ts" else name) for _ in range(4)
    )
    forms = [f"{name} {op} {one}", f"{name} {op} {one}", f"{one} {op} {name}", f"{name} BETWEEN {one} AND {two}"]
    forms += [f"{name} NOT BETWEEN {one} AND {two}", f"{name} IN ({many})", f"{name} NOT IN ({many}, NULL)"]
    forms += [f"{name} IS NULL", f"({name} {op} {one}) IS NOT TRUE", f"{name} >= {one} AND {name} < {two}"]
    return chance.choice(forms)


def predicate(chance, zone, depth=1):
    kind = chance.choice(["leaf", "leaf", "AND", "OR", "NOT"]) if depth else "leaf"
    if kind == "leaf":
        return leaf(chance, zone)
    if kind == "NOT":
        return f"NOT ({predicate(chance, zone, depth - 1)})"
    return "(" + f" {kind} ".join(predicate(chance, zone, depth - 1) for _ in range(2)) + ")"


WRITERS = ["us", "ms", "INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"]


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(12))
def test_no_row_that_spark_selects_is_skipped(spark, tmp_path, seed):
    chance = random.Random(seed)
    zone, writer = list(ZONES)[seed], WRITERS[seed % len(WRITERS)]
    unit = "ms" if writer == "ms" else "us"
    table = random_table(chance, zone, unit)
    if writer == unit:
        write_by_pyarrow(chance, table, tmp_path / "t", unit)
    else:
        write_by_spark(spark, chance, table, tmp_path / "t", writer)
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        predicates = [predicate(chance, zone) for _ in range(40)]
        truth = answers_of_spark(spark, tmp_path / "t", predicates)
        lowered, skipped = 0, 0
        for i, where in enumerate(predicates):
            selected = {place for place, answers in truth.items() if answers[i] is True}
            made = plan(tmp_path / "t", where=where, session=spark)
            access = made.evaluation.access
            kept = named_rows(made.index, access.ranges)
            assert selected <= kept, where
            assert named_rows(made.index, access.matches) <= selected, where
            in_any_zone = plan(tmp_path / "t", where=where)
            assert selected <= named_rows(in_any_zone.index, in_any_zone.evaluation.access.ranges), where
            assert named_rows(in_any_zone.index, in_any_zone.evaluation.access.matches) <= selected, where
            lowered += not any(isinstance(part, Unsupported) for part in leaves(made.lowered.predicate))
            skipped += len(kept) < len(truth)
            assert made.report.kept.rows == len(kept)
        for where in predicates[:3]:
            whole = spark.read.parquet(str(tmp_path / "t")).where(where)
            pruned = pr.read(str(tmp_path / "t"), where=where, session=spark)
            assert sorted(map(repr, pruned.collect())) == sorted(map(repr, whole.collect())), where
        assert lowered > 9
        assert skipped > 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
@pytest.mark.parametrize("form", ["INT96", "TIMESTAMP_MICROS"])
def test_instants_of_the_old_calendar(spark, tmp_path, mode, form):
    keys = ("datetime", "int96")
    for key in keys:
        spark.conf.set(f"spark.sql.parquet.{key}RebaseModeInWrite", mode)
        spark.conf.set(f"spark.sql.parquet.{key}RebaseModeInRead", mode)
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    spark.conf.set("spark.sql.parquet.outputTimestampType", form)
    try:
        starts = [datetime(1500, 1, 1), datetime(1582, 10, 4), datetime(1899, 12, 30), datetime(1900, 1, 2)]  # noqa: DTZ001
        micros = [
            (start - EPOCH) // timedelta(microseconds=1) + i * 3_600_000_000 for start in starts for i in range(60)
        ]
        source = pa.table({"ts": pa.array(micros, pa.timestamp("us", "UTC"))})
        (tmp_path / "arrow").mkdir()
        pq.write_table(
            source, tmp_path / "arrow/0.parquet", row_group_size=20, bloom_filter_options={"ts": {"ndv": 20}}
        )
        rows = spark.read.parquet(str(tmp_path / "arrow"))
        options = {"parquet.bloom.filter.enabled#ts": "true", "parquet.bloom.filter.expected.ndv#ts": "20"}
        options |= {"parquet.block.row.count.limit": "20", "parquet.enable.dictionary#ts": "false"}
        rows.coalesce(1).write.options(**options).parquet(str(tmp_path / "spark"))
        for table in (tmp_path / "arrow", tmp_path / "spark"):
            rows = spark.read.parquet(str(table)).selectExpr("cast(ts AS string) AS t").collect()
            texts = [f"{op} TIMESTAMP '{row.t}'" for row in rows[::13] for op in ("ts =", "ts <=", "NOT ts <")]
            truth = answers_of_spark(spark, table, texts)
            for i, where in enumerate(texts):
                selected = {place for place, answers in truth.items() if answers[i] is True}
                made = plan(table, where=where, session=spark)
                assert selected <= named_rows(made.index, made.evaluation.access.ranges), (table, where)
                assert named_rows(made.index, made.evaluation.access.matches) <= selected, (table, where)
    finally:
        for key in keys:
            spark.conf.unset(f"spark.sql.parquet.{key}RebaseModeInWrite")
            spark.conf.unset(f"spark.sql.parquet.{key}RebaseModeInRead")
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_plan_for_another_time_zone_is_not_read(spark, tmp_path):
    table = pa.table({"ts": pa.array([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))})
    pq.write_table(table, tmp_path / "a.parquet")
    where = "ts = '2024-01-01 01:00:00'"
    in_paris = plan(tmp_path, where=where, semantics=pr.SparkSemantics.of(spark.version, time_zone="Europe/Paris"))
    with pytest.raises(pr.PruneError, match="pass session= to plan"):
        pr.read(tmp_path, where=where, session=spark, plan=in_paris)
    assert pr.read(tmp_path, where=where, session=spark, plan=plan(tmp_path, where=where)).count() == 0
    spark.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    try:
        assert pr.read(tmp_path, where=where, session=spark, plan=in_paris).count() == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_nanoseconds_are_not_pruned_on(tmp_path):
    pq.write_table(pa.table({"ts": pa.array([1, 2], pa.timestamp("ns", "UTC"))}), tmp_path / "a.parquet")
    found = plan(tmp_path, where="ts = TIMESTAMP '2024-01-01 00:00:00Z'").lowered.predicate
    assert isinstance(found, Unsupported)
    assert "nanoseconds" in found.reason


def test_a_plan_without_a_zone_says_what_it_needs(tmp_path):
    table = pa.table({"ts": pa.array([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))})
    pq.write_table(table, tmp_path / "a.parquet")
    (part,) = plan(tmp_path, where="ts > '2024-06-01 00:00:00'").report.unsupported
    assert "time zone" in part.reason
    assert "--time-zone" in part.remedy
    assert plan(tmp_path, where="ts > '2024-06-01 00:00:00Z'").report.kept.rows == 0
    zone = pr.SparkSemantics(time_zone="Europe/Paris")
    assert plan(tmp_path, where="ts > '2024-06-01 00:00:00'", semantics=zone).report.kept.rows == 0
    with pytest.raises(pr.PruneError, match=r"time zone 'Europe/Pariss' is not known: did you mean Europe/Paris\?"):
        plan(tmp_path, where="ts > '2024-06-01 00:00:00'", semantics=pr.SparkSemantics(time_zone="Europe/Pariss"))


# In both zones a midnight is skipped: of a whole day in Apia, of a change to summer time in Santiago.
SKIPPED = [("Pacific/Apia", datetime(2011, 12, 30)), ("America/Santiago", datetime(2024, 9, 8))]  # noqa: DTZ001
LOCAL = ["at", "at + INTERVAL 1 DAY", "CAST(utc AS TIMESTAMP_NTZ) + INTERVAL 1 DAY", "CAST(utc AS TIMESTAMP_NTZ)"]


@pytest.mark.parametrize(("zone", "midnight"), SKIPPED)
def test_a_local_time_compared_with_an_instant_that_clocks_skip(spark, tmp_path, zone, midnight):
    """Spark casts the literal to a local time, but its optimizer compares instants on values of a dictionary."""
    times = [midnight + timedelta(hours=hours) for hours in range(-96, 97)]
    table = pa.table({"at": pa.array(times, pa.timestamp("us")), "utc": pa.array(times, pa.timestamp("us", "UTC"))})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=48)
    literals = [f"TIMESTAMP '{midnight:%Y-%m-%d}'", f"TIMESTAMP '{midnight:%Y-%m-%d} 02:30:00'"]
    comparisons = [
        f"{local} {op} {literal}" for local in LOCAL for op in ("<", "=", "<>", ">=") for literal in literals
    ]
    session_zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows = spark.read.parquet(str(tmp_path)).selectExpr("_metadata.row_index", *comparisons).collect()
        for i, where in enumerate(comparisons, 1):
            selected = {row[0] for row in rows if row[i]}
            made = plan(tmp_path, where=where, session=spark)
            kept, matches = (
                {row for _, row in named_rows(made.index, ranges)}
                for ranges in (made.evaluation.access.ranges, made.evaluation.access.matches)
            )
            assert matches <= selected <= kept, where
            with contextlib.suppress(pr.PruneError):
                assert pr.count(tmp_path, where=where, session=spark) == len(selected), where
    finally:
        spark.conf.set("spark.sql.session.timeZone", session_zone)
