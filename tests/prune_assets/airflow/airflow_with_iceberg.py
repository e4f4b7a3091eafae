"""Functions that run in a Spark process with Iceberg: the operators, as a worker runs them."""

from __future__ import annotations

from prune_assets.airflow import CheckLayoutOperator, OptimizeTableOperator, SkipReportOperator, WriteTableOperator
from tests.prune_assets.airflow.conftest import TaskInstance

LAYOUT = {"partition_by": ["part"], "sort_by": ["id"], "files": 1}


def upkeep(spark, table):
    """Write, replace a partition, break the order, check, optimize, check again; return what each says."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.web")
    context = {"ti": TaskInstance(), "outlet_events": {}}
    source = "SELECT id, id % 2 AS part FROM range({})"
    options = {"table": table, "layout": LAYOUT, "format": "iceberg"}
    write = WriteTableOperator(task_id="w", source=source.format(1000), mode="overwrite", **options)
    replace = WriteTableOperator(
        task_id="p", source=f"{source.format(100)} WHERE id % 2 = 1", mode="replace_partitions", **options
    )
    told = [write.execute(context), replace.execute(context)]
    for i in range(3):
        spark.sql(f"INSERT INTO {table} SELECT * FROM {table} WHERE id % 3 = {i}")
    check = CheckLayoutOperator(task_id="c", table=table, layout=LAYOUT, severity="warn")
    optimize = OptimizeTableOperator(task_id="o", table=table, layout=LAYOUT, predicates=["id = 5"])
    told += [operator.execute(context) for operator in (check, optimize, check, optimize)]
    report = SkipReportOperator(task_id="r", table=table, predicates={"one": "id = 5 AND part = 1"})
    return [*told, report.execute(context)], spark.table(table).count()
