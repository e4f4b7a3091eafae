"""Iceberg tables with changed columns and partitions: columns match by field id, unknown evidence keeps files."""

from __future__ import annotations

import os
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.iceberg_tables import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    LongType,
    NestedField,
    Schema,
    StringType,
    TruncateTransform,
)

SEED = int(os.environ.get("PRUNE_SEED", "7"))
PREDICATES = int(os.environ.get("PRUNE_PREDICATES", "15"))


def keys(table):
    return sorted(table["k"].to_pylist())


def small(directory, **columns):
    """A table of numbers with one file."""
    rows = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
    table = made.catalog_in(directory).create_table("db.t", rows.schema)
    table.append(rows)
    return table


def selected(table, where, column="k"):
    return sorted(pr.read_arrow(made.folder(table), where=where, columns=[column])[column].to_pylist())


@pytest.mark.deep
def test_random_predicates_on_a_table_that_changed(tmp_path):
    """Partitions added, replaced and removed; columns renamed, added, dropped, moved and widened; rows deleted."""
    rng = random.Random(SEED)
    table = made.catalog_in(tmp_path).create_table("db.t", made.SCHEMA)
    table.append(made.rows(rng, 0, 10))
    with table.update_spec() as update:
        update.add_field("ts", DayTransform(), "by_day")
        update.add_field("s", TruncateTransform(1), "by_s")
    table.append(made.rows(rng, 100, 10))
    with table.update_schema() as update:
        update.rename_column("s", "renamed")
        update.rename_column("st.t", "u")
        update.add_column("added", LongType())
        update.update_column("n", LongType())
        update.move_first("d")
    more = made.rows(rng, 200, 10)
    names = ["renamed" if name == "s" else name for name in more.column_names]
    struct = pa.array([v and {"a": v["a"], "u": v["t"]} for v in more["st"].to_pylist()])
    more = more.rename_columns(names).set_column(
        11, "st", struct.cast(pa.struct([("a", pa.int32()), ("u", pa.string())]))
    )
    wide = more.set_column(1, "n", more["n"].cast(pa.int64())).append_column(
        "added", pa.array([made.value(rng, "added") for _ in range(10)], pa.int64())
    )
    table.append(wide)
    with table.update_spec() as update:
        update.remove_field("by_day")
        update.add_field("added", BucketTransform(3), "by_added")
        update.add_field("flag", IdentityTransform(), "by_flag")
    table.append(wide.set_column(0, "k", pa.array(range(300, 310), pa.int64())))
    with table.update_schema() as update:
        update.delete_column("x")
    with table.update_schema() as update:
        update.add_column("x", LongType())
    table.delete("k = 3 or k = 204")
    directory, plain = made.folder(table), made.copied(table, tmp_path / "plain.parquet")
    names = ["k", "n", "ts", "tz", "day", "renamed", "b", "d", "f", "flag", "st.a", "added"]
    held = made.held_by(pq.read_table(plain))
    surviving = files = 0
    for _ in range(3 * PREDICATES):
        tried = made.predicate(rng, names, held)
        ours, theirs = (pr.read_arrow(each, where=tried.sql, columns=["k", "x"]) for each in (directory, plain))
        assert keys(ours) == keys(theirs), tried.sql
        assert ours["x"].null_count == len(ours)
        planned = pr.plan(directory, where=tried.sql)
        surviving, files = surviving + sum(f.verdict != "skip" for f in planned.files), files + len(planned.files)
    assert surviving < files


@pytest.fixture
def cached(monkeypatch):
    """Metadata of new files is cached as if they had been written long ago."""
    monkeypatch.setattr("parquet_core.dataset.stored_index.is_settled", lambda *_: True)


def test_names_that_were_swapped(tmp_path, cached):
    """Columns of files are matched by field id; the same name belongs to another column now."""
    table = small(tmp_path, k=[1, 2], a=[10, 11], b=[20, 21])
    with table.update_schema() as update:
        update.rename_column("a", "c")
    with table.update_schema() as update:
        update.rename_column("b", "a")
    with table.update_schema() as update:
        update.rename_column("c", "b")
    assert selected(table, "a = 20") == [1]
    assert selected(table, "b = 11") == [2]
    assert selected(table, "a = 10 OR b = 21") == []
    table.append(pa.table({"k": [3], "a": [10], "b": [21]}))
    for _ in range(2):
        assert selected(table, "a = 10") == [3]
        assert selected(table, "b = 10") == [1]
        assert [file.verdict for file in pr.plan(made.folder(table), where="a = 10").files] == ["scan", "skip"]


