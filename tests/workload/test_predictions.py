"""The rows that Spark alone reads are predicted for the installed version."""

from __future__ import annotations

import pytest

from tests.fuzz.planner.truth import settings
from workload.foretold import FILES, foretold, predicates_of
from workload.tables import QUICK, Ground


@pytest.fixture(scope="module")
def ground(spark, tmp_path_factory):
    with settings(spark, QUICK):
        yield Ground(tmp_path_factory.mktemp("predictions"), spark)


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("table", FILES)
def test_the_rows_that_spark_alone_scans_are_foretold(ground, table):
    found = foretold(ground, table, predicates_of(table)[::8])
    assert [one for one in found if not one.holds] == []
    assert len(found) >= 10
    assert min(one.scanned for one in found) < ground.frame(table).count(), "of a scan of all everything is foretold"


@pytest.mark.spark
@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("table", FILES)
def test_the_rows_of_all_predicates_are_foretold(ground, table):
    found = foretold(ground, table, predicates_of(table))
    assert [one for one in found if not one.holds] == []
    assert len(found) >= 90
    assert sum(one.scanned < ground.frame(table).count() for one in found) > len(found) / 4
