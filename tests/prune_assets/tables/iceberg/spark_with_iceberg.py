"""What runs in the process of a Spark that has Iceberg: it writes tables with all transforms, and selects rows."""

from __future__ import annotations

import datetime as dt
import random

COLUMNS = "k BIGINT, n INT, ts TIMESTAMP, ntz TIMESTAMP_NTZ, day DATE, s STRING, b BINARY, d DECIMAL(10,2), x DOUBLE"
MODES = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"
TEXTS = ["", "a", "ab", "abc", "b", "zz", "é", "éa", "日本語", "\U0001f600x"]


def rows(rng, first, count):
    """Rows as SQL, which keep together what is alike."""

    def moment():
        year = rng.choice([1931, 1969, 1970, 2023, 2024])
        day = dt.date(year, rng.choice([1, 12]), rng.choice([1, 31]))
        return f"{day} {rng.choice(['00:00:00', '23:59:59', '00:59:00'])}"

    near = [
        [
            str(rng.randint(-25, 25)),
            f"TIMESTAMP '{moment()}Z'",
            f"TIMESTAMP_NTZ '{moment()}'",
            f"DATE '{moment()[:10]}'",
            f"'{rng.choice(TEXTS)}'",
            f"X'{rng.choice(['', '00', '61', 'ffff', 'ffff61'])}'",
            f"{rng.randint(-500, 500) / 100:.2f}",
            rng.choice(["-1.5D", "0.0D", "-0.0D", "2.5D", "double('NaN')"]),
        ]
        for _ in range(3)
    ]
    for i in range(first, first + count):
        values = [rng.choice(near)[j] if rng.random() < 0.85 else "NULL" for j in range(len(near[0]))]
        yield f"({i}, {', '.join(values)})"


def make(spark, name, fields, *made):
    """Make a table of three commits; `made`: seed, version of the format, and what is said after the first commit."""
    seed, version, evolve = (*made, ())[:3]
    rng = random.Random(seed)
    by = f"PARTITIONED BY ({', '.join(fields)})" if fields else ""
    spark.sql(
        f"CREATE TABLE {name} ({COLUMNS}) USING iceberg {by} TBLPROPERTIES ('format-version'='{version}', {MODES})"
    )
    for i in range(3):
        spark.sql(f"INSERT INTO {name} VALUES {', '.join(rows(rng, i * 100, 14))}")
        for statement in evolve if i == 0 else ():
            spark.sql(statement.format(name))


def run_sql(spark, *statements):
    for statement in statements:
        spark.sql(statement)


def selected(spark, name, predicates):
    """The keys of the rows that Spark selects of what it reads with Iceberg, by predicate.

    Neither Iceberg nor Spark's cache is asked what to skip: by their bounds no NaN is greater than a number.
    """
    everything = spark.table(name).localCheckpoint()
    return [sorted(row["k"] for row in everything.where(where).select("k").collect()) for where in predicates]
