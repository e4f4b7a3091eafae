"""Functions that run in a Spark process with Iceberg: they write tables with all transforms and select rows."""

from __future__ import annotations

import datetime as dt
import random

COLUMNS = "k BIGINT, n INT, ts TIMESTAMP, ntz TIMESTAMP_NTZ, day DATE, s STRING, b BINARY, d DECIMAL(10,2), x DOUBLE"
MODES = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"
TEXTS = ["", "a", "ab", "abc", "b", "zz", "é", "éa", "日本語", "\U0001f600x"]


def rows(rng, first, count):
    """Return rows as SQL, with similar values in adjacent rows."""

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
    """Create a table with three commits; `made`: seed, format version, and SQL to run after the first commit."""
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
    """Return the keys of the rows that match, per predicate, from a copy of all rows read with Iceberg.

    The copy avoids pruning by Iceberg and by Spark's cache: with their bounds, NaN is never greater than a number.
    """
    everything = spark.table(name).localCheckpoint()
    return [sorted(row["k"] for row in everything.where(where).select("k").collect()) for where in predicates]


def by_name(spark, name, predicates):
    """Return the results of this package and of Iceberg, per predicate.

    A result has the rows by each, Spark's scans, and the kept and total files.
    """
    import prune_assets as pr
    from prune_assets.tables.iceberg.reading_with_iceberg import _scans

    found = []
    for where in predicates:
        frame = pr.read(name, where=where, session=spark)
        ours = sorted(map(str, frame.collect()))
        theirs = sorted(map(str, spark.table(name).where(where).collect()))
        kept = pr.plan(name, where=where, session=spark).report
        scans = _scans(frame) if "BatchScan" in frame._jdf.queryExecution().sparkPlan().toString() else set()
        found.append((where, ours, theirs, scans, kept.kept.files, kept.total.files))
    return found


def said(spark, name):
    """Return the error of a read; None if it succeeds."""
    import prune_assets as pr
    from parquet_core.errors import PruneError

    try:
        pr.read(name, where="true", session=spark)
    except PruneError as error:
        return f"{type(error).__name__}: {error}"
    return None


def said_to_write(spark, name):
    """Return the error of a write; None if it succeeds."""
    import prune_assets as pr
    from parquet_core.errors import PruneError

    try:
        pr.write(spark.range(3), name, layout=pr.LayoutSpec(sort_by=["id"]))
    except PruneError as error:
        return f"{type(error).__name__}: {error}"
    return None


def rows_of_version(spark, name, version):
    import prune_assets as pr

    ours = pr.read(name, where="true", session=spark, version=version)
    theirs = spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}")
    return sorted(map(str, ours.collect())), sorted(map(str, theirs.collect())), ours.schema == theirs.schema


def snapshots(spark, name):
    return [row[0] for row in spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()]


def kept_while_written(spark, name, where):
    """Return the row count of a frame that is created before a commit and executed after it."""
    import prune_assets as pr

    frame = pr.read(name, where=where, session=spark)
    spark.sql(f"INSERT INTO {name} SELECT * FROM {name}")
    return frame.count()


def with_equality_deletes(spark, name, column, values):
    """Commit equality deletes with Iceberg's Java classes, as Flink writes them."""
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    table = _loaded(spark, name)
    field = table.schema().findField(column)
    fields = gateway.new_array(jvm.java.lang.Integer, 1)
    fields[0] = field.fieldId()
    some = table.schema().select([column])
    record = jvm.org.apache.iceberg.data.GenericRecord.create(some)
    rows = jvm.java.util.ArrayList()
    for value in values:
        each = record.copy()
        each.setField(column, value)
        rows.add(each)
    ids = gateway.new_array(jvm.int, 1)
    ids[0] = field.fieldId()
    factory = jvm.org.apache.iceberg.data.GenericAppenderFactory(table.schema(), table.spec(), ids, some, None)
    place = f"{table.location()}/data/equality-{values[0]}.parquet"
    out = jvm.org.apache.iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(table.io().newOutputFile(place))
    kind = jvm.org.apache.iceberg.FileFormat.PARQUET
    writer = factory.newEqDeleteWriter(out, kind, None)
    for each in rows:
        writer.write(each)
    writer.close()
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    spark.sql(f"REFRESH TABLE {name}")


def columns_of(spark, name):
    return spark.table(name).columns


def held_against_spark(spark, name, predicates, how=None):
    """Return per predicate the keys selected by Spark from cached rows, by prune-assets, and by Iceberg.

    `how`: `version` to read, `most_tasks` to stage, and `as_columns` to evaluate conditions as columns.
    """
    from unittest.mock import patch

    from pyspark.sql.functions import expr

    import prune_assets as pr

    version, how = (how or {}).get("version"), how or {}
    table = spark.table(name) if version is None else spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}")
    everything, found = table.localCheckpoint(), []
    for where in predicates:
        asked = expr(where) if how.get("as_columns") else where
        with patch("prune_assets.tables.iceberg.reading_with_iceberg._MOST_TASKS", how.get("most_tasks", 5000)):
            ours = pr.read(name, where=asked, session=spark, version=version)
        frames = everything.where(where), ours, table.where(where)
        found.append((where, *(sorted(row["k"] for row in each.select("k").collect()) for each in frames)))
    return found


def doubted(spark, name, predicates):
    """Return per predicate the columns whose filters are not pushed down to Iceberg."""
    import prune_assets as pr
    from prune_assets.tables.iceberg.doubted_columns import doubted_columns

    plans = [pr.plan(name, where=where, session=spark) for where in predicates]
    found = [doubted_columns(plan.table.snapshot, plan.lowered.predicate) for plan in plans]
    return [sorted(".".join(path) for path in each) for each in found]


def with_initial_default(spark, name, column, number):
    """Add a column with an initial default for existing rows."""
    java, table = spark._jvm.org.apache.iceberg, _loaded(spark, name)
    kind = java.types.Types.IntegerType.get()
    table.updateSchema().addColumn(column, kind, "", java.expressions.Literal.of(number)).commit()
    spark.sql(f"REFRESH TABLE {name}")


def make_with_uuids(spark, name, values):
    """Create a table whose files have two of the values each; Spark takes each value as a string."""
    spark.sql(f"CREATE TABLE {name} (k BIGINT) USING iceberg")
    _loaded(spark, name).updateSchema().addColumn(
        "u", spark._jvm.org.apache.iceberg.types.Types.UUIDType.get()
    ).commit()
    spark.sql(f"REFRESH TABLE {name}")
    for i, pair in enumerate(zip(values, values[1:] + values[:1], strict=True)):
        rows = ", ".join(f"({2 * i + j}, '{value}')" for j, value in enumerate(pair))
        spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")


def _loaded(spark, name):
    return spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
