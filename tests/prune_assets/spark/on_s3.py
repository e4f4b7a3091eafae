"""Functions that run in a separate Spark process with hadoop-aws; they take a session and return plain values."""

from __future__ import annotations

import prune_assets as pr
from parquet_core.errors import PruneError
from tests.peers.plain_rows import plain_rows

LAYOUT = pr.LayoutSpec(sort_by=["id"], files=2, bloom={"id": 0.01})
PARTITIONED = pr.LayoutSpec(sort_by=["id"], files=1, partition_by=["k", "s"])
# Keys with a space, a percent sign, a letter beyond ASCII and a slash.
WORDS = "concat('a b%ü/', id % 2)"


def numbers(spark, start, stop):
    return spark.range(start, stop, numPartitions=2)


def partitioned(spark, rows):
    return spark.range(rows).selectExpr("id", "cast(id % 10 as int) as k", f"{WORDS} as s")


def ids(spark, table, where="true", **options):
    return sorted(row.id for row in pr.read(table, where=where, session=spark, **options).select("id").collect())


def said_of(spark, function, *arguments):
    """Return kind and message of the error that a function of this module raises; None if it succeeds."""
    try:
        function(spark, *arguments)
    except PruneError as error:
        return type(error).__name__, str(error)
    return None


def write(spark, table, start, stop, mode="append"):
    return pr.write(numbers(spark, start, stop), table, layout=LAYOUT, format="delta", mode=mode).version


def write_plain(spark, table, mode="append"):
    pr.write(numbers(spark, 0, 3), table, layout=LAYOUT, format="parquet", mode=mode)


def write_in_all_modes(spark, table):
    """The ids after each write of a table, spelled each time in another way."""
    found = []
    for scheme, start, stop, mode in [
        ("s3", 0, 10, "error"),
        ("s3a", 10, 20, "append"),
        ("s3n", 5, 8, "overwrite"),
    ]:
        write(spark, table.replace("s3://", f"{scheme}://"), start, stop, mode)
        found.append(ids(spark, table))
    return found


def write_partitions(spark, table):
    """The ids below 10 of a table of more partitions than are read one by one, after each write of some of them."""
    pr.write(partitioned(spark, 100), table, layout=PARTITIONED, format="delta")
    found = [ids(spark, table, "id < 10")]
    assert ids(spark, table, "s = 'a b%ü/1' AND id < 10") == [1, 3, 5, 7, 9]
    third = partitioned(spark, 100).where("k = 3").selectExpr("id + 1000 as id", "k", "s")
    pr.write(third, table, layout=PARTITIONED, mode="replace_partitions")
    found.append(ids(spark, table, "id < 10"))
    pr.write(third.limit(0), table, layout=PARTITIONED, mode="overwrite", where="k = 4")
    found.append(ids(spark, table, "id < 10"))
    return found


def rows(spark, table, where="true"):
    return plain_rows(pr.read(table, where=where, session=spark).toArrow().to_pylist())


def plan_and_read(spark, table, other):
    """The names of the files that a plan of one spelling keeps, and the ids that are read by another with it."""
    made = pr.plan(table, where="id < 3", session=spark)
    return len(made.surviving_files), ids(spark, other, "id < 3", plan=made)


def ask_executors(spark, table):
    """Return the report's explanations about executors, and the ids that are read with executors enabled."""
    spark.conf.set("spark.prune.executorFiles", "1")
    try:
        levels = pr.plan(table, where="id < 2 AND id <> 77", session=spark).report.levels
        return [level.why for level in levels if level.level == "executors"], ids(spark, table, "id < 2")
    finally:
        spark.conf.unset("spark.prune.executorFiles")


def configure(spark, settings):
    """Configure the session as its user does, which is not undone."""
    for name, value in settings.items():
        spark.conf.set(name, value)


def settings(spark):
    """All that a session and its Hadoop are set to."""
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    names = ["access.key", "secret.key", "endpoint", "endpoint.region", "path.style.access"]
    return dict(spark.conf.getAll), [hadoop.get(f"fs.s3a.{name}") for name in names]


def shown_by_spark(spark, table):
    """Return everything that Spark's UI shows about its queries, including a read of a table."""
    ids(spark, table, "id < 3")
    ran = spark._jsparkSession.sharedState().statusStore().executionsList()
    return "".join(ran.apply(i).physicalPlanDescription() for i in range(ran.size()))
