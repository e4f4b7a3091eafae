"""Deletes that pyiceberg does not write: affected files, applied deletes, and refusals by name."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from prune_assets.cli import main
from prune_assets.tables.iceberg import snapshot as opened
from prune_assets.tables.iceberg.manifests.delete_files import EQUALITY, POSITIONS, DeleteFile
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.iceberg_tables import IdentityTransform


@pytest.fixture
def table(tmp_path):
    """Three commits of rows 0.., 100.., 200.., in partitions of `flag`."""
    found, rng = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA), random.Random(5)
    with found.update_spec() as update:
        update.add_field("flag", IdentityTransform(), "flag")
    for i in range(3):
        found.append(made.rows(rng, i * 100, 8, nulls=0))
    return found


def entries(table):
    manifests = table.current_snapshot().manifests(table.io)
    return [entry for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io)]


def with_delete(monkeypatch, beside, *, content, path="s3://nowhere/d.parquet", sequence=3, bounds=None, **more):
    """Have the snapshot list a file of deletes in the partition of a file."""
    file = DeleteFile(
        content=content,
        file_path=path,
        file_format=more.get("file_format", "PARQUET"),
        spec_id=beside.data_file.spec_id,
        partition=tuple(beside.data_file.partition),
        sequence=sequence,
        lower_bounds=bounds or {},
        upper_bounds=bounds or {},
    )
    monkeypatch.setattr(opened, "_KEPT", {})
    monkeypatch.setattr(opened, "_deletes", lambda *_: [file])


def ks(table, where):
    return sorted(pr.read_arrow(made.folder(table), where=where, columns=["k"])["k"].to_pylist())


def positions(table, entry, numbers):
    """A file of position deletes in the table's folder."""
    path = f"{made.folder(table)}/data/deletes.parquet"
    names = pa.array([entry.data_file.file_path] * len(numbers))
    pq.write_table(pa.table({"file_path": names, "pos": pa.array(numbers, pa.int64())}), path)
    return path


@pytest.mark.parametrize("named", [True, False], ids=["named", "by partition"])
def test_position_deletes_hide_rows_of_the_file_that_they_name(table, monkeypatch, named):
    before = ks(table, "true")
    entry = entries(table)[0]
    rows = pq.read_table(entry.data_file.file_path.removeprefix("file://"))["k"].to_pylist()
    bounds = {2147483546: entry.data_file.file_path.encode()} if named else None
    path = positions(table, entry, [0])
    with_delete(monkeypatch, entry, content=POSITIONS, path=path, bounds=bounds)
    assert ks(table, "true") == sorted(set(before) - {rows[0]})
    assert pr.count(made.folder(table)) == len(before) - 1
    assert not pr.count(made.folder(table), where=f"k = {rows[0]}", limit=1)
    assert ks(table, "k >= 0") == sorted(set(before) - {rows[0]})


def test_equality_deletes_are_refused_where_a_row_may_be_hidden(table, monkeypatch):
    younger, elsewhere = (ks(table, where) for where in ("flag AND k >= 200", "NOT flag"))
    concerned = [e for e in entries(table) if e.data_file.partition[0] is True]
    with_delete(monkeypatch, concerned[0], content=EQUALITY, sequence=3)
    place = made.folder(table)
    with pytest.raises(
        UnsupportedFeature, match=r"has equality deletes \(.*read it with Spark and Iceberg, or compact"
    ):
        pr.read_arrow(place, where="flag AND k < 100")
    # Files that are newer than the deletes, or in another partition, are not affected.
    assert ks(table, "flag AND k >= 200") == younger != []
    assert ks(table, "NOT flag") == elsewhere != []
    plan = pr.plan(place, where="flag AND k < 100")
    snapshot = plan.report.table_snapshot
    assert any("that equality deletes of" in note for note in snapshot.notes)
    assert (snapshot.files_with_deletes > 0, snapshot.deleted_rows) == (True, None), "unknown, not 0"


def test_deletes_in_other_formats_are_refused_by_name(table, monkeypatch):
    first = entries(table)[0]
    with_delete(monkeypatch, first, content=POSITIONS, file_format="PUFFIN")
    with pytest.raises(
        UnsupportedFeature, match=r"has deletion vectors in a file of PUFFIN.*which are not applied here"
    ):
        pr.count(made.folder(table))
    report = pr.plan(made.folder(table), where="k < 100").report
    assert any("have deletion vectors" in note for note in report.table_snapshot.notes)
    assert any("to read have deletes" in note for note in report.table_snapshot.notes)


def test_inspect_counts_the_files_that_have_deletes(table, monkeypatch):
    first = entries(table)[0]
    with_delete(monkeypatch, first, content=EQUALITY)
    shown = CliRunner().invoke(main, ["inspect", made.folder(table)], catch_exceptions=False).output
    assert "Equality deletes" in shown
    assert "identity of flag (spec 1" in shown


def test_deletes_without_a_partition_concern_every_older_file(tmp_path, monkeypatch):
    table = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    for i in range(2):
        table.append(made.rows(random.Random(i), i * 100, 4))
    first = min(entries(table), key=lambda entry: entry.sequence_number)
    with_delete(monkeypatch, first, content=EQUALITY, sequence=2)
    with pytest.raises(UnsupportedFeature, match="equality deletes"):
        ks(table, "k < 100")
    assert ks(table, "k >= 100") == [100, 101, 102, 103]
