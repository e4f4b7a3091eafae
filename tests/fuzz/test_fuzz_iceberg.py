"""A few cases of `make fuzz ARGS=iceberg`, and a test that it finds known errors."""

from __future__ import annotations

import random

import pytest
import spark_packages

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

from iceberg import machine
from iceberg.tables import random_table

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def run(lake):
    with spark_packages.iceberg_lake(lake) as run:
        yield run


@pytest.mark.deep
@pytest.mark.spark
def test_reads_of_iceberg_hold_against_spark(run, lake):
    result = run(machine.run, str(lake), 5, 120, 600.0, 0)
    assert result.findings == []
    assert result.tally.counts["read by name"] > 60
    assert min(result.tally.counts[f"compared with {peer}"] for peer in ("Iceberg", "pyiceberg")) > 30


@pytest.mark.deep
@pytest.mark.spark
def test_rows_that_iceberg_loses_are_found(run, lake):
    """The table has NaN in partitions and in data with numeric bounds."""
    assert run(machine.run, str(lake), 11, 1, 600.0, 1).findings == []
    found = run(machine.run_trusting, str(lake), 11, 1, 600.0, 1).findings
    assert "rows by name" in {finding.check for _, finding in found}


def test_a_number_always_draws_the_same():
    assert repr(machine.draw(3, 4)) == repr(machine.draw(3, 4)) != repr(machine.draw(3, 5))


def test_every_change_of_a_table_is_drawn():
    drawn = [random_table(random.Random(seed)) for seed in range(200)]
    for what in ("late", "filled", "renamed", "narrowed", "fields", "more_fields", "holes", "deletes"):
        assert any(getattr(table, what) for table in drawn), what
    assert {table.version for table in drawn} == {1, 2, 3}
    texts = " ".join(text for table in drawn for text in table.fields)
    for transform in ("bucket", "truncate", "years", "months", "days"):
        assert transform in texts