def test_a_name_that_is_used_again(tmp_path, cached):
    """Bounds of the deleted column, in manifests and in cached footers, must not apply to the new column."""
    table = small(tmp_path, k=[1, 2], a=[10, 11])
    assert selected(table, "a >= 11") == [2]
    with table.update_schema() as update:
        update.delete_column("a")
    with table.update_schema() as update:
        update.add_column("a", LongType())
    assert selected(table, "a >= 10") == []
    assert selected(table, "a IS NULL") == [1, 2]
    table.append(pa.table({"k": [3], "a": [5]}))
    assert selected(table, "a < 10") == [3]
    assert selected(table, "a IS NULL OR a = 5") == [1, 2, 3]


def test_an_older_snapshot_has_its_own_columns(tmp_path):
    table = small(tmp_path, k=[1, 2], a=[10, 11])
    first = table.current_snapshot().snapshot_id
    with table.update_schema() as update:
        update.rename_column("a", "z")
    table.append(pa.table({"k": [3], "z": [10]}))
    assert selected(table, "z = 10") == [1, 3]
    assert pr.read_arrow(made.folder(table), where="a = 10", version=first)["k"].to_pylist() == [1]


def imported(tmp_path, *, mapping):
    """A table with a file that another writer made, without field ids."""
    table = small(tmp_path, k=[1, 2], a=[10, 11])
    path = f"{made.folder(table)}/data/imported.parquet"
    pq.write_table(pa.table({"k": [3, 4], "a": [10, 12]}), path)
    table.add_files([path])
    if mapping is not None:
        with table.transaction() as update:
            if mapping:
                update.set_properties({"schema.name-mapping.default": mapping})
            else:
                update.remove_properties("schema.name-mapping.default")
    return table


def test_files_without_ids_are_read_by_the_name_mapping(tmp_path):
    table = imported(tmp_path, mapping=None)
    with table.update_schema() as update:
        update.rename_column("a", "z")
    assert selected(table, "z = 10") == [1, 3]
    assert [file.verdict for file in pr.plan(made.folder(table), where="z = 12").files].count("skip") == 1


def test_a_column_that_the_mapping_lacks_is_null_in_files_without_ids(tmp_path):
    """Their manifest has bounds of it, from when the mapping knew it."""
    table = imported(tmp_path, mapping='[{"field-id": 1, "names": ["k"]}]')
    assert selected(table, "a IS NULL") == [3, 4]
    assert selected(table, "a >= 11") == [2]


def test_files_without_ids_and_without_a_mapping_are_kept(tmp_path):
    """Nothing of their footers is believed, and no value of them is read."""
    table = imported(tmp_path, mapping="")
    directory = made.folder(table)
    for where in ("a IS NULL", "a = 10"):
        surviving = {
            file.path.rpartition("/")[2] for file in pr.plan(directory, where=where).files if file.verdict != "skip"
        }
        assert ("imported.parquet" in surviving) == (where == "a = 10")  # which the manifest tells
    with pytest.raises(UnsupportedFeature, match=r"imported.parquet stores it as another type, under another name"):
        selected(table, "a = 10")


def test_lists_and_maps_are_read_under_their_new_names(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("l", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int64()))])
    table = made.catalog_in(tmp_path).create_table("db.t", schema)
    table.append(pa.table({"k": [1, 2], "l": [[1], [2, 3]], "m": [[("a", 1)], []]}, schema=schema))
    with table.update_schema() as update:
        update.rename_column("l", "numbers")
    rows = pr.read_arrow(made.folder(table), where="k = 2", columns=["numbers", "m"])
    assert rows.to_pylist() == [{"numbers": [2, 3], "m": []}]


def test_a_required_column_and_its_id(tmp_path):
    schema = Schema(NestedField(1, "k", LongType(), required=True), NestedField(2, "s", StringType()))
    table = made.catalog_in(tmp_path).create_table("db.t", schema)
    table.append(
        pa.table(
            {"k": [1], "s": ["a"]}, schema=pa.schema([pa.field("k", pa.int64(), nullable=False), ("s", pa.string())])
        )
    )
    assert selected(table, "s = 'a'") == [1]
    assert selected(table, "k IS NULL") == []
