"""What Spark alone reads is foretold for the version that runs: a hundred predicates on each of three tables."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, SparkRuntimeException
from spark_reader_names import ALONE

import prune_assets as pr
from tests.fuzz.planner.truth import settings
from workload.cases import Case
from workload.fixture_lines import fixture_lines, known_to_be_off
from workload.judging import holds, reading
from workload.tables import QUICK, TABLES, Ground

# Of a writer with bloom filters and short pages, of pyarrow's pages, and of Spark's own files without either.
FILES = ("lineitem_sorted", "events_arrow", "orders_by_month")


@pytest.fixture(scope="module")
def ground(spark, tmp_path_factory):
    with settings(spark, QUICK):
        yield Ground(tmp_path_factory.mktemp("predictions"), spark)


def cases_of(table):
    """Return the predicates on any table of a family, asked of this one."""
    off = known_to_be_off()
    family = {name for name in TABLES if name.partition("_")[0] == table.partition("_")[0]}
    predicates = dict.fromkeys(line.predicate for line in fixture_lines() if family & set(line.tables))
    known = {
        predicate for predicate in predicates for name in off if name.split(": ", 1)[1].startswith(f"{predicate} (")
    }
    return [Case(table, predicate, "plain") for predicate in predicates if predicate not in known]


def foretold(ground, table, cases):
    """Return what was foretold otherwise, a line each, and how many rows each answered case scanned."""
    wrong, scanned = [], []
    for case in cases:
        try:
            rows = reading(ground.frame(table).where(case.predicate), ground.fingerprint(table)).scanned
        except (AnalysisException, Py4JJavaError, SparkRuntimeException):
            continue  # names columns of other tables of the family, or fails on a value
        report = pr.plan(ground.path(table), where=case.predicate, session=ground.spark).report
        (alone,) = [engine for engine in report.engines if engine.name == ALONE]
        scanned.append(rows)
        if not holds(alone, rows):
            wrong.append(f"{case.predicate}: {alone.kept.rows} rows foretold, {rows} scanned")
    return wrong, scanned


@pytest.mark.spark
@pytest.mark.parametrize("table", FILES)
def test_the_rows_that_spark_alone_scans_are_foretold(ground, table):
    wrong, scanned = foretold(ground, table, cases_of(table)[::8])
    assert wrong == []
    assert len(scanned) >= 10
    assert min(scanned) < ground.frame(table).count(), "of a scan of all everything is foretold"


@pytest.mark.spark
@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("table", FILES)
def test_the_rows_of_all_predicates_are_foretold(ground, table):
    wrong, scanned = foretold(ground, table, cases_of(table))
    skipping = sum(rows < ground.frame(table).count() for rows in scanned)
    print(f"{table}: {len(scanned)} predicates, {skipping} of them skip rows, {len(wrong)} foretold otherwise")
    assert wrong == []
    assert len(scanned) >= 90
    assert skipping > len(scanned) / 4
