"""Deletes that Spark and streaming writers leave: counted by manifests, and applied by `optimize`."""

from __future__ import annotations

import pytest
import spark_packages

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

import prune_assets as pr
from tests.prune_assets.tables.iceberg import iceberg_writes as there

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SORTED = pr.LayoutSpec(sort_by=["id"])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with spark_packages.iceberg_lake(tmp_path_factory.mktemp("lake")) as run:
        yield run


def make(run, name, version, granularity="file"):
    """A table of three commits of 100 rows."""
    properties = {
        "format-version": version,
        "write.delete.mode": "merge-on-read",
        "write.delete.granularity": granularity,
    }
    listed = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
    run(there.run_sql, f"CREATE TABLE {name} (id BIGINT, s STRING) USING iceberg TBLPROPERTIES ({listed})")
    for first in (0, 100, 200):
        run(there.run_sql, f"INSERT INTO {name} SELECT id, concat('w', id) FROM range({first}, {first + 100}, 1, 1)")
    return name


def delete(run, name, *conditions):
    run(
        there.run_sql,
        "SET spark.sql.shuffle.partitions=1",
        *(f"DELETE FROM {name} WHERE {each}" for each in conditions),
    )


def debt(run, name):
    return {code: (severity, message) for code, severity, message in run(there.delete_findings, name)}


def applied(run, name, layout, left):
    """Optimize the table; the live rows are the same, and no delete is left to apply."""
    done = run(there.optimize, name, layout)
    assert run(there.keys, name) == left
    assert (debt(run, name), done["left"]) == ({}, 0)
    return done["reasons"]


@pytest.mark.parametrize("version", [2, 3], ids=["position deletes", "deletion vectors"])
def test_deleted_rows_are_counted_and_applied(run, version):
    name = make(run, f"lake.db.rows{version}", version)
    delete(run, name, "id % 4 = 0 AND id < 200")
    findings = debt(run, name)
    most = "at most " if version == 2 else ""
    assert list(findings) == ["deletes.rows"]
    severity, message = findings["deletes.rows"]
    assert severity == "warn"
    assert message.startswith(f"{most}50 of 300 rows (16.7%) are deleted, in 2 of 3 files, 2 of them with more than 5%")
    reasons = applied(run, name, SORTED, [i for i in range(300) if i % 4 or i >= 200])
    assert reasons["deleted rows"] == 2


@pytest.mark.parametrize("layout", [SORTED, pr.LayoutSpec()], ids=["sorted", "in any order"])
def test_delete_files_of_several_data_files_are_counted_and_applied(run, layout):
    name = make(run, f"lake.db.shared{len(layout.sort_by)}", 2, "partition")
    delete(run, name, *(f"id IN ({i}, {i + 100})" for i in range(10)))
    findings = debt(run, name)
    assert findings["deletes.rows"][1].startswith("at most 20 of 300 rows (6.7%) are deleted, in 3 of 3 files; ")
    assert findings["deletes.files"] == (
        "warn",
        "readers open up to 10 delete files for one data file, and 10 or more for 3 of 3 files",
    )
    reasons = applied(run, name, layout, [i for i in range(300) if i >= 200 or i % 100 >= 10])
    assert reasons["delete files"] == 3


@pytest.mark.parametrize("layout", [SORTED, pr.LayoutSpec()], ids=["sorted", "in any order"])
def test_equality_deletes_are_counted_and_applied(run, layout):
    name = make(run, f"lake.db.equality{len(layout.sort_by)}", 2)
    location = run(there.delete_by_equality, name, "id", [1, 2, 150])
    left = [i for i in range(300) if i not in {1, 2, 150}]
    assert run(there.keys, name) == left, "Iceberg applies what the test committed"
    severity, message = debt(run, name)["deletes.equality"]
    assert (severity, message[:48]) == ("warn", "3 of 3 files have equality deletes, up to 1 a fi")
    reasons = applied(run, name, layout, left)
    assert reasons["delete files"] == 3
    assert pr.count(location) == len(left), "nothing is refused any more"
