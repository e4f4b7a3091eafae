"""The snapshot of an Iceberg table that is opened, and refusals in one line with the next step."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import random
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import prune_assets as pr
from parquet_core.errors import MalformedFile, PruneError, TableNotFound, UnsupportedFeature, WrongUse
from prune_assets.errors import MissingPackage
from prune_assets.tables.changes import poll
from prune_assets.tables.iceberg import snapshot as opened
from prune_assets.tables.target import find_target
from tests.prune_assets.tables.iceberg import iceberg_tables as made

COUNTS = (12, 5)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = random.Random(1)
    created = made.catalog_in(tmp_path_factory.mktemp("iceberg")).create_table("db.t", made.SCHEMA)
    for i, count in enumerate(COUNTS):
        created.append(made.rows(rng, i * 100, count))
    return created


@pytest.fixture
def copy(table, tmp_path, monkeypatch):
    """A copy whose metadata name the files of the original."""
    directory = tmp_path / "copy"
    shutil.copytree(made.folder(table), directory)
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", made.folder(table))
    return directory


def newest(directory):
    return max((directory / "metadata").glob("*.metadata.json"))


def damage(directory, change):
    path = newest(directory)
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))


def test_the_current_snapshot_is_opened_by_each_of_its_names(table):
    folder, metadata = made.folder(table), table.metadata_location.removeprefix("file://")
    for name in (folder, Path(folder), f"file://{folder}", metadata, table.metadata_location):
        assert pr.count(name) == sum(COUNTS)


def test_earlier_snapshots_are_opened_by_id_and_time(table):
    first = table.history()[0]
    directory = made.folder(table)
    assert pr.count(directory, version=first.snapshot_id) == COUNTS[0]
    assert pr.count(directory, timestamp=first.timestamp_ms) == COUNTS[0]
    with pytest.raises(WrongUse, match="has no snapshot 5"):
        pr.count(directory, version=5)
    with pytest.raises(WrongUse, match="has no snapshot as of"):
        pr.count(directory, timestamp="2001-01-01T00:00:00+00:00")
    with pytest.raises(WrongUse, match="version=True is a bool"):
        pr.count(directory, version=True)


def test_a_table_without_rows_has_none(tmp_path):
    empty = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    directory = made.folder(empty)
    assert pr.count(directory) == 0
    assert pr.read_arrow(directory, where="n > 3", columns=["s"]).schema == pa.schema([("s", pa.string())])
    assert pr.plan(directory, where="n > 3").report.table_snapshot is None


def test_the_hint_and_the_last_version_without_a_catalog(copy):
    for i, path in enumerate(sorted((copy / "metadata").glob("*.metadata.json"))):
        path.rename(path.with_name(f"v{i + 8}.metadata.json"))
    assert pr.count(copy) == sum(COUNTS)
    (copy / "metadata" / "version-hint.text").write_text("9")
    # A hint may be older than the last version; an earlier one is no reason to read rows that were replaced.
    assert pr.count(copy) == sum(COUNTS)
    (copy / "metadata" / "version-hint.text").write_text("v9")
    assert pr.count(copy) == COUNTS[0]


def test_metadata_may_be_packed(copy):
    path = newest(copy)
    path.with_name(path.name.replace(".metadata.json", ".gz.metadata.json")).write_bytes(
        gzip.compress(path.read_bytes())
    )
    path.unlink()
    assert pr.count(copy) == sum(COUNTS)


def test_two_of_one_number_are_for_the_catalog_to_tell(copy):
    path = newest(copy)
    shutil.copy(path, path.with_name("00002-other.metadata.json"))
    with pytest.raises(UnsupportedFeature, match=r"00002-.* and 00002-other.*have one number.*iceberg:catalog"):
        pr.count(copy)
    assert pr.count(path) == sum(COUNTS)


def test_files_elsewhere_are_opened_only_where_that_is_allowed(copy, table, monkeypatch):
    monkeypatch.delenv("PRUNE_DELTA_ALLOW")
    with pytest.raises(UnsupportedFeature, match=r"outside of the table's folder and was not opened.*allow="):
        pr.count(copy)
    assert pr.count(copy, allow=[made.folder(table)]) == sum(COUNTS)


DAMAGE = {
    "no JSON": lambda path: path.write_text("{"),
    "empty": lambda path: path.write_bytes(b""),
    "a list": lambda path: path.write_text("[]"),
    "no schema": lambda path: path.write_text('{"format-version": 2}'),
    "packed in part": lambda path: path.write_bytes(gzip.compress(path.read_bytes())[:50]),
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_damaged_metadata_are_one_line(copy, change):
    change(newest(copy))
    with pytest.raises(MalformedFile, match=r"metadata.json: not readable as Iceberg metadata \(.*damaged$") as it:
        pr.count(copy)
    assert "\n" not in str(it.value)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_manifests_are_one_line_or_make_no_difference(table, tmp_path, monkeypatch, seed):
    """Manifests of a copy, to which its metadata lead; bytes are changed, or the end is cut off."""
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", made.folder(table))
    directory, rng = tmp_path / "t", random.Random(seed)
    shutil.copytree(made.folder(table), directory)
    lists = sorted(directory.glob("metadata/snap-*.avro"))
    metadata = newest(directory).read_text()
    for manifest_list in lists:
        metadata = metadata.replace(f"{table.location()}/metadata/{manifest_list.name}", f"file://{manifest_list}")
    newest(directory).write_text(metadata)
    data = bytearray(lists[seed % len(lists)].read_bytes())
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    data = data[: rng.randrange(len(data))] if seed % 3 == 0 else data
    lists[seed % len(lists)].write_bytes(bytes(data))
    with suppress(PruneError):
        pr.plan(directory, where="k < 50")


def test_damaged_files_of_entries_are_one_line_or_make_no_difference(tmp_path, monkeypatch):
    table = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    table.append(made.rows(random.Random(1), 0, 9))
    (path,) = Path(made.folder(table)).glob("metadata/*-m0.avro")
    whole, messages = path.read_bytes(), set()
    for seed in range(60):
        rng, data = random.Random(seed), bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(bytes(data[: rng.randrange(len(data))] if seed % 3 == 0 else data))
        monkeypatch.setattr(opened, "_KEPT", {})
        try:
            pr.plan(made.folder(table), where="k < 5 AND s = 'a' AND ts > timestamp_ntz '2000-01-01 00:00:00'")
        except PruneError as error:
            messages.add(str(error))
    assert any("not readable as Iceberg metadata" in line for line in messages)
    assert not any("\n" in line for line in messages)


@pytest.mark.parametrize("names", ["{", "[1]", '[{"names": 5}]'])
def test_a_damaged_name_mapping_is_one_line(copy, names):
    damage(copy, lambda known: known["properties"].update({"schema.name-mapping.default": names}))
    with pytest.raises(MalformedFile, match="not readable as Iceberg metadata"):
        pr.count(copy)


def test_what_is_missing_is_named(copy):
    damage(copy, lambda known: known["snapshots"][-1].update({"manifest-list": str(copy / "metadata" / "gone.avro")}))
    with pytest.raises(MalformedFile, match=r"its metadata reference the file .*gone.avro, which does not exist"):
        pr.count(copy)
    for path in (copy / "metadata").glob("*.json"):
        path.unlink()
    (copy / "metadata" / "version-hint.text").write_text("1")
    with pytest.raises(MalformedFile, match="has no metadata file"):
        pr.count(copy)


def test_other_formats_are_named(copy):
    damage(copy, lambda known: known.update({"format-version": 4}))
    with pytest.raises(UnsupportedFeature, match="version 4 of Iceberg's format is not read"):
        pr.count(copy)


def test_writing_and_optimizing_are_refused_with_the_remedy(table):
    directory, layout = made.folder(table), pr.LayoutSpec(sort_by=["k"])
    for run in (
        lambda: pr.optimize(directory, layout=layout, dry_run=True),
        lambda: find_target(directory, None),
    ):
        with pytest.raises(PruneError, match="only its catalog writes an Iceberg table; use the table's name in the"):
            run()


def test_without_pyiceberg_the_extra_is_named(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    with pytest.raises(MissingPackage, match=r"needs pyiceberg; run pip install 'prune-assets\[iceberg\]'"):
        pr.count(made.folder(table))


def test_a_table_of_a_catalog_is_named(table, monkeypatch):
    made.configure(monkeypatch, "tests", Path(made.folder(table)).parents[2])
    assert pr.count("iceberg:tests.db.t") == sum(COUNTS)
    assert str(pr.plan("iceberg:tests.db.t", where="k = 1").report.table) == "iceberg:tests.db.t"
    # The name that a Spark session may use works too.
    assert pr.count("tests.db.t") == sum(COUNTS)
    assert str(pr.plan("tests.db.t", where="k = 1").report.table) == "tests.db.t"
    with pytest.raises(TableNotFound, match=r"nowhere.db.t: .* the Iceberg catalog in pyiceberg's configuration"):
        pr.count("nowhere.db.t")
    with pytest.raises(TableNotFound, match=r"iceberg:tests.db.other: "):
        pr.count("iceberg:tests.db.other")
    with pytest.raises(WrongUse, match=r"iceberg:t: write iceberg:catalog.database.table"):
        pr.count("iceberg:t")
    with pytest.raises(PruneError, match=r"iceberg:nowhere.db.t: .*PYICEBERG_CATALOG"):
        pr.count("iceberg:nowhere.db.t")


def test_a_commit_changes_the_fingerprint(tmp_path):
    table, rng = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA), random.Random(1)
    table.append(made.rows(rng, 0, 3))
    first = poll(made.folder(table), None)
    assert poll(made.folder(table), first) is first
    table.append(made.rows(rng, 10, 3))
    second = poll(made.folder(table), first)
    assert (second.changes, second.version) == (2, table.current_snapshot().snapshot_id)


def test_metadata_are_read_once_in_a_process(tmp_path):
    table = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    table.append(made.rows(random.Random(1), 0, 3))
    directory = made.folder(table)
    first, second = (pr.plan(directory, where="k = 1").report for _ in range(2))
    snapshot = table.current_snapshot()
    assert (first.table_snapshot.format, first.table_snapshot.version) == ("iceberg", snapshot.snapshot_id)
    assert dt.datetime.fromisoformat(first.table_snapshot.timestamp).timestamp() * 1000 == snapshot.timestamp_ms
    assert (first.table_snapshot.files_with_deletes, first.table_snapshot.deleted_rows) == (0, 0)
    assert (first.table_snapshot.log_bytes > 0, second.table_snapshot.log_bytes) == (True, 0)
    table.append(made.rows(random.Random(1), 10, 3))
    assert pr.count(directory) == 6


def test_what_was_read_where_it_was_allowed_is_not_known_where_it_is_not(copy, table, monkeypatch):
    assert pr.count(copy) == sum(COUNTS)
    monkeypatch.delenv("PRUNE_DELTA_ALLOW")
    with pytest.raises(UnsupportedFeature, match=r"outside of the table's folder"):
        pr.plan(copy, where="k = 1")
