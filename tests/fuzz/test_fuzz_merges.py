"""A few cases of `make fuzz ARGS=merges`, and a test that it finds a condition that loses rows."""

from __future__ import annotations

import pytest
import spark_packages
from merges import machine, planned
from merges.grounds import DELTA_SETTINGS, SETTINGS

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("merges")


@pytest.fixture(scope="module")
def delta(place):
    with spark_packages.process_with(spark_packages.DELTA, {**SETTINGS, **DELTA_SETTINGS}, place / "warehouse") as run:
        yield run


@pytest.mark.spark
def test_merges_of_delta_leave_the_same_table_with_the_condition(delta, place):
    result = delta(machine.run, "delta", str(place), 5, 30, 20.0, 0)
    assert result.findings == []
    assert result.cases > 0, "on a slow machine the first MERGE takes the time of all"
    assert result.files["with the condition"] <= result.files["as written"]


@pytest.mark.spark
def test_no_joined_row_fails_the_condition(delta, place):
    result = delta(machine.run_joins, "delta", str(place), 6, 170, 20.0, 0)
    assert result.findings == []
    assert result.cases > 0
    assert result.counts["joined rows"] > 0 or result.cases < 10


@pytest.mark.spark
def test_a_condition_that_loses_rows_is_found(delta, place):
    assert delta(machine.run_damaged, "delta", str(place), 5, 3, 60.0, 0).findings


@pytest.mark.spark
def test_merges_of_iceberg_leave_the_same_table_with_the_condition(tmp_path):
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")
    with spark_packages.iceberg_lake(tmp_path, more=SETTINGS) as run:
        merged = run(machine.run, "iceberg", str(tmp_path), 5, 10, 20.0, 0)
        joined = run(machine.run_joins, "iceberg", str(tmp_path), 6, 40, 20.0, 0)
    assert merged.findings == joined.findings == []
    assert min(merged.cases, joined.cases) > 0


def test_conditions_hold_for_rows_with_a_partner(tmp_path):
    conditions, matched, findings = planned.run(tmp_path, 5, 60, 60.0)
    assert findings == []
    assert conditions > 3
    assert matched > 10


def test_a_condition_that_a_row_with_a_partner_does_not_fulfil_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(planned, "_readable", lambda condition: "v < 0")
    assert planned.run(tmp_path, 5, 60, 60.0)[2]


def test_a_number_always_draws_the_same():
    assert repr(machine.draw(3, 4)) == repr(machine.draw(3, 4)) != repr(machine.draw(3, 5))


def test_every_form_is_drawn():
    drawn = [machine.draw(3, number) for number in range(0, 3000, 7)]
    forms = {form for _, merge in drawn for form in merge.forms}
    assert {"null-safe", "another type of key", "condition on the target", "NOT MATCHED BY SOURCE DELETE"} <= forms
    assert {change for target, _ in drawn for change in target.changes} == {"deletion vectors", "column mapping"}
    assert {target.types["k"] for target, _ in drawn} > {"TINYINT", "DECIMAL(10,2)", "TIMESTAMP_NTZ", "BOOLEAN"}
