"""Manifests that the manifest list excludes are not read, and reports count them."""

from __future__ import annotations

import datetime as dt
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import prune_assets as pr
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.iceberg import snapshot as opened
from prune_assets.tables.iceberg.manifests import manifest_list, unread_manifests
from prune_assets.tables.opening import open_table
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.iceberg_tables import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    TruncateTransform,
)

COMMITS = 6
# By transform: a column, and of two of six commits the value that all rows have and a condition that selects them.
FIELDS = {
    "identity": ("s", IdentityTransform(), lambda i: f"{i}x", "s = '2x'", "s > '3z'"),
    "truncate": ("k", TruncateTransform(10), lambda i: 10 * i + 3, "k = 23", "k >= 43"),
    "truncate of texts": ("s", TruncateTransform(1), lambda i: f"{i}x", "s LIKE '2x%'", "s > '4'"),
    "day": (
        "ts",
        DayTransform(),
        lambda i: dt.datetime(2024, 1, 1 + i, 5),  # noqa: DTZ001 - of a column without a zone
        "ts = timestamp_ntz '2024-01-03 05:00:00'",
        "ts > timestamp_ntz '2024-01-05 00:00:00'",
    ),
}


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(opened, "_KEPT", {})


def table_of(directory, column, transform, value):
    """A table of six commits, a manifest each."""
    table, rng = made.catalog_in(directory).create_table("db.t", made.SCHEMA), random.Random(3)
    with table.update_spec() as update:
        update.add_field(column, transform, "part")
    for i in range(COMMITS):
        rows = made.rows(rng, i * 100, 5, nulls=0)
        position = rows.schema.get_field_index(column)
        table.append(
            rows.set_column(position, rows.field(position), pa.array([value(i)] * 5, rows.field(position).type))
        )
    return table


@pytest.fixture(scope="module")
def by_text(tmp_path_factory):
    """A table in partitions of texts, which is only read."""
    return table_of(tmp_path_factory.mktemp("by_text"), "s", IdentityTransform(), str)


def manifests(table):
    """Its manifests, the oldest first."""
    ascending = sorted(table.current_snapshot().manifests(table.io), key=lambda manifest: manifest.sequence_number)
    return [Path(manifest.manifest_path.removeprefix("file://")) for manifest in ascending]


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_only_manifests_that_may_hold_a_match_are_read(tmp_path, monkeypatch, field):
    column, transform, value, where_five, where_ten = field
    table = table_of(tmp_path, column, transform, value)
    with monkeypatch.context() as read_all:
        read_all.setattr(unread_manifests, "_bytes_left", lambda *_: None)
        whole = pr.plan(made.folder(table), where=where_five).report
    opened._KEPT.clear()
    for i, path in enumerate(manifests(table)):
        if i not in {2, 4, 5}:
            path.write_bytes(b"never read")
    directory = made.folder(table)
    assert pr.count(directory, where=where_five) == 5
    assert pr.count(directory, where=where_ten) == 10
    report = pr.plan(directory, where=where_five).report
    level = next(level for level in report.levels if level.level == "manifest_list")
    assert level.why == "5 of 6 manifests are not read"
    assert (level.status, level.total.files, level.kept.files) == ("consulted", 6, 1)
    assert (report.total.rows, report.kept.rows) == (30, 5)
    assert len(report.files) == 6
    # Bytes of single columns are the share of each file, rounded up.
    assert 0 <= abs(report.total.bytes - whole.total.bytes) <= COMMITS
    assert report.kept == whole.kept
    with pytest.raises(pr.PruneError):
        pr.count(directory, where="k >= 0 OR s = 'x'")


def test_buckets_are_told_by_equality(tmp_path):
    table = table_of(tmp_path, "k", BucketTransform(64), lambda i: i)
    places = manifests(table)
    for path in places[:3] + places[4:]:
        path.write_bytes(b"never read")
    assert pr.count(made.folder(table), where="k = 3") == 5
    with pytest.raises(pr.PruneError):
        pr.count(made.folder(table), where="k > 3")


