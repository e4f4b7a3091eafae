"""`read_arrow` returns lists, maps and structs as other readers of the table format do."""

from __future__ import annotations

import json

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from tests.deltalog.log_writer import Log, add, field
from tests.peers.delta_readers import ask
from tests.peers.plain_rows import plain_rows

NESTED = {
    "list": [["a", None]],
    "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    "struct": [{"a": 1, "codes": [1]}],
    "list of structs": [[{"a": 1}]],
}
MAPPED = {"minReaderVersion": 2, "minWriterVersion": 5}


def same_as_delta_rs(table):
    """Compare with delta-rs; return the rows."""
    (wanted,) = ask("delta-rs", [{"table": str(table)}])
    found = pr.read_arrow(str(table)).to_pylist()
    assert plain_rows(found) == wanted["rows"]
    return found


@pytest.mark.parametrize("values", NESTED.values(), ids=NESTED)
def test_an_empty_table_has_its_schema(values, tmp_path):
    rows = pa.table({"id": [1], "nested": values})
    DeltaTable.create(str(tmp_path / "t"), rows.schema)
    found = pr.read_arrow(str(tmp_path / "t"))
    assert found.num_rows == 0
    write_deltalake(str(tmp_path / "t"), rows, mode="append")
    for where in ("id > 5", "id = 1"):
        assert pr.read_arrow(str(tmp_path / "t"), where=where).schema == found.schema
        assert pr.read_batches(str(tmp_path / "t"), where=where).schema == found.schema
    assert pr.read_arrow(str(tmp_path / "t"), where="id = 1").to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("values", NESTED.values(), ids=NESTED)
def test_a_column_that_was_added_later_is_null_before(values, tmp_path):
    table, rows = str(tmp_path / "t"), pa.table({"id": [1], "nested": values})
    write_deltalake(table, pa.table({"id": [0]}))
    DeltaTable(table).alter.add_columns(list(deltalake.Schema.from_arrow(rows.schema).fields)[1:])
    assert same_as_delta_rs(table) == [{"id": 0, "nested": None}]
    write_deltalake(table, rows, mode="append")
    assert len(same_as_delta_rs(table)) == 2
    assert pr.read_arrow(table, where="id = 0").to_pylist() == [{"id": 0, "nested": None}]


@pytest.mark.parametrize(("before", "after"), [
    ({"a": 1}, {"a": 2, "b": "x"}),
    ({"s": {"a": 1}}, {"s": {"a": 2, "codes": [1]}}),
    ([{"a": 1}, None], [{"a": 2, "b": ["x"]}]),
])  # fmt: skip
def test_fields_that_were_added_later_are_null_before(before, after, tmp_path):
    table = str(tmp_path / "t")
    write_deltalake(table, pa.table({"id": [1], "nested": [before]}))
    write_deltalake(table, pa.table({"id": [2], "nested": [after]}), mode="append", schema_mode="merge")
    assert len(same_as_delta_rs(table)) == 2
    for number in (1, 2):
        assert pr.read_arrow(table, where=f"id = {number}").num_rows == 1
    assert pr.count(table) == 2


def test_parts_that_were_widened_are_read_in_the_wider_type(tmp_path):
    table, change = Log(tmp_path / "t"), {"fromType": "integer", "toType": "long"}
    kinds = {
        "a": {"type": "array", "elementType": "long", "containsNull": True},
        "s": {"type": "struct", "fields": [field("x", "long", **{"delta.typeChanges": [change]})]},
    }
    changed = field("a", kinds["a"], **{"delta.typeChanges": [change | {"fieldPath": "element"}]})
    table.create([("id", "long"), changed, ("s", kinds["s"])])
    for number, width in enumerate([pa.int32(), pa.int64()]):
        value = 7 if width == pa.int32() else 1 << 40
        columns = {"a": pa.array([[value]], pa.list_(width)), "s": pa.array([{"x": value}], pa.struct([("x", width)]))}
        table.commit(stored(table, f"{number}.parquet", pa.table({"id": [number], **columns})))
    same_as_delta_rs(table)


def stored(table, name, rows):
    pq.write_table(rows, table.path / name)
    return add(name, size=(table.path / name).stat().st_size)


