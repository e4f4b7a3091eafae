"""Functions that run in a Spark process with the extensions of Delta or Iceberg, and return their results."""

from __future__ import annotations

import deltalog
import prune_assets as pr
from parquet_core.errors import PruneError

LAYOUT = pr.LayoutSpec(sort_by=["user"], partition_by=["day"], files=1)
PREDICATES = (
    "true",
    "day = DATE '2024-01-03' AND word LIKE 'w1%'",
    "day > DATE '2024-01-02' AND NOT user BETWEEN 3 AND 95 OR user IS NULL AND id < 900",
)
COLUMNS = "id BIGINT, user INT, word STRING, day DATE"


def events(spark, first, last):
    return spark.sql(
        "SELECT id, CAST(nullif(id * 7919 % 100, 13) AS INT) AS user, concat('w', id % 17) AS word, "
        f"date_add(DATE '2024-01-01', CAST(id % 5 AS INT)) AS day FROM range({first}, {last})"
    )


def rows_of(frame):
    return sorted(tuple(map(str, row)) for row in frame.collect())


def both(spark, table, theirs, predicates=PREDICATES):
    """Return, per predicate, the rows read by prune-assets and the rows that Spark selects from its own DataFrame."""
    theirs = theirs.cache()  # so that they are read once
    try:
        return [
            (rows_of(pr.read(table, where=where, session=spark)), rows_of(theirs.where(where))) for where in predicates
        ]
    finally:
        theirs.unpersist()


def errors(spark, table):
    return [each.code for each in pr.check(table, layout=LAYOUT, session=spark) if each.severity == "error"]


def all_functions(spark, table, table_format, create=None):
    """Write, check, plan, optimize and read a table by a path, or by the name that `create` gives it."""
    if create is not None:
        spark.sql(create)
    for first in (0, 500):
        pr.write(events(spark, first, first + 500), table, layout=LAYOUT, format=None if create else table_format)
    before = errors(spark, table)
    report = pr.plan(table, where=PREDICATES[1], session=spark).report
    new_files = pr.optimize(table, layout=LAYOUT, session=spark).new_files
    return {
        "found before": before,
        "new files": new_files,
        "found after": errors(spark, table),
        "files to read": (report.kept.files, report.total.files),
        "rows": both(spark, table, events(spark, 0, 1000)),
    }


def check_all_functions(found):
    """Judge, in the process of the tests, what `all_functions` returned."""
    assert found["found before"] == ["overlap.files", "overlap.row_groups"]
    assert found["new files"] == 5
    assert found["found after"] == []
    assert found["files to read"] == (2, 10)
    check_same(found["rows"])


def check_same(pairs):
    for ours, theirs in pairs:
        assert ours == theirs
        assert ours


def versions(spark, table):
    """Make versions of a Delta table, most by this package; return the rows of each by both."""
    pr.write(events(spark, 0, 500), table, layout=LAYOUT, format="delta")
    pr.write(events(spark, 500, 1000), table, layout=LAYOUT)
    some = events(spark, 0, 100).where("day = DATE '2024-01-03'")
    pr.write(some, table, layout=LAYOUT, mode="replace_partitions")
    pr.write(some, table, layout=LAYOUT, mode="overwrite", where="day = DATE '2024-01-03'")
    pr.optimize(table, layout=LAYOUT, session=spark)
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{table}` WHERE id % 100 = 7")
    spark.sql(f"ALTER TABLE delta.`{table}` ADD COLUMNS (more BIGINT)")
    deltalog.write_checkpoint(table)
    return [
        (
            rows_of(pr.read(table, where="true", session=spark, version=version)),
            rows_of(spark.read.format("delta").option("versionAsOf", version).load(table)),
        )
        for version in range(deltalog.open_snapshot(table).version + 1)
    ]


def read_between(spark, table, steps):
    """Change a table, which a catalog names, with statements of Spark; return the rows by both after each step."""
    found = []
    for statements in steps:
        run_sql(spark, *(statement.format(table=table) for statement in statements))
        found.append(both(spark, table, spark.table(table), (PREDICATES[0], PREDICATES[2])))
    return found


def written(spark, table):
    pr.write(events(spark, 0, 1000), table, layout=LAYOUT)


def append_ids(spark, table, first, last):
    pr.write(spark.range(first, last), table, layout=pr.LayoutSpec(sort_by=["id"]))


def written_after(spark, table):
    """Write and optimize what Delta wrote last; return the rows by both."""
    frame = events(spark, 2000, 2100)
    pr.write(frame.select(*spark.table(table).columns), table, layout=LAYOUT)
    pr.optimize(table, layout=LAYOUT, session=spark)
    return both(spark, table, spark.table(table))


def refusals(spark, table):
    """Return what each function says to a table by its name or path; None where it takes it."""
    frame = events(spark, 0, 10)
    calls = {
        "read": lambda: pr.read(table, where="true", session=spark),
        "plan": lambda: pr.plan(table, where="true", session=spark),
        "check": lambda: pr.check(table, layout=LAYOUT, session=spark),
        "audit": lambda: pr.audit(table, session=spark),
        "optimize": lambda: pr.optimize(table, layout=LAYOUT, session=spark),
        "write": lambda: pr.write(frame, table, layout=LAYOUT),
        "write Delta": lambda: pr.write(frame, table, layout=LAYOUT, format="delta"),
    }
    return {name: _said(call) for name, call in calls.items()}


def rows_of_read(spark, table):
    return rows_of(pr.read(table, where="true", session=spark))


def _said(call):
    try:
        call()
    except PruneError as error:
        return type(error).__name__, str(error)
    return None


def run_sql(spark, *statements):
    for statement in statements:
        found = spark.sql(statement)
    return rows_of(found)
