"""Metadata that Iceberg's specification allows and pyiceberg does not write: older forms, other names, fewer fields."""

from __future__ import annotations

import json
import random
import zlib
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import prune_assets as pr
from parquet_core.errors import MalformedFile, PruneError, UnsupportedFeature
from prune_assets.tables.iceberg import snapshot as opened
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.avro_files import changed, read, without_null, write
from tests.prune_assets.tables.iceberg.iceberg_tables import BucketTransform, IdentityTransform


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(opened, "_KEPT", {})


@pytest.fixture(params=["1", "2"])
def version(request):
    return request.param


FIELDS = (("s", IdentityTransform()), ("k", BucketTransform(4)))


def written_table(directory, version, fields):
    """Write a table of two commits in partitions."""
    table = made.catalog_in(directory).create_table("db.t", made.SCHEMA, properties={"format-version": version})
    rng = random.Random(4)
    with table.update_spec() as update:
        for name, transform in fields:
            update.add_field(name, transform, f"of_{name}")
    for i in range(2):
        table.append(made.rows(rng, i * 100, 8, since=1971))
    return table


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the table of a version and of partition fields, which is written once."""

    @cache
    def table(version, fields):
        return written_table(tmp_path_factory.mktemp("written"), version, fields)

    return table


@pytest.fixture
def table_of(written):
    """Return a table whose files a test may change; afterwards they are as before."""
    before = []

    def table(version="2", fields=FIELDS):
        changed_table = written(version, fields)
        before.append((changed_table, made.files_in(changed_table)))
        return changed_table

    yield table
    for changed_table, files in before:
        made.restore(changed_table, files)


def metadata_file(table):
    return Path(table.metadata_location.removeprefix("file://"))


def edit(table, change):
    """Change the current file of metadata."""
    path = metadata_file(table)
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))


def manifests(table):
    """The paths of its manifests."""
    every = table.current_snapshot().manifests(table.io)
    return [Path(manifest.manifest_path.removeprefix("file://")) for manifest in every]


def list_of(table):
    return Path(table.current_snapshot().manifest_list.removeprefix("file://"))


WHERE = ["k >= 100", "s = 'a'", "s IS NULL", "k = 3", "n > 0 OR s > 'b'", "true"]
ANY = " OR ".join(WHERE[:-1])


def answers(table):
    """The keys that each condition selects, and how many files are left for it."""
    opened._KEPT.clear()
    metadata_path = str(metadata_file(table))
    planned = pr.plan(metadata_path, where=ANY)
    assert planned.report.kept.files == len(planned.surviving_files)
    return [
        (
            sorted(pr.read_arrow(metadata_path, where=where, columns=["k"])["k"].to_pylist()),
            pr.count(metadata_path, where=where),
            len(pr.plan(metadata_path, where=where).surviving_files),
        )
        for where in WHERE
    ]


@pytest.fixture(scope="module")
def unchanged(written):
    """Return the answers of an unchanged table, by the options of `table_of`; call it before the table is changed."""

    @cache
    def answers_of(version="2", fields=FIELDS):
        return answers(written(version, fields))

    return answers_of


def without_field_ids(metadata):
    for spec in (
        metadata.get("partition-spec") or [],
        *(partition_spec["fields"] for partition_spec in metadata["partition-specs"]),
    ):
        for field in spec:
            field.pop("field-id", None)


def one_spec_without_ids(metadata):
    metadata["partition-spec"] = metadata["partition-specs"][-1]["fields"]
    without_field_ids(metadata)


def manifests_in_place_of_a_list(metadata):
    for snapshot in metadata["snapshots"]:
        rows = read(snapshot.pop("manifest-list").removeprefix("file://")).rows
        snapshot["manifests"] = [row["manifest_path"] for row in rows]


def odd_properties(metadata):
    metadata["properties"] |= {"number": 5, "share": 0.5, "flag": True, "nothing": None}
    for snapshot in metadata["snapshots"]:
        snapshot["summary"] |= {"total-records": 16, "nothing": None}


@pytest.mark.parametrize(
    "change", [without_field_ids, one_spec_without_ids, odd_properties], ids=lambda it: it.__name__
)
def test_metadata_with_fewer_or_odd_fields_are_read(unchanged, table_of, version, change):
    table = table_of(version)
    before = unchanged(version)
    edit(table, change)
    assert answers(table) == before
    assert any(files < 10 for _, _, files in before)


def test_a_snapshot_that_names_its_manifests_itself_is_read(unchanged, table_of):
    table = table_of("1")
    before = unchanged("1")
    edit(table, manifests_in_place_of_a_list)
    assert answers(table) == before


COUNTS = ["added_rows_count", "existing_rows_count", "deleted_rows_count", "added_files_count", "existing_files_count"]


@pytest.mark.parametrize("names", [COUNTS[:1], COUNTS, [*COUNTS, "partitions", "content", "sequence_number"]], ids=len)
def test_a_list_of_manifests_without_counts_is_read(unchanged, table_of, names):
    table = table_of("1")
    before = unchanged("1")
    with changed(list_of(table)) as file:
        for name in names:
            file.drop(name)
    assert answers(table) == before


def test_a_list_of_manifests_without_ids_is_read_by_names(unchanged, table_of):
    table = table_of()
    before = unchanged()
    with changed(list_of(table)) as file:
        for field in [*file.fields(), *without_null(file.field("partitions")["type"])["items"]["fields"]]:
            field.pop("field-id", None)
    assert answers(table) == before


def test_a_manifest_with_fewer_partition_fields_than_its_spec_is_read(unchanged, table_of):
    """Existing partition fields are matched by id; missing ones are unknown."""
    table = table_of()
    before = unchanged()
    for path in manifests(table):
        with changed(path) as file:
            partition = next(f for f in file.fields("data_file") if f["name"] == "partition")["type"]["fields"]
            del partition[0]
            for row in file.rows:
                del row["data_file"]["partition"]["of_s"]
    after = answers(table)
    assert [rows for rows, _, _ in after] == [rows for rows, _, _ in before]
    by_bucket = WHERE.index("k = 3")
    assert after[by_bucket][2] == before[by_bucket][2] < before[-1][2]


def test_a_manifest_with_its_partition_fields_in_another_order_is_read(unchanged, table_of):
    table = table_of()
    before = unchanged()
    for path in manifests(table):
        with changed(path) as file:
            next(f for f in file.fields("data_file") if f["name"] == "partition")["type"]["fields"].reverse()
    assert answers(table) == before


def test_partition_fields_without_ids_that_are_not_those_of_the_spec_are_damage(table_of):
    table = table_of()
    with changed(manifests(table)[0]) as file:
        partition = next(f for f in file.fields("data_file") if f["name"] == "partition")["type"]["fields"]
        del partition[0], partition[0]["field-id"]
    with pytest.raises(MalformedFile, match="its files lack the partition fields of their spec"):
        answers(table)


def test_a_name_mapping_with_entries_without_ids_is_read(unchanged, table_of):
    table = table_of(fields=())
    before = unchanged(fields=())
    names = [
        {"names": ["unmapped"]},
        {"names": ["st"], "fields": [{"names": ["more"]}, {"field-id": 13, "names": ["a"]}]},
    ]
    names += [{"field-id": field.field_id, "names": [field.name]} for field in made.SCHEMA.fields if field.name != "st"]
    edit(table, lambda known: known["properties"].update({"schema.name-mapping.default": json.dumps(names)}))
    assert answers(table) == before


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


def gzip(data):
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


PACKED = {
    "00009-x.zstd.metadata.json": zstd,
    "00009-x.metadata.json.zst": zstd,
    "v9.zst.metadata.json": zstd,
    "v9.gz.metadata.json": gzip,
    "00009-x.metadata.json.gz": gzip,
    "00009-x.metadata.json": zstd,
}


@pytest.mark.parametrize(("name", "pack"), PACKED.items(), ids=PACKED)
def test_metadata_may_be_packed(table_of, name, pack):
    table = table_of()
    before = pr.count(made.folder(table))
    path = metadata_file(table)
    data = path.read_bytes()
    for other in path.parent.glob("*.metadata.json"):
        other.unlink()
    (path.parent / name).write_bytes(pack(data))
    opened._KEPT.clear()
    assert pr.count(made.folder(table)) == pr.count(str(path.parent / name)) == before == 16


def test_the_only_file_of_metadata_counts_whatever_its_name(table_of):
    table = table_of()
    path = metadata_file(table)
    data = path.read_bytes()
    for other in path.parent.glob("*.metadata.json"):
        other.unlink()
    (path.parent / "current.metadata.json").write_bytes(data)
    assert pr.count(made.folder(table)) == 16
    (path.parent / "other.metadata.json").write_bytes(data)
    with pytest.raises(UnsupportedFeature, match="only the catalog knows which one counts; name one of them"):
        pr.count(made.folder(table))
    assert pr.count(str(path.parent / "other.metadata.json")) == 16


def with_variant(metadata):
    metadata["format-version"] = 3
    metadata["next-row-id"] = 0
    for schema in metadata["schemas"]:
        schema["fields"] += [
            {"id": 90, "name": "v", "required": False, "type": "variant"},
            {
                "id": 91,
                "name": "more",
                "required": False,
                "type": {"type": "list", "element-id": 92, "element": "variant"},
            },
            {
                "id": 93,
                "name": "inner",
                "required": False,
                "type": {"type": "struct", "fields": [{"id": 94, "name": "g", "required": False, "type": "shape(3)"}]},
            },
        ]
    for part in metadata["schemas"][-1]["fields"]:
        if isinstance(part["type"], dict) and part["type"]["type"] == "list":
            part["type"]["element-required"] = False


def test_a_column_of_a_type_that_is_not_known_leaves_the_others_readable(unchanged, table_of):
    table = table_of()
    before = unchanged()
    edit(table, with_variant)
    assert answers(table) == before
    metadata_path = str(metadata_file(table))
    for column, type_name in (("v", "variant"), ("inner", "variant|shape")):
        with pytest.raises(PruneError, match=type_name):
            pr.read_arrow(metadata_path, columns=["k", column])
    with pytest.raises(UnsupportedFeature, match="v IS NULL: type variant is not supported"):
        pr.count(metadata_path, where="v IS NULL AND k > 0")
    assert "variant" in str(pr.plan(metadata_path, where="v IS NULL AND k > 0").report.to_json())


def test_damage_is_still_damage(table_of):
    table = table_of()
    edit(table, lambda known: known["schemas"][0]["fields"][0].update(type=7))
    with pytest.raises(MalformedFile, match="damaged"):
        pr.count(str(metadata_file(table)))


def test_the_files_of_avro_that_tests_write_are_those_that_were_read(unchanged, table_of):
    table = table_of()
    before = unchanged()
    for path in [*manifests(table), list_of(table)]:
        write(path, read(path))
    assert answers(table) == before