def mapped(name, kind, physical, number):
    names = {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": number}
    return field(name, kind, **names)


def mapped_table(path, *fields):
    table = Log(path)
    table.create(fields, protocol=MAPPED, **{"delta.columnMapping.mode": "name"})
    return table


def test_structs_in_lists_and_maps_are_read_under_physical_names(tmp_path):
    # One of the physical names inside is the name of another field, as after a rename and an addition.
    def inner(first):
        fields = [mapped("old", "long", "a", first), mapped("a", "string", "col-new", first + 1)]
        return {"type": "struct", "fields": fields}

    def listed(first):
        return {"type": "array", "elementType": inner(first), "containsNull": True}

    deep = {"type": "struct", "fields": [mapped("in", listed(30), "col-in", 6)]}
    table = mapped_table(
        tmp_path / "t",
        mapped("id", "long", "col-id", 1),
        mapped("list", listed(10), "col-list", 2),
        mapped("deep", deep, "col-deep", 7),
    )
    old, new = [{"a": 7}, None], [{"a": 8, "col-new": "x"}]
    for number, values in enumerate([old, new]):
        columns = {"col-list": [values], "col-deep": [{"col-in": values}]}
        table.commit(stored(table, f"{number}.parquet", pa.table({"col-id": [number], **columns})))
    before, after = same_as_delta_rs(table)
    assert before["list"] == before["deep"]["in"] == [{"old": 7, "a": None}, None]
    assert after["list"] == after["deep"]["in"] == [{"old": 8, "a": "x"}]


def test_structs_in_maps_are_read_under_physical_names(tmp_path):
    inner = {"type": "struct", "fields": [mapped("a", "long", "col-a", 3)]}
    by_key = {"type": "map", "keyType": "string", "valueType": inner, "valueContainsNull": True}
    table = mapped_table(tmp_path / "t", mapped("id", "long", "col-id", 1), mapped("m", by_key, "col-m", 2))
    values = pa.array([[("k", {"col-a": 7})], None], pa.map_(pa.string(), pa.struct([("col-a", pa.int64())])))
    table.commit(stored(table, "1.parquet", pa.table({"col-id": [1, 2], "col-m": values})))
    assert same_as_delta_rs(table) == [{"id": 1, "m": [("k", {"a": 7})]}, {"id": 2, "m": None}]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_that_were_added_under_mapping_are_null_in_older_files(mode, tmp_path):
    """Spark's footers have the number of each column in the schema that it writes, which means nothing here."""
    table, conf = Log(tmp_path / "t"), {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "9"}
    old, renewed = mapped("x", "long", "col-b", 2), mapped("x", "string", "col-d", 4)
    first, added = mapped("id", "long", "col-a", 1), mapped("y", "long", "col-c", 3)
    table.create([first, old], protocol=MAPPED, **conf)
    table.commit(of_spark(table, "1.parquet", a=[1], b=[10]))
    table.commit(metadata([first, old, added], conf))
    table.commit(of_spark(table, "2.parquet", a=[2], b=[20], c=[42]))
    assert {row["id"]: row["y"] for row in same_as_delta_rs(table)} == {1: None, 2: 42}
    assert pr.count(str(table), where="y IS NULL") == pr.count(str(table), where="y = 42") == 1
    table.commit(metadata([first, renewed, added], conf))
    table.commit(of_spark(table, "3.parquet", a=[3], c=[43], d=["new"]))
    assert {row["id"]: row["x"] for row in same_as_delta_rs(table)} == {1: None, 2: None, 3: "new"}
    assert (pr.count(str(table), where="x IS NULL"), pr.count(str(table), where="x = 'new'")) == (2, 1)
    assert [batch.num_rows for batch in pr.read_batches(str(table), where="x IS NULL AND id > 0")] == [1, 1]


NUMBERS = {"a": 1, "b": 2, "c": 3, "d": 4}


def of_spark(table, name, **columns):
    """Write a file with what Spark puts into the footer of a table with column mapping."""
    kinds = {"d": "string"}
    fields = [field(f"col-{key}", kinds.get(key, "long"), **{"parquet.field.id": NUMBERS[key]}) for key in columns]
    schema = pa.schema(
        [
            pa.field(f"col-{key}", pa.array(values).type, metadata={"PARQUET:field_id": str(NUMBERS[key])})
            for key, values in columns.items()
        ],
        metadata={"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": fields})},
    )
    return stored(table, name, pa.table(list(columns.values()), schema=schema))


def metadata(fields, configuration):
    schema = json.dumps({"type": "struct", "fields": fields})
    made = {"id": "t", "format": {"provider": "parquet", "options": {}}, "schemaString": schema}
    return {"metaData": {**made, "partitionColumns": [], "configuration": configuration}}


def test_with_mapping_by_id_a_column_of_another_name_is_not_taken_for_null(tmp_path):
    conf = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "9"}
    table = Log(tmp_path / "t")
    table.create([mapped("id", "long", "col-a", 1), mapped("y", "long", "col-y", 3)], protocol=MAPPED, **conf)
    table.commit(of_spark(table, "1.parquet", a=[1], c=[10]))
    with pytest.raises(UnsupportedFeature, match=r"column 'y'.*under another name"):
        pr.read_arrow(str(table))
    assert pr.read_arrow(str(table), columns=["id"]).to_pylist() == [{"id": 1}]


def test_a_list_in_letters_of_another_case_is_not_taken_for_null(tmp_path):
    table = Log(tmp_path / "t")
    table.create([("id", "long"), ("tags", {"type": "array", "elementType": "string", "containsNull": True})])
    table.commit(stored(table, "1.parquet", pa.table({"id": [1], "TAGS": [["a"]]})))
    with pytest.raises(UnsupportedFeature, match="column 'tags'"):
        pr.read_arrow(str(table))


def test_a_struct_without_any_field_of_the_table_is_refused(tmp_path):
    """Spark before 4.1 reads null there, later versions a struct of nulls."""
    inner = {"type": "struct", "fields": [mapped("new", "long", "col-new", 3)]}
    table = mapped_table(tmp_path / "t", mapped("id", "long", "col-id", 1), mapped("s", inner, "col-s", 2))
    table.commit(stored(table, "1.parquet", pa.table({"col-id": [1], "col-s": [{"col-old": 1}]})))
    with pytest.raises(UnsupportedFeature, match="column 's'"):
        pr.read_arrow(str(table))
