"""Spark's schema determines which columns compare like their bytes."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.spark_rules.spark_schema import SPARK_SCHEMA_KEY

NESTED = pa.table({"s": pa.array([{"a": "x", "n": 1}]), "b": pa.array([b"x"])})


def reasons(tmp_path, spark_type, metadata=None, table=NESTED):
    fields = [{"name": name, "type": spark_type, "nullable": True, "metadata": metadata or {}} for name in ("s", "b")]
    schema = json.dumps({"type": "struct", "fields": fields})
    pq.write_table(table.replace_schema_metadata({SPARK_SCHEMA_KEY: schema}), tmp_path / "t.parquet")
    return {column.name: column.unsupported for column in read_dataset(tmp_path / "t.parquet").groups.columns}


def struct(**field):
    return {"type": "struct", "fields": [{"name": "a", "type": "string", "nullable": True, "metadata": {}} | field]}


def test_a_plain_struct_is_pruned_on(tmp_path):
    assert set(reasons(tmp_path, struct()).values()) == {""}


@pytest.mark.parametrize(
    ("spark_type", "metadata"),
    [
        ("variant", {}),
        (struct(type="variant"), {}),
        ({"type": "udt", "class": "c", "sqlType": struct()}, {}),
        (struct(metadata={"__COLLATIONS": {"a": "icu.UNICODE_CI"}}), {}),
        (struct(type="string collate UTF8_LCASE"), {}),
        (struct(), {"__CHAR_VARCHAR_TYPE_STRING": "struct<a:char(5)>"}),
        (struct(metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}), {}),
    ],
    ids=["variant", "variant inside", "udt", "collation", "collation by name", "char by the struct", "char"],
)
def test_no_field_is_pruned_on_where_one_compares_in_its_own_way(tmp_path, spark_type, metadata):
    found = reasons(tmp_path, spark_type, metadata)
    assert all(found.values()), found


def test_what_spark_wrote_and_nobody_can_read_keeps_all_but_plain_numbers(tmp_path):
    table = NESTED.append_column("i", pa.array([1]))
    pq.write_table(table.replace_schema_metadata({SPARK_SCHEMA_KEY: "{"}), tmp_path / "t.parquet")
    found = {column.name: bool(column.unsupported) for column in read_dataset(tmp_path / "t.parquet").groups.columns}
    assert found == {"s.a": True, "s.n": True, "b": True, "i": False}


def test_parts_of_lists_maps_and_variants_are_no_fields(tmp_path):
    table = pa.table(
        {
            "l": pa.array([[{"x": 1}]]),
            "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "s": pa.array([{"l": [1], "x": 1}]),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = {column.name: column.unsupported == "" for column in read_dataset(tmp_path / "t.parquet").groups.columns}
    assert [name for name, pruned in found.items() if pruned] == ["s.x"]
