"""Type, order and comparability of a leaf, by its annotations."""

from __future__ import annotations

import pyarrow as pa
import pytest

from parquet_core.errors import MalformedFile
from parquet_core.format.schema import Physical, SchemaElement, SortOrder, leaf_columns

MILLIS, MICROS, NANOS = ((unit, []) for unit in (1, 2, 3))
SIGNED, UNSIGNED, FLOATING, UNDEFINED = SortOrder.SIGNED, SortOrder.UNSIGNED, SortOrder.FLOATING, SortOrder.UNDEFINED
FIXED, BYTES = Physical.FIXED_LEN_BYTE_ARRAY, Physical.BYTE_ARRAY
INT32, INT64 = Physical.INT32, Physical.INT64


def leaf(physical, **annotation):
    element = SchemaElement("x", physical=physical, repetition=1, **annotation)
    return leaf_columns([SchemaElement("root", children=1), element], place="test")[0]


@pytest.mark.parametrize(
    ("physical", "annotation", "kind", "order", "prunes"),
    [
        (Physical.BOOLEAN, {}, pa.bool_(), SIGNED, True),
        (INT32, {}, pa.int32(), SIGNED, True),
        (INT64, {}, pa.int64(), SIGNED, True),
        (Physical.INT96, {}, pa.timestamp("ns", "UTC"), UNDEFINED, True),
        (Physical.FLOAT, {}, pa.float32(), FLOATING, True),
        (Physical.DOUBLE, {}, pa.float64(), FLOATING, True),
        (BYTES, {}, pa.binary(), UNSIGNED, True),
        (FIXED, {"type_length": 5}, pa.binary(5), UNSIGNED, False),
        (BYTES, {"logical": (1, [])}, pa.string(), UNSIGNED, True),
        (BYTES, {"converted": 0}, pa.string(), UNSIGNED, True),
        (BYTES, {"logical": (4, [])}, pa.binary(), UNSIGNED, False),
        (BYTES, {"logical": (12, [])}, pa.binary(), UNSIGNED, False),
        (BYTES, {"logical": (13, [])}, pa.binary(), UNSIGNED, False),
        *[(BYTES, {"converted": number}, pa.binary(), UNSIGNED, False) for number in (4, 19, 20)],
        (FIXED, {"logical": (14, []), "type_length": 16}, pa.binary(16), UNSIGNED, False),
        (FIXED, {"logical": (15, []), "type_length": 2}, pa.float16(), FLOATING, False),
        (INT32, {"logical": (6, [])}, pa.date32(), SIGNED, True),
        (INT32, {"converted": 6}, pa.date32(), SIGNED, True),
        (INT32, {"logical": (7, [True, MILLIS])}, pa.time32("ms"), SIGNED, False),
        (INT64, {"logical": (7, [False, MICROS])}, pa.time64("us"), SIGNED, False),
        (INT64, {"logical": (7, [False, NANOS])}, pa.time64("ns"), SIGNED, False),
        (INT32, {"converted": 7}, pa.time32("ms"), SIGNED, False),
        (INT64, {"converted": 8}, pa.time64("us"), SIGNED, False),
        (INT64, {"logical": (8, [True, MILLIS])}, pa.timestamp("ms", "UTC"), SIGNED, True),
        (INT64, {"logical": (8, [False, MICROS])}, pa.timestamp("us"), SIGNED, True),
        (INT64, {"logical": (8, [True, NANOS])}, pa.timestamp("ns", "UTC"), SIGNED, False),
        (INT64, {"converted": 9}, pa.timestamp("ms", "UTC"), SIGNED, True),
        (INT64, {"converted": 10}, pa.timestamp("us", "UTC"), SIGNED, True),
        (INT32, {"logical": (10, [8, True])}, pa.int8(), SIGNED, True),
        (INT32, {"logical": (10, [16, False])}, pa.uint16(), UNSIGNED, True),
        (INT64, {"logical": (10, [64, False])}, pa.uint64(), UNSIGNED, True),
        (INT32, {"converted": 13}, pa.uint32(), UNSIGNED, True),
        (INT64, {"converted": 18}, pa.int64(), SIGNED, True),
        (INT32, {"logical": (5, [2, 9])}, pa.decimal128(9, 2), SIGNED, True),
        (INT64, {"converted": 5, "precision": 18}, pa.decimal128(18, 0), SIGNED, True),
        (FIXED, {"logical": (5, [2, 38]), "type_length": 16}, pa.decimal128(38, 2), SIGNED, True),
        (BYTES, {"logical": (5, [2, 20])}, pa.decimal128(20, 2), UNDEFINED, False),
    ],
)
def test_what_is_understood(physical, annotation, kind, order, prunes):
    found = leaf(physical, **annotation)
    assert (found.type, found.order, not found.unsupported) == (kind, order, prunes)


