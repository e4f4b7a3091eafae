from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest
from log_writer import add, field

from deltalog.errors import MalformedLog, UnsupportedTable
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from deltalog.table.schema import read_schema
from parquet_core.pruning.predicate import Compare, Op

MAPPED = {"minReaderVersion": 2, "minWriterVersion": 5}


def schema(*fields, partitioned=(), mapping="none"):
    text = json.dumps({"type": "struct", "fields": list(fields)})
    return read_schema(text, partition_columns=partitioned, mapping=mapping, location="t")


def physical(name, number):
    return {"delta.columnMapping.physicalName": name, "delta.columnMapping.id": number}


TYPES = [
    ("string", pa.string()),
    ("long", pa.int64()),
    ("integer", pa.int32()),
    ("short", pa.int16()),
    ("byte", pa.int8()),
    ("float", pa.float32()),
    ("double", pa.float64()),
    ("boolean", pa.bool_()),
    ("binary", pa.binary()),
    ("date", pa.date32()),
    ("timestamp", pa.timestamp("us", "UTC")),
    ("timestamp_ntz", pa.timestamp("us")),
    ("decimal(9,2)", pa.decimal128(9, 2)),
    ("decimal(38, 0)", pa.decimal128(38, 0)),
    ("decimal", pa.decimal128(10, 0)),
]


@pytest.mark.parametrize(("name", "kind"), TYPES)
def test_types_are_those_of_spark(name, kind):
    column = schema(field("x", name)).columns[0]
    assert column.leaf.type == kind
    assert column.refused == ""


def test_structs_have_leaves_and_lists_have_none():
    inner = {"type": "struct", "fields": [field("a", "long"), field("b.c", "string")]}
    array = {"type": "array", "elementType": "long", "containsNull": True}
    found = schema(field("s", inner), field("l", array))
    assert [column.leaf.path for column in found.columns] == [("s", "a"), ("s", "b.c"), ("l",)]
    assert found.columns[2].leaf.max_repetition_level == 1
    assert [column.leaf.index for column in found.columns] == [0, 1, 2]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_with_column_mapping_the_log_knows_physical_names(log, mode):
    inner = {"type": "struct", "fields": [field("a", "long", **physical("col-a", 3))]}
    statistics = {"numRecords": 5, "minValues": {"col-s": {"col-a": 1}}, "maxValues": {"col-s": {"col-a": 2}}}
    log.create(
        [field("s", inner, **physical("col-s", 2)), field("p", "integer", **physical("col-p", 1))],
        add("one", stats=statistics, partition={"col-p": "1"}),
        add("two", stats=statistics, partition={"col-p": "2"}),
        add("logical", partition={"p": "7"}),
        partitioned=["p"],
        protocol=MAPPED,
        **{"delta.columnMapping.mode": mode},
    )
    snapshot = open_snapshot(log.path)
    assert [column.field_id for column in snapshot.schema.columns] == [3, 1]
    kept = skip_files(snapshot, Compare(("p",), Op.EQ, pa.scalar(1, pa.int32()))).kept
    assert snapshot.paths(kept) == ["one", "logical"]
    kept = skip_files(snapshot, Compare(("s", "a"), Op.GT, pa.scalar(2))).kept
    assert snapshot.paths(kept) == ["logical"]


def test_without_column_mapping_physical_names_mean_nothing():
    assert schema(field("x", "long", **physical("col-x", 1))).columns[0].physical == ("x",)


@pytest.mark.parametrize(
    ("old", "new", "known"),
    [
        ("byte", "long", True),
        ("float", "double", True),
        ("date", "timestamp_ntz", True),
        ("integer", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(11,4)", False),
        ("long", "double", False),
        ("string", "long", False),
    ],
)
def test_changes_of_type_are_understood_or_refused(old, new, known):
    changed = field("x", new, **{"delta.typeChanges": [{"fromType": old, "toType": new}]})
    if known:
        assert schema(changed).columns[0].from_float == (old == "float")
    else:
        with pytest.raises(UnsupportedTable, match=re.escape(f"t: column x was changed from {old}")):
            schema(changed)


@pytest.mark.parametrize(
    "metadata",
    [
        {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"},
        {"__CHAR_VARCHAR_TYPE_STRING": "struct<a:char(3)>"},
        {"__COLLATIONS": {"x": "UTF8_LCASE"}},
    ],
)
def test_of_strings_with_a_comparison_of_their_own_nulls_alone_are_told_below_too(metadata):
    inner = {"type": "struct", "fields": [field("a", "string")]}
    for kind in ("string", inner):
        found = schema(field("x", kind, **metadata))
        assert not found.columns[0].bounded
        assert (len(found.by_path()), len(found.nullable())) == (0, 1)
    assert schema(field("x", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(3)")).columns[0].bounded


def test_a_column_that_is_there_twice_is_refused():
    assert [column.refused != "" for column in schema(field("x", "long"), field("x", "string")).columns] == [True] * 2


def deep(levels):
    kind = "long"
    for _ in range(levels):
        kind = {"type": "struct", "fields": [field("a", kind)]}
    return field("x", kind)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"type":"array"}', '{"type":"struct","fields":[{"name":5,"type":"long"}]}',
     '{"type":"struct","fields":[{"name":"x"}]}', '{"type":"struct","fields":[{"name":"x","type":{"type":[]}}]}',
     '{"type":"struct","fields":[{"name":"x","type":{"type":"tensor"}}]}', '{"type":"struct","fields":null}',
     '{"type":"struct","fields":5}', json.dumps({"type": "struct", "fields": [deep(150)]})],
)  # fmt: skip
def test_what_is_no_schema_is_refused(text):
    with pytest.raises(MalformedLog, match="t: "):
        read_schema(text, partition_columns=[], mapping="none", location="t")


def test_an_unknown_mapping_and_an_unknown_partition_column_are_refused():
    with pytest.raises(UnsupportedTable, match="mapping"):
        schema(mapping="magic")
    with pytest.raises(MalformedLog, match="partitioned by 'p'"):
        schema(field("x", "long"), partitioned=["p"])
