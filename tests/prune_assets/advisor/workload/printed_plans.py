"""Plans as Spark prints them, and a table with awkward values for predicates."""

from __future__ import annotations

import random

from prune_assets.advisor.workload.conditions.scan_filter import scan_filter
from prune_assets.advisor.workload.event_logs.events import PlanNode
from prune_assets.advisor.workload.event_logs.plan_scans import scans_of

# Texts that look like a part of a plan.
TEXTS = [
    *("abc", "New York", "O'Brien", "a) AND (b", "", "null", "x, y", "Zoë", "a) OR (k#1 = 2", "(", ")", "a(", "b)"),
    *("a, b", ",", " a", "a ", "#1", "k#1", "a\nb", "a\n\n(3) Filter\nCondition : true", "true", "= b", "a = b", "1"),
    *("2024-01-01", "2024-01-01 00:00:00", "%", "_", "\\", 'a"b', "... 5 more fields", "]", "[", "), EqualTo(user,b"),
    *("a) AND ((user#0 = b", "b))", "a((", "NOT a", "a INSET b", "0x12", "x IN (a", "a AND b", "isnotnull(user#1)"),
]
COLUMNS = {
    "id": "id",
    "k": "cast(id % 50 as int)",
    "day": "date_add(DATE '2024-01-01', cast(id % 30 as int))",
    "ts": "timestamp_micros(1704067200000000 + id * 3600000000)",
    "local": "cast(timestamp_micros(1704067200000000 + id * 3600000000) as timestamp_ntz)",
    "price": "cast(id / 4 as decimal(12,2))",
    "d": "cast(id / 3 as double)",
    "f": "cast(id / 3 as float)",
    "flag": "id % 2 = 0",
    "s": "struct(cast(id % 7 as int) as a, concat('v', id % 5) as b)",
    "n": "if(id % 10 = 0, null, id)",
    "bin": "encode(cast(id as string), 'utf-8')",
    "`odd name`": "id % 4",
    "t": "named_struct('a-b', cast(id % 7 as int), 'c d', concat('v', id % 5))",
    "m": "map('k', concat('v', id % 5), 'l m', cast(id as string))",
    "counts": "array(id % 5, id % 3)",
}


def quoted(text):
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def make_table(spark, path, partitions=()):
    """Write a table of 800 rows, with a column `user` of the awkward texts."""
    texts = ", ".join(map(quoted, TEXTS))
    columns = [f"{sql} AS {name}" for name, sql in COLUMNS.items()]
    columns.append(f"element_at(array({texts}), cast(id % {len(TEXTS)} as int) + 1) AS user")
    writer = spark.range(800).selectExpr(*columns).repartition(2).write.mode("overwrite")
    (writer.partitionBy(*partitions) if partitions else writer).parquet(str(path))


def printed_plan(frame):
    spark = frame.sparkSession
    # Times are printed in the zone of the active session, which another test may have left.
    spark._jvm.org.apache.spark.sql.SparkSession.setActiveSession(spark._jsparkSession)
    mode = spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    return frame._jdf.queryExecution().explainString(mode)


def read_back(text, zone="UTC"):
    """The filter of the only scan of a plan, None where Spark needs no scan; reasons of a whole plan pass."""
    scans = scans_of(text, PlanNode("none"))
    if not scans:
        return None
    (scan,) = scans
    return scan_filter(
        output=scan.fields["Output"],
        read_schema=scan.fields.get("ReadSchema"),
        conditions=scan.conditions,
        direct_conditions=scan.direct_conditions,
        applied_filters=scan.applied_filters,
        partition_filters=scan.fields.get("PartitionFilters"),
        pushed_filters=scan.fields.get("PushedFilters"),
        zone=zone,
    )


def drawn_predicate(draw: random.Random, depth=2):
    """A predicate drawn at random."""
    if depth and draw.random() < 0.6:
        left, right = (drawn_predicate(draw, depth - 1) for _ in range(2))
        return draw.choice([f"({left} AND {right})", f"({left} OR {right})", f"(NOT {left})", left])
    text = quoted(draw.choice(TEXTS))
    number = draw.randrange(60)
    texts = ", ".join(quoted(one) for one in draw.sample(TEXTS, draw.choice([2, 3, 12])))
    day = f"DATE '2024-01-{number % 30 + 1:02}'"
    compare = draw.choice(["=", "<", ">=", "<=>", "!="])
    return draw.choice(
        [
            *[f"user {compare} {text}"] * 4,
            *[f"user {draw.choice(['', 'NOT '])}IN ({texts})"] * 2,
            f"startswith(user, {text})",
            f"endswith(user, {text})",
            f"contains(user, {text})",
            f"user LIKE {text}",
            f"upper(user) = {text}",
            f"coalesce(user, {text}) = {quoted(draw.choice(TEXTS))}",
            f"substring(user, 1, 2) = {text}",
            f"s.b = {text}",
            f"s.a > {number % 7}",
            f"t.`a-b` {compare} {number % 7}",
            f"t.`c d` {compare} {text}",
            f"m['{draw.choice(['k', 'l m'])}'] = {quoted(draw.choice([*TEXTS, 'v3', '41']))}",
            f"counts[{number % 2}] = {number % 5}",
            f"k {compare} {number}",
            f"k IN ({number}, 3, 4)",
            f"k NOT IN ({', '.join(map(str, range(number, number + 14)))})",
            f"day {compare} {day}",
            f"day IN ({day}, DATE '2024-01-02')",
            f"year(day) + 1 > {2000 + number}",
            f"ts {compare} TIMESTAMP '2024-01-{number % 30 + 1:02} 11:30:00.25'",
            f"to_date(ts) = {day}",
            f"local {compare} TIMESTAMP_NTZ '2024-01-{number % 30 + 1:02} 11:00:00'",
            f"price {compare} {number}.25",
            f"price IN ({number}.25, 7)",
            f"d < {number}.5",
            f"f >= {number}.25",
            "flag",
            "NOT flag",
            f"n {draw.choice(['IS NULL', 'IS NOT NULL', f'= {number}'])}",
            f"bin = X'{number % 10 + 30}'",
            f"`odd name` = {number % 4}",
            f"cast(id AS string) = {quoted(str(number))}",
            f"id % 7 = {number % 7}",
            f"-id < -{number}",
            f"day(day) = {number % 31} AND trunc(day, 'MM') = DATE '2024-01-01'",
            f"add_months(day, 2) {compare} DATE '2024-03-{number % 28 + 1:02}'",
            f"datediff(day, DATE '2024-01-01') {compare} {number % 30}",
            f"date_format(day, 'yyyy-MM-dd') {compare} '2024-01-{number % 30 + 1:02}'",
            f"round({draw.choice(['price', 'd', 'price, 1', 'd, 1'])}) {compare} {number}",
            f"{draw.choice(['floor', 'ceil'])}({draw.choice(['price', 'd', 'f', 'id'])}) {compare} {number}",
            f"{draw.choice(['mod', 'pmod'])}({draw.choice(['id', 'k', 'price'])}, 7) = {number % 7}",
            f"{draw.choice(['trim', 'ltrim', 'rtrim', 'btrim', 'initcap'])}(user) = {text}",
            f"trim(BOTH 'a' FROM user) = {text}",
            f"{draw.choice(['char_length', 'len'])}(user) = {number % 9}",
            f"concat(user, {text}) = {quoted(draw.choice(TEXTS))}",
            f"user RLIKE {quoted(draw.choice(['^a', 'b$', 'a b', 'N.w', '^[a-c]', '1,2', '(a)']))}",
        ]
    )
