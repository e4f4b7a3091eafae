"""Tables written by other implementations, at every version, as other readers list them."""

from __future__ import annotations

import pytest
from golden import GOLDEN, MISSING, REFUSED, expected, tables

from deltalog.errors import DeltaError
from deltalog.snapshot.opening import open_snapshot

pytestmark = pytest.mark.skipif(not GOLDEN.is_dir(), reason=MISSING)

CASES = [(table, version) for table in tables() for version in expected(table)]
# Other readers fail on these for reasons other than the path; Spark lists no file.
BY_SPARK = {"canonicalized-paths-normal-a": 0, "canonicalized-paths-special-a": 0}


def version_of(text):
    return int(text) if text.isdigit() else None


@pytest.mark.parametrize(("table", "version"), CASES, ids=[f"{table}-{version}" for table, version in CASES])
def test_the_files_of_every_version_are_those_that_other_readers_list(table, version):
    said = expected(table)[version]
    if "files" not in said or table in REFUSED:
        pytest.skip("no other reader lists this version, or none should")
    snapshot = open_snapshot(GOLDEN / table, version=version_of(version))
    found = sorted(
        (path, int(size))
        for block in snapshot.blocks
        for path, size in zip(block.path.to_pylist(), block.size, strict=True)
    )
    # The expected results of some golden tables contain no sizes.
    assert [path for path, _ in found] == sorted(path for path, _, _ in said["files"])
    sizes = {path: size for path, size, _ in said["files"] if size is not None}
    assert {path: size for path, size in found if path in sizes} == sizes


@pytest.mark.parametrize("table", sorted(REFUSED))
def test_what_cannot_be_read_is_refused_by_name(table):
    kind, words = REFUSED[table]
    with pytest.raises(DeltaError, match=words) as caught:
        open_snapshot(GOLDEN / table)
    assert isinstance(caught.value, kind)


@pytest.mark.parametrize("table", sorted(BY_SPARK))
def test_paths_of_one_file_are_one_however_they_are_spelled(table):
    assert open_snapshot(GOLDEN / table, version=0).file_count == 1
    assert open_snapshot(GOLDEN / table).file_count == BY_SPARK[table]


def test_an_empty_hint_is_noted_and_passed_over():
    snapshot = open_snapshot(GOLDEN / "corrupted-last-checkpoint-kernel")
    assert snapshot.segment.checkpoint.version == 10
    assert "0 bytes" in snapshot.notes[0]


def test_compactions_are_passed_over():
    snapshot = open_snapshot(GOLDEN / "compacted-log-files-table")
    assert not any(".compacted." in file.path for file in snapshot.opened)
    assert snapshot.file_count == 2


def test_transactions_are_read_from_checkpoints():
    found = open_snapshot(GOLDEN / "app-txn-checkpoint").transactions
    assert {name: said.version for name, said in found.items()} == {"my-app": 3, "my-app2": 2}


def test_domains_are_read():
    found = open_snapshot(GOLDEN / "table_with_liquid_clustering").domains
    assert found["delta.liquid"] == '{"clusteringColumns":[{"physicalName":["id"]}],"domainName":"delta.liquid"}'


def test_properties_and_partition_columns_are_those_that_other_readers_tell():
    checked = 0
    for table in tables():
        said = expected(table).get("latest", {})
        if "files" in said and "configuration" in said and table not in REFUSED:
            snapshot = open_snapshot(GOLDEN / table)
            assert snapshot.properties == said["configuration"]
            assert list(snapshot.schema.partition_columns) == said["partition_columns"]
            checked += 1
    assert checked > 40


def test_partition_values_are_those_that_other_readers_tell():
    checked = 0
    for table in tables():
        values = expected(table).get("latest", {}).get("partition_values_duckdb")
        if values:
            # DuckDB shows a time with the zone of its session.
            for path, texts in texts_by_path(open_snapshot(GOLDEN / table)).items():
                assert texts == {name: text.removesuffix("+00") for name, text in values[path].items()}
            checked += 1
    assert checked > 5


def texts_by_path(snapshot):
    """Partition values as text, null as DuckDB shows it."""
    found = {}
    for block in snapshot.blocks:
        for i, path in enumerate(block.path.to_pylist()):
            found[path] = {
                name: "NULL" if texts.codes[i] < 0 else texts.values[int(texts.codes[i])].as_py()
                for name, texts in block.partition.items()
            }
    return found
