"""Manipulated manifests: impossible sizes and counts, recursive schemas, files outside of the table."""

from __future__ import annotations

import json
import os
import pathlib
import random

import pytest

import prune_assets as pr
from parquet_core.errors import MalformedFile, PruneError
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.iceberg import snapshot as opened
from prune_assets.tables.iceberg.manifests.avro_file import read_avro
from prune_assets.tables.opening import open_table
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.test_manifest_lists import long, manifests, repacked


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(opened, "_KEPT", {})
    found = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    found.append(made.rows(random.Random(1), 0, 9))
    return found


def avro(schema, rows=b"", count=0):
    """A file of Avro."""
    metadata = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"null"}
    head = b"".join(long(len(k)) + k.encode() + long(len(v)) + v for k, v in metadata.items())
    sync = b"s" * 16
    return b"Obj\x01" + long(2) + head + b"\0" + sync + long(count) + long(len(rows)) + rows + sync


def record(avro_type):
    return {"type": "record", "name": "r", "fields": [{"name": "a", "field-id": 2, "type": avro_type}]}


SCHEMAS = {
    "names itself": record(["null", "r"]),
    "names what is not there": record("other"),
    "nests deep": record(json.loads('{"type": "array", "items": ' * 60 + '"int"' + "}" * 60)),
    "repeats nothing": record({"type": "array", "items": "null"}),
    "a fixed of a negative size": record({"type": "fixed", "name": "f", "size": -5}),
    "no record": "int",
    "a list": [1],
}


def test_a_manifest_whose_every_field_may_be_null_is_read(table):
    """BigQuery writes such manifests; the entries of their maps may be null too, which makes the claims unknown."""

    def nullable(name, field_id, avro_type):
        return {"name": name, "field-id": field_id, "type": ["null", avro_type]}

    pairs = {"type": "record", "name": "e", "fields": [nullable("key", 0, "int"), nullable("value", 0, "long")]}
    counts = {"type": "array", "items": ["null", pairs]}
    fields = [("file_path", 100, "string"), ("file_format", 101, "string"), ("record_count", 103, "long")]
    fields += [("file_size_in_bytes", 104, "long"), ("null_value_counts", 110, counts)]
    fields += [("partition", 102, {"type": "record", "name": "p", "fields": []})]
    file = {"type": "record", "name": "f", "fields": [nullable(*field) for field in fields]}
    whole = {"type": "record", "name": "m", "fields": [nullable("status", 0, "int"), nullable("data_file", 2, file)]}
    directory, (path,), files = made.folder(table), manifests(table), table.inspect.files().to_pylist()[0]
    before = sorted(pr.read_arrow(directory, where="k < 5", columns=["k"])["k"].to_pylist())
    strings = [files["file_path"].encode(), b"PARQUET"]
    values = [*(long(len(string)) + string for string in strings), long(9), long(files["file_size_in_bytes"])]
    values += [long(1) + long(1) + long(1) + long(1) + long(1) + long(0) + long(0), b""]
    path.write_bytes(avro(whole, long(1) + long(1) + long(1) + b"".join(long(1) + value for value in values), 1))
    opened._KEPT.clear()
    assert sorted(pr.read_arrow(directory, where="k < 5", columns=["k"])["k"].to_pylist()) == before != []
    assert pr.count(directory) == 9


def _same_ids(metadata):
    for field in metadata["schemas"][-1]["fields"]:
        field["id"] = 1


def _list_of_manifests(location):
    return lambda metadata: metadata["snapshots"][-1].update({"manifest-list": location})


CHANGES = {
    "columns of one id": (_same_ids, "two columns have one id"),
    "a snapshot that is not there": (
        lambda known: known.update({"current-snapshot-id": 123}),
        "lacks its current snapshot",
    ),
    "an absurd schema": (lambda known: known.update({"current-schema-id": 10**30}), "can't be found"),
    "a list of the machine's own": (_list_of_manifests("/etc/passwd"), "outside of the table's folder"),
    "a list behind an address": (_list_of_manifests("http://169.254.169.254/x"), "outside of the table's folder"),
    "a bucket of none": (
        lambda known: known["partition-specs"][0]["fields"].append(
            {"source-id": 1, "field-id": 1000, "name": "z", "transform": "bucket[-4]"}
        ),
        "not readable as Iceberg metadata",
    ),
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_schemas_are_refused_in_one_line(table, schema):
    (path,) = manifests(table)
    path.write_bytes(avro(schema))
    with pytest.raises(MalformedFile, match="damaged") as it:
        pr.count(made.folder(table))
    assert "\n" not in str(it.value)


def test_a_size_below_zero_is_refused(table):
    (path,) = manifests(table)
    rows = read_avro(path.read_bytes())
    (size,) = table.inspect.files()["file_size_in_bytes"].to_pylist()
    assert rows.data.count(long(size)) == 1
    changed = rows.data.replace(long(size), b"\xff" * (len(long(size)) - 1) + b"\x7f")
    assert len(changed) == len(rows.data)
    path.write_bytes(repacked(path.read_bytes(), "null", lambda _: changed))
    with pytest.raises(MalformedFile, match=r"a manifest has a file of -\d+ bytes"):
        pr.count(made.folder(table))


@pytest.mark.parametrize(("change", "said"), CHANGES.values(), ids=CHANGES)
def test_metadata_that_contradict_themselves_are_refused(table, change, said):
    path = max((pathlib.Path(made.folder(table)) / "metadata").glob("*.metadata.json"))
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))
    with pytest.raises(PruneError, match=said) as it:
        pr.read_arrow(made.folder(table), where="k < 5")
    assert "\n" not in str(it.value)


@pytest.mark.parametrize("what", ["manifest", "list", "metadata"])
def test_pipes_are_not_waited_for(table, what):
    directory = pathlib.Path(made.folder(table)) / "metadata"
    path = {
        "manifest": manifests(table)[0],
        "list": next(directory.glob("snap-*")),
        "metadata": max(directory.glob("*.json")),
    }[what]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(PruneError, match="only regular files are read"):
        pr.count(made.folder(table), where="k < 5")


def test_a_count_of_more_rows_than_bytes_is_refused():
    with pytest.raises(ValueError, match="rows without any"):
        read_avro(avro(record("int"), b"\0", 1 << 40))


def test_files_of_data_elsewhere_are_not_opened(table, tmp_path):
    """They are not opened even if the manifest itself belongs to the table."""
    (path,) = manifests(table)
    rows = read_avro(path.read_bytes())
    (data,) = table.inspect.files()["file_path"].to_pylist()
    elsewhere = "file:///etc/passwd".ljust(len(data), "x")
    path.write_bytes(
        repacked(path.read_bytes(), "null", lambda _: rows.data.replace(data.encode(), elsewhere.encode()))
    )
    directory = made.folder(table)
    assert open_table(directory, semantics=SparkSemantics()).snapshot.files[0].file_path == elsewhere
    with pytest.raises(PruneError, match=r"outside of the table's folder and was not opened.*allow="):
        pr.count(directory, where="k < 3")
    with pytest.raises(PruneError, match="outside of the table's folder"):
        pr.read_arrow(directory, where="k < 3")
