"""Layout checks, health checks, audits and sensors work on Iceberg tables as on other tables."""

from __future__ import annotations

import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from prune_assets.checks.health.health import check_health
from prune_assets.cli import main
from prune_assets.tables.iceberg.opening import partition_files
from prune_assets.tables.opening import open_as_written
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.iceberg_tables import DayTransform, IdentityTransform

LAYOUT = pr.LayoutSpec(sort_by=["k"])


def numbers(directory, values, **properties):
    schema = pa.schema([("k", pa.int64()), ("day", pa.int32())])
    table = made.catalog_in(directory).create_table("db.t", schema, properties=properties)
    for file_values in values:
        table.append(
            pa.table({"k": pa.array(file_values, pa.int64()), "day": pa.array([0] * len(file_values), pa.int32())})
        )
    return table


def codes(findings, severity="error"):
    return {finding.code for finding in findings if finding.severity == severity}


def test_a_layout_is_proven_of_the_files(tmp_path):
    table = numbers(tmp_path, [range(10), range(10, 20)])
    # pyiceberg writes no page index.
    assert codes(pr.check(made.folder(table), layout=LAYOUT)) == {"column_index.absent", "order.pages"}


def test_a_layout_that_files_do_not_have_is_found(tmp_path):
    broken = numbers(tmp_path, [[3, 1, 2]])
    assert "order.rows" in codes(pr.check(made.folder(broken), layout=LAYOUT))
    run = CliRunner().invoke(main, ["check", made.folder(broken), "--json"])
    assert run.exit_code in {0, 1}
    assert json.loads(run.output)


def test_the_health_of_files_is_told_with_the_sort_order_of_the_table(tmp_path):
    values = np.random.default_rng(1).permutation(2000).tolist()
    table = numbers(tmp_path, [values], **{"write.parquet.row-group-limit": "100"})
    with table.update_sort_order() as order:
        order.asc("k", IdentityTransform())
    opened = open_as_written(made.folder(table))
    findings = check_health(opened, *opened.format.examination().read_partitioned(opened))
    clustering = [finding for finding in findings if finding.code == "files.clustering"]
    assert [finding.message.partition(":")[0] for finding in clustering] == ["the table is clustered by k"]


def test_nothing_is_wrong_by_the_audit_until_a_manifest_lies(tmp_path):
    rng = random.Random(2)
    table = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    with table.update_spec() as update:
        update.add_field("ts", DayTransform(), "by_day")
    table.append(made.rows(rng, 0, 20, since=1971))
    directory = made.folder(table)
    assert codes(pr.audit(directory).findings) == set()
    file = table.inspect.files()["file_path"][0].as_py().removeprefix("file://")
    rows = pq.read_table(file)
    pq.write_table(rows.set_column(0, rows.schema.field("k"), pa.array([1 << 40] * len(rows), pa.int64())), file)
    assert codes(pr.audit(directory).findings) != set()


def test_sensors_see_partitions_by_identity(tmp_path):
    rng = random.Random(2)
    table = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    with table.update_spec() as update:
        update.add_field("s", IdentityTransform(), "by_s")
    table.append(made.rows(rng, 0, 20))
    seen = list(partition_files(made.folder(table), ["s"]))
    in_rows = set(table.scan().to_arrow()["s"].to_pylist())
    assert {values for values, _ in seen} == {(value,) for value in in_rows}
    assert len({identity for _, identity in seen}) == len(seen)


@pytest.mark.parametrize("option", ["--pages", "--orphans"])
def test_what_inspect_does_not_show_is_said(tmp_path, option):
    table = numbers(tmp_path, [[1]])
    run = CliRunner().invoke(main, ["inspect", made.folder(table), option])
    assert run.exit_code == 2
    assert "is an Iceberg table, and only its metadata are shown" in run.output


def test_inspect_shows_the_snapshot(tmp_path):
    table = numbers(tmp_path, [[1], [2, 3]])
    run = CliRunner().invoke(main, ["inspect", made.folder(table), "--json"], catch_exceptions=False)
    inspection = json.loads(run.output)
    assert (inspection["kind"], inspection["snapshot_id"], inspection["rows"]) == (
        "iceberg",
        table.current_snapshot().snapshot_id,
        3,
    )
    assert [(column["name"], column["bounds"]) for column in inspection["columns"]] == [("k", 2), ("day", 2)]
    shown = CliRunner().invoke(main, ["inspect", made.folder(table), "--columns", "k"], catch_exceptions=False).output
    assert str(inspection["snapshots"][1]) in shown
    assert "day" not in shown


def test_a_remedy_that_rewrites_says_that_only_the_name_does_it(tmp_path):
    table = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    for first in (0, 100):
        table.append(made.rows(random.Random(first), first, 20))
    findings = pr.check(made.folder(table), layout=pr.LayoutSpec(sort_by=["n"]))
    (overlap,) = [each.remedy for each in findings if each.code == "overlap.files"]
    assert overlap.endswith(
        "prune optimize TABLE --layout layout.yaml; only its catalog commits, so use the table's name in Spark: "
        "catalog.schema.table"
    )
