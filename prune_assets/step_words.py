"""The wording of remedies for each tool: shell commands, Dagster jobs, Airflow operators."""

from __future__ import annotations

from parquet_core.fix import Step

SHELL = {
    Step.OPTIMIZE: "prune optimize {place} --layout {layout}",
    Step.OPTIMIZE_ROWS: "prune optimize {place} --layout {layout} --rows",
    Step.OPTIMIZE_FULL: "prune optimize {place} --layout {layout} --full",
    Step.WRITE_TABLE: "prune write {place} NEW_TABLE --layout {layout}",
    Step.FINISH_WRITE: "`prune doctor {place}`",
    Step.WRITE_DELTA: "`prune write {place} NEW --layout LAYOUT --format delta`",
    Step.LOAD_LAYOUT: "`prune check` reads one from a file",
    Step.EVALUATE_IN_SPARK: "let Spark evaluate it, by pr.read",
    Step.READ_IN_SPARK: "read it with pr.read",
    Step.STAY_IN_PARTITIONS: Step.STAY_IN_PARTITIONS.value,
    Step.READ_ROWS: "--rows (rows=True)",
    Step.INSPECT: "`prune inspect`",
}
DAGSTER = SHELL | {
    Step.OPTIMIZE: "the job of `LayoutTable.optimize_job`",
    Step.OPTIMIZE_ROWS: "the job of `LayoutTable.optimize_job` with rows=True",
    Step.OPTIMIZE_FULL: "materialize the asset with this layout",
    Step.WRITE_TABLE: "materialize the asset with this layout",
    # The author of an asset writes no condition: the partitions of the run are the condition.
    Step.STAY_IN_PARTITIONS: "return only rows of the partitions of the run",
    Step.READ_ROWS: Step.READ_ROWS.value,
}
AIRFLOW = SHELL | {
    Step.OPTIMIZE: "a task of OptimizeTableOperator",
    Step.OPTIMIZE_ROWS: "a task of OptimizeTableOperator with rows=True",
    Step.OPTIMIZE_FULL: "a task of WriteTableOperator",
    Step.WRITE_TABLE: "a task of WriteTableOperator",
    Step.READ_ROWS: Step.READ_ROWS.value,
}