def test_what_is_not_partitioned_says_so(by_text):
    level = pr.plan(made.folder(by_text), where="k = 3").report.levels[0]
    assert (level.level, level.status) == ("manifest_list", "not_applicable")


@pytest.mark.parametrize("counted", [None, 0, 2, 3_000_000_000, -1])
def test_wrong_counts_in_the_list_make_no_difference(by_text, monkeypatch, counted):
    """Counts of files in the manifest list are ignored for manifests that are read."""
    listed = manifest_list.listing

    def wrong(manifest, *more):
        entry = listed(manifest, *more)
        return entry._replace(files=manifest_list._plausible_sum(counted, 0, manifest_list._MOST_FILES))

    monkeypatch.setattr(opened, "listing", wrong)
    assert pr.count(made.folder(by_text), where="s = '2'") == 5
    assert pr.plan(made.folder(by_text), where="s = '2'").report.total.files == 6


def test_the_same_files_as_pyiceberg_lists(tmp_path):
    """Paths, sizes, rows and partitions of every file, in manifests of several specs, removed files among them."""
    table, rng = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA), random.Random(9)
    for field in (None, "s", "d", "day", "flag", "x"):
        if field is not None:
            with table.update_spec() as update:
                update.add_field(field, IdentityTransform(), f"of_{field}")
        table.append(made.rows(rng, 0, 40))
    table.delete("n < 0")
    ours = open_table(made.folder(table), semantics=SparkSemantics()).snapshot
    files, i = ours.open_all(), 0
    table.refresh()
    for manifest in table.current_snapshot().manifests(table.io):
        for entry in manifest.fetch_manifest_entry(table.io):
            theirs = entry.data_file
            assert files[i].file_path == theirs.file_path
            assert files[i].partition == tuple(theirs.partition)
            assert (files[i].file_size_in_bytes, files[i].record_count) == (
                theirs.file_size_in_bytes,
                theirs.record_count,
            )
            assert (files[i].spec_id, files.numbers("sequence", -1)[i]) == (theirs.spec_id, entry.sequence_number)
            i += 1
    assert i == len(files) > 10


def test_manifests_in_other_codecs_are_read(by_text):
    """As Java's property `write.avro.compression-codec` has it; blocks of another codec are refused by its name."""
    from prune_assets.tables.iceberg.manifests.avro_file import read_avro

    path = manifests(by_text)[0]
    rows = read_avro(path.read_bytes())
    for codec, pack in PACKED.items():
        again = read_avro(repacked(path.read_bytes(), codec, pack))
        assert (again.count, again.data) == (rows.count, rows.data)
    with pytest.raises(ValueError, match="is packed by lzo"):
        read_avro(repacked(path.read_bytes(), "lzo", bytes))


def snappy(data):
    import zlib

    return pa.compress(data, "snappy", asbytes=True) + zlib.crc32(data).to_bytes(4, "big")


PACKED = {
    "null": bytes,
    "snappy": snappy,
    "zstandard": lambda data: pa.compress(data, "zstd", asbytes=True),
    "bzip2": lambda data: __import__("bz2").compress(data),
}


def long(value):
    """As Avro has it."""
    value, encoded = value << 1, bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def repacked(data, codec, pack):
    from prune_assets.tables.iceberg.manifests.avro_file import read_avro

    rows, sync = read_avro(data), b"s" * 16
    metadata = {**rows.metadata, "avro.codec": codec.encode()}
    head = b"".join(long(len(k)) + k.encode() + long(len(v)) + v for k, v in metadata.items())
    packed = pack(rows.data)
    return b"Obj\x01" + long(len(metadata)) + head + b"\0" + sync + long(rows.count) + long(len(packed)) + packed + sync


def test_a_table_that_was_moved_keeps_its_own_manifests(by_text, tmp_path):
    """The list names manifests of the original table, outside of the copy, so nothing is read."""
    copy = tmp_path / "copy"
    shutil.copytree(made.folder(by_text), copy)
    with pytest.raises(pr.PruneError, match="outside of the table's folder"):
        pr.count(copy)
