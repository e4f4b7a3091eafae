"""Columns missing in data files: per Iceberg's specification the partition value, the initial default, or null."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import PruneError
from prune_assets.tables.iceberg import snapshot as opened
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.avro_files import changed
from tests.prune_assets.tables.iceberg.iceberg_tables import BucketTransform, IdentityTransform, StringType

NAMES = ["k", "n", "ts", "tz", "day", "s", "b", "d", "x", "f", "flag"]


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(opened, "_KEPT", {})


def rewrite(table, change):
    """Change the rows of each data file, and its size in the manifests."""
    for manifest in table.current_snapshot().manifests(table.io):
        with changed(manifest.manifest_path.removeprefix("file://")) as file:
            for row in file.rows:
                path = Path(row["data_file"]["file_path"].removeprefix("file://"))
                pq.write_table(change(pq.read_table(path, partitioning=None)), path)
                row["data_file"]["file_size_in_bytes"] = path.stat().st_size


def edit(table, change):
    path = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))


def without_ids(rows):
    def plain(field):
        arrow_type = field.type
        return pa.field(
            field.name,
            pa.struct([plain(part) for part in arrow_type]) if pa.types.is_struct(arrow_type) else arrow_type,
        )

    return rows.cast(pa.schema([plain(field) for field in rows.schema]))


def partitioned(directory, name, **more):
    table = made.catalog_in(directory).create_table("db.t", made.SCHEMA)
    with table.update_spec() as update:
        update.add_field(name, IdentityTransform(), "part")
    table.append(made.rows(random.Random(3), 0, 30, since=1971, **more))
    return table


def sorted_rows(rows):
    return sorted(map(repr, zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True)))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "k"])
def test_an_identity_partition_column_has_its_value_in_files_that_lack_it(tmp_path, name):
    table = partitioned(tmp_path, name, nulls=0.3 if name == "s" else 0)
    directory = made.folder(table)
    held = made.held_by(table.scan().to_arrow())[name]
    literal = made.literal(name, held[0])
    wheres = ["true", f"{name} IS NULL", f"{name} = {literal}", f"{name} > {literal} OR k = 3", f"{name} IS NOT NULL"]
    before = [sorted_rows(pr.read_arrow(directory, where=where, columns=["k", name])) for where in wheres]
    rewrite(table, lambda rows: rows.drop_columns([name]))
    opened._KEPT.clear()
    for where, rows in zip(wheres, before, strict=True):
        assert sorted_rows(pr.read_arrow(directory, where=where, columns=["k", name])) == rows, where
        assert pr.count(directory, where=where) == len(rows), where
    theirs = table.scan(selected_fields=("k", name)).to_arrow()
    assert sorted_rows(pr.read_arrow(directory, columns=["k", name])) == sorted_rows(theirs)
    ordered = pr.read_arrow(directory, columns=[name], order_by=[name], limit=3)[name].to_pylist()
    assert len(ordered) == 3


def test_files_taken_over_from_hive_have_neither_ids_nor_the_column(tmp_path):
    """With a name mapping the other columns are read by their names; without one the partition's value is known."""
    table = partitioned(tmp_path, "s", nulls=0)
    directory = made.folder(table)
    before = sorted_rows(pr.read_arrow(directory, columns=["k", "s"]))
    rewrite(table, lambda rows: without_ids(rows.drop_columns(["s"])))
    names = [{"field-id": field.field_id, "names": [field.name]} for field in made.SCHEMA.fields]
    opened._KEPT.clear()
    assert sorted(pr.read_arrow(directory, columns=["s"])["s"].to_pylist()) == sorted(
        row.split("'")[1] for row in before
    )
    with pytest.raises(PruneError, match="column 'k'"):
        pr.read_arrow(directory, columns=["k"])
    edit(table, lambda metadata: metadata["properties"].update({"schema.name-mapping.default": json.dumps(names)}))
    opened._KEPT.clear()
    assert sorted_rows(pr.read_arrow(directory, columns=["k", "s"])) == before


def added(directory, transform):
    """A table of two files, and a column that the first of them lacks, by which the second one is partitioned."""
    table = made.catalog_in(directory).create_table("db.t", made.SCHEMA)
    table.append(made.rows(random.Random(3), 0, 5))
    with table.update_schema() as update:
        update.add_column("extra", StringType())
    with table.update_spec() as update:
        update.add_field("extra", transform, "part")
    rows = made.rows(random.Random(4), 100, 3)
    table.append(rows.append_column("extra", pa.array(["a", None, "b"])))
    return table


@pytest.mark.parametrize("transform", [IdentityTransform(), BucketTransform(4)], ids=str)
def test_a_column_that_older_files_lack_is_null_in_them_though_newer_ones_are_partitioned_by_it(tmp_path, transform):
    table = added(tmp_path, transform)
    directory = made.folder(table)
    for where, count in {
        "extra IS NULL": 6,
        "extra = 'a'": 1,
        "extra IS NOT NULL": 2,
        "extra IS NULL AND k < 3": 3,
    }.items():
        assert pr.count(directory, where=where) == len(pr.read_arrow(directory, where=where)) == count, where
    theirs = table.scan(selected_fields=("k", "extra")).to_arrow()
    assert sorted_rows(pr.read_arrow(directory, columns=["k", "extra"])) == sorted_rows(theirs)


DEFAULTS = {
    "string": ("none", "none"),
    "int": (7, 7),
    "long": (1 << 40, 1 << 40),
    "double": (-0.5, -0.5),
    "boolean": (False, False),
    "date": ("2024-02-29", dt.date(2024, 2, 29)),
    "timestamp": ("2024-02-29T01:02:03.000004", dt.datetime(2024, 2, 29, 1, 2, 3, 4)),  # noqa: DTZ001 - without a zone
    "timestamptz": ("2024-02-29T01:02:03+00:00", dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.UTC)),
    "decimal(10, 2)": ("14.20", Decimal("14.20")),
    "binary": ("00ff", b"\x00\xff"),
}


@pytest.mark.parametrize(("kind", "written", "value"), [(kind, *pair) for kind, pair in DEFAULTS.items()])
def test_a_column_that_files_lack_has_its_initial_default(tmp_path, kind, written, value):
    table = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    table.append(made.rows(random.Random(3), 0, 5))

    def with_default(metadata):
        metadata |= {"format-version": 3, "next-row-id": 0}
        field = {"id": 70, "name": "extra", "required": False, "type": kind, "initial-default": written}
        metadata["schemas"][-1]["fields"].append(field)

    edit(table, with_default)
    directory = made.folder(table)
    assert pr.read_arrow(directory, columns=["extra"])["extra"].to_pylist() == [value] * 5
    assert pr.count(directory, where="extra IS NULL") == 0
    assert pr.count(directory, where="extra IS NOT NULL AND k < 3") == 3
