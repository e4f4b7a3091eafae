"""A day without rows: results of the tasks, and the guide's DAG succeeds."""

from __future__ import annotations

import re
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it, or: pip install 'prune-assets[airflow]'")

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

import prune_assets as pr
from prune_assets.airflow import (
    LayoutAdviceOperator,
    LayoutCheckOperator,
    OptimizeTableOperator,
    SkipReportOperator,
    SortedWriteOperator,
)

GUIDE = Path(__file__).parents[3] / "docs" / "airflow.md"
SORTED = {"sort_by": ["id"]}
ABSENT = "day = DATE '2030-01-01'"


@pytest.fixture
def days(put, tmp_path):
    """A table of plain files with the rows of one day."""
    put(tmp_path / "days" / "day=2024-03-01", "part-0", range(1000))
    return tmp_path / "days"


@pytest.fixture
def bare(tmp_path):
    """A Delta table without files."""
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32())])
    deltalake.write_deltalake(tmp_path / "bare", schema.empty_table(), partition_by=["day"])
    return tmp_path / "bare"


def guide_dag(tmp_path):
    """The DAG of the guide, with its tables in a folder of the test."""
    (source,) = re.findall(r"```python\n(from airflow.*?)```", GUIDE.read_text(), re.DOTALL)
    made = {}
    moved = re.sub(r"/(lake|raw)/", rf"{tmp_path}/\1/", source)
    exec(compile(moved, GUIDE.name, "exec"), made)
    return made["dag"]


def run_day(dag, ds, context):
    """Run the tasks of a DAG one after the other, as on a day."""
    context |= {"ds": ds}
    results = {}
    for task in dag.topological_sort():
        task.render_template_fields(context)
        results[task.task_id] = task.execute(context)
    return results


@pytest.mark.spark
@pytest.mark.parametrize("is_first", [False, True], ids=["later", "first"])
def test_the_dag_of_the_guide_passes_on_a_day_without_rows(is_first, spark, context, tmp_path):
    rows = spark.sql(
        "SELECT date_add(DATE '2024-03-01', CAST(id % 12 AS INT)) AS day, id AS user, CAST(id AS STRING) AS session "
        "FROM range(1200)"
    )
    rows.write.parquet(str(tmp_path / "raw" / "events"))
    if not is_first:
        layout = guide_dag(tmp_path).task_dict["check"].layout
        pr.write(rows, tmp_path / "lake" / "events", layout=layout, format="delta")
    results = run_day(guide_dag(tmp_path), "2024-04-01", context)
    assert results["write"]["rows"] == 0
    assert (results["check"]["errors"], results["check"]["empty"]) == (0, True)
    assert results["report"]["predicates"]["one_user"]["kept_rows"] == 0


def of_a_check(table, **options):
    return LayoutCheckOperator(task_id="t", table=table, layout=SORTED, **options)


def of_a_report(table, where, **options):
    return SkipReportOperator(task_id="t", table=table, predicates=[where or "id = 1"], min_skipped=0.9, **options)


def of_optimize(table, where, **options):
    return OptimizeTableOperator(task_id="t", table=table, layout=SORTED, where=where, **options)


def of_advice(table, **options):
    return LayoutAdviceOperator(task_id="t", table=table, workload=["id = 1"], **options)


EMPTY = {
    "a check of a day without files": lambda days, bare, **options: of_a_check(days, where=ABSENT, **options),
    "a check of a day of Delta": lambda days, bare, **options: of_a_check(bare, where=ABSENT, **options),
    "a check of a table without files": lambda days, bare, **options: of_a_check(bare, **options),
    "the health of one": lambda days, bare, **options: LayoutCheckOperator(task_id="t", table=bare, **options),
    "a report of one": lambda days, bare, **options: of_a_report(bare, None, **options),
    "an optimize of a day": lambda days, bare, **options: of_optimize(days, ABSENT, **options),
    "an optimize of a table without files": lambda days, bare, **options: of_optimize(bare, None, **options),
    "advice on a table without rows": lambda days, bare, **options: of_advice(bare, **options),
}


@pytest.mark.parametrize("case", EMPTY)
def test_a_task_without_rows_passes_and_says_so(case, days, bare, context, logged):
    result = EMPTY[case](days, bare).execute(context)
    assert result["empty"] is True
    assert [line for level, line in logged() if level == "info" and result["table"] in line]


@pytest.mark.parametrize("case", EMPTY)
def test_or_is_skipped_or_fails(case, days, bare, context):
    with pytest.raises(AirflowSkipException, match=r": .* no") as skipped:
        EMPTY[case](days, bare, when_empty="skip").execute(context)
    with pytest.raises(AirflowFailException) as failed:
        EMPTY[case](days, bare, when_empty="fail").execute(context)
    assert str(skipped.value) == str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_day_with_rows_is_not_empty(days, context):
    for options in ({"where": "day = DATE '2024-03-01'"}, {}):
        assert "empty" not in of_a_check(days, when_empty="fail", **options).execute(context)
    assert "empty" not in of_a_report(days, ABSENT, when_empty="fail").execute(context)


def test_a_table_that_is_not_there_is_no_empty_one(tmp_path, context):
    with pytest.raises(AirflowFailException, match="gone"):
        of_a_check(tmp_path / "gone", where=ABSENT).execute(context)


@pytest.mark.spark
@pytest.mark.parametrize("format_", ["parquet", "delta"])
def test_a_write_without_rows_replaces_rows_only_where_that_passes(format_, spark, context, tmp_path):
    write = {"task_id": "w", "table": tmp_path / "t", "layout": SORTED, "format": format_}
    SortedWriteOperator(source="SELECT id FROM range(9)", **write).execute(context)
    none = "SELECT id FROM range(9) WHERE id > 9"
    with pytest.raises(AirflowSkipException, match="the source has no rows"):
        SortedWriteOperator(source=none, when_empty="skip", **write).execute(context)
    with pytest.raises(AirflowFailException, match="the source has no rows"):
        SortedWriteOperator(source=none, when_empty="fail", **write).execute(context)
    assert pr.read(tmp_path / "t", where="true", session=spark).count() == 9
    result = SortedWriteOperator(source=none, **write).execute(context)
    assert (result["rows"], result["empty"]) == (0, True)
    assert pr.read(tmp_path / "t", where="true", session=spark).count() == 0
