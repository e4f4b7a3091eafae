"""Ordinary predicates, end to end: compare `read`, `plan` and `prune explain` with Spark's answers and scans."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from spark_reader_names import ALONE, HANDED_OVER

import prune_assets as pr
from prune_assets.sql.semantics import SparkSemantics
from tests.fuzz.planner.truth import settings
from workload import generator, judging, measured_rows, tpc_rows, web_rows
from workload.cases import Case, all_cases, sample
from workload.fixture_lines import fixture_lines, known_to_be_off
from workload.forms import Draw
from workload.judging import Finding, judged
from workload.tables import QUICK, TABLES, Ground

# One fast table for every family, writer and kind of partitions.
SAMPLED = (
    "changes_drift",
    "customer_arrow",
    "date_dim_spark",
    "events_arrow",
    "events_by_day",
    "flights_by_month",
    "hits_polars",
    "lineitem_arrow",
    "lineitem_by_mode",
    "lineitem_sorted",
    "logs_hourly",
    "orders_fastparquet",
    "part_arrow",
    "raw_hits_arrow",
    "readings_by_device",
    "readings_int96",
    "recent_by_day",
    "store_sales_by_day",
    "taxi_duckdb",
)
OF_A_TABLE = 9
KNOWN = known_to_be_off()


@pytest.fixture(scope="module")
def ground(spark, tmp_path_factory):
    with settings(spark, QUICK):
        yield Ground(tmp_path_factory.mktemp("workload"), spark)


def without_known(found):
    """Return the result without predictions that are known to be wrong; add a finding for each that is correct now."""
    off = [one for one in found.findings if one.check.startswith("predicted rows")]
    if found.case.id not in KNOWN:
        return found
    rest = [one for one in found.findings if one not in off]
    if not off:
        rest.append(Finding("is known to be off, and is not", KNOWN[found.case.id]))
    return replace(found, findings=rest)


def findings(ground, cases):
    """Return the findings, one line each."""
    found = [without_known(judged(ground, case)) for case in cases]
    refused = [f"{one.case.id}: Spark: {one.refused}" for one in found if one.refused and one.case.setting == "plain"]
    return refused + [f"{one.case.id}: {check}: {detail}" for one in found for check, detail in one.findings]


@pytest.mark.sampled(23)
@pytest.mark.spark
@pytest.mark.parametrize("table", SAMPLED)
def test_some_ordinary_predicates_are_answered_as_by_spark(ground, table):
    assert findings(ground, sample(OF_A_TABLE, table=table)) == []


@pytest.mark.spark
@pytest.mark.deep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("table", TABLES)
def test_every_ordinary_predicate_is_answered_as_by_spark(ground, table):
    assert findings(ground, [case for case in all_cases() if case.table == table]) == []


@pytest.mark.spark
@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_random_ordinary_queries_are_answered_as_by_spark(ground):
    result = generator.run(ground, seed=1, count=200)
    off = [each for each in result.findings if each[2].check.startswith("predicted rows")]
    assert [(number, case.id, *each) for number, case, each in result.findings if (number, case, each) not in off] == []
    # Spark's optimizer has some knowledge beyond the plan (`round(x)` has no fraction), so a few predictions are wrong.
    assert len({number for number, _, _ in off}) <= 5
    assert result.refused.total() < 20
    assert 0 < result.kept < result.total


def test_a_number_always_draws_the_same_and_another_one_other():
    assert generator.draw(1, 2) == generator.draw(1, 2) != generator.draw(1, 3)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("rows", [tpc_rows.store_sales, web_rows.events, web_rows.logs, measured_rows.readings])
def test_every_form_of_a_column_makes_sql_that_is_planned(rows, tmp_path):
    chance, table = random.Random(1), rows()
    pq.write_table(table.slice(0, 9), tmp_path / "t.parquet")
    for column in generator.columns_of(table):
        for form in column.forms:
            sql = form(Draw(chance, column.name, column.values))
            made = pr.plan(tmp_path / "t.parquet", where=sql, semantics=SparkSemantics(time_zone="UTC"))
            assert made.lowered.conjuncts


def test_what_is_known_to_be_off_is_still_asked():
    assert KNOWN.keys() <= {case.id for case in all_cases()}
    assert len(KNOWN) < 10


def test_the_workload_is_as_large_as_it_is_said_to_be():
    lines = fixture_lines()
    used = {name for line in lines for name in line.tables}
    assert len({line.predicate for line in lines}) >= 500
    assert used == set(TABLES)
    assert len(used) >= 25
    assert len({case.id for case in all_cases()}) == len(all_cases())


@pytest.mark.spark
def test_lost_rows_wrong_predictions_and_errors_are_found(ground):
    case = Case("customer_arrow", "c_custkey < 150 AND c_phone IS NOT NULL", "plain", explained=True)
    right = judged(ground, case)
    assert (right.findings, right.refused) == ([], "")
    assert right.answer.rows > 100

    def losing(*arguments, **options):
        return pr_read(*arguments, **options).where("c_custkey <> 7")

    def failing(*arguments, **options):
        raise IndexError("of all things")

    def boasting(*arguments, **options):
        report = pr_plan(*arguments, **options).report
        engines = tuple(replace(one, kept=replace(one.kept, rows=one.kept.rows // 2)) for one in report.engines)
        return Boasting(replace(report, engines=engines))

    pr_read, pr_plan = pr.read, pr.plan
    for name, instead, expected in (
        ("read", losing, {"same rows as Spark"}),
        ("read", failing, {"read answers where Spark does"}),
        ("plan", boasting, {f"predicted rows of {ALONE}", f"predicted rows of {HANDED_OVER}"}),
    ):
        with patch.object(judging.pr, name, instead), patch.object(judging, "given_to", lambda made: None):
            assert {finding.check for finding in judged(ground, case).findings} == expected


class Boasting:
    warnings = ()

    def __init__(self, report):
        self.report = report


@pytest.mark.spark
def test_what_spark_refuses_has_no_answer_to_compare_with(ground):
    refused = judged(ground, Case("customer_arrow", "C_CUSTKEY < 150", "case sensitive"))
    assert "UNRESOLVED_COLUMN" in refused.refused
    assert refused.findings == []