@pytest.mark.parametrize(
    ("physical", "annotation", "reason"),
    [
        (FIXED, {"converted": 21, "type_length": 12}, "converted type 21 is not supported"),
        *[(BYTES, {"logical": (member, None)}, f"type of logical type {member} is not") for member in (16, 17, 18, 99)],
        (INT32, {"logical": (11, [])}, "type of logical type 11 is not supported"),
        (INT32, {"converted": 99}, "converted type 99 is not supported"),
        (INT32, {"logical": (99, None), "converted": 6}, "type of logical type 99"),
        (INT64, {"logical": (1, [])}, "type of logical type 1 "),
        (INT64, {"logical": (6, [])}, "type of logical type 6 "),
        (INT32, {"logical": (8, [True, MICROS])}, "type TIMESTAMP is not supported"),
        (INT64, {"logical": (8, [True, (4, None)])}, "type TIMESTAMP"),
        (INT64, {"logical": (8, [True, None])}, "type TIMESTAMP"),
        (INT64, {"logical": (8, [None, MICROS])}, "type TIMESTAMP"),
        (INT64, {"logical": (7, [True, MILLIS])}, "type TIME "),
        (INT64, {"logical": (10, [32, True])}, "type of logical type 10"),
        (INT32, {"logical": (10, [None, None])}, "type of logical type 10"),
        (FIXED, {"logical": (14, []), "type_length": 15}, "type of logical type 14"),
        (FIXED, {"logical": (15, []), "type_length": 4}, "type of logical type 15"),
        (INT32, {"converted": 10}, "converted type 10"),
        (INT32, {"logical": (5, [2, 10])}, "4 bytes cannot hold decimal(10,2)"),
        (FIXED, {"logical": (5, [2, 38]), "type_length": 17}, "FIXED_LEN_BYTE_ARRAY of 17 bytes"),
        (INT64, {"logical": (5, [2, 39])}, "not a valid decimal type of Spark"),
        (INT64, {"logical": (5, [None, None])}, "not a valid decimal type of Spark"),
    ],
)
def test_what_is_not_understood_has_neither_type_nor_order(physical, annotation, reason):
    found = leaf(physical, **annotation)
    assert (found.type, found.order) == (None, SortOrder.UNDEFINED)
    assert reason in found.unsupported


@pytest.mark.parametrize("length", [None, -1, 1 << 31, 1 << 62])
def test_a_length_that_cannot_be_is_damage(length):
    with pytest.raises(MalformedFile, match="fixed length"):
        leaf(FIXED, type_length=length)


def test_fields_of_structs_are_pruned_on_and_those_of_lists_are_not():
    elements = [
        SchemaElement("root", children=2),
        SchemaElement("st", repetition=1, children=1),
        SchemaElement("a", physical=Physical.DOUBLE, repetition=0),
        SchemaElement("many", physical=INT32, repetition=2),
    ]
    inside, repeated = leaf_columns(elements, place="test")
    assert (inside.type, inside.max_definition_level) == (pa.float64(), 1)
    assert inside.unsupported == ""
    assert (repeated.type, repeated.unsupported) == (pa.int32(), "lists and maps are not supported")


@pytest.mark.parametrize("annotation", [{"logical": (16, [])}, {"converted": 99}], ids=["VARIANT", "unknown"])
def test_parts_of_an_annotated_group_are_no_fields(annotation):
    elements = [
        SchemaElement("root", children=2),
        SchemaElement("v", repetition=1, children=1, **annotation),
        SchemaElement("value", physical=BYTES, repetition=0),
        SchemaElement("a", physical=BYTES, repetition=0),
    ]
    inside, beside = leaf_columns(elements, place="test")
    assert (bool(inside.unsupported), bool(beside.unsupported)) == (True, False)
