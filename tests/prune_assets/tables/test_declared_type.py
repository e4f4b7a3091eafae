"""Arrow types of declared table types, compared with Spark's conversion to Arrow."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from parquet_core.errors import UnsupportedFeature
from prune_assets.spark.spark_versions import arrow_schema
from prune_assets.tables.declared_type import declared_type

PRIMITIVE = [
    spark.BooleanType(),
    spark.ByteType(),
    spark.ShortType(),
    spark.IntegerType(),
    spark.LongType(),
    spark.FloatType(),
    spark.DoubleType(),
    spark.DecimalType(),
    spark.DecimalType(38, 6),
    spark.StringType(),
    spark.StringType("UTF8_LCASE"),
    spark.BinaryType(),
    spark.DateType(),
    spark.TimestampType(),
    spark.TimestampNTZType(),
    spark.DayTimeIntervalType(),
    spark.DayTimeIntervalType(0, 0),
    spark.NullType(),
]
FIELDS = [
    spark.StructField("whole", spark.LongType(), nullable=False),
    spark.StructField("maybe", spark.StringType()),
]
NESTED = [
    spark.StructType(FIELDS),
    spark.ArrayType(spark.StructType(FIELDS), containsNull=False),
    spark.ArrayType(spark.ArrayType(spark.DateType())),
    spark.MapType(spark.StringType(), spark.StructType(FIELDS), valueContainsNull=False),
    spark.MapType(spark.IntegerType(), spark.ArrayType(spark.TimestampType())),
]


def described(type_json, name="c"):
    return {"name": name, "type": type_json, "nullable": True, "metadata": {}}


@pytest.mark.parametrize("kind", [*PRIMITIVE, *NESTED], ids=lambda kind: kind.simpleString())
def test_a_type_is_the_one_that_spark_gives_to_arrow(kind):
    declared = declared_type(described(json.loads(kind.json()))).declared
    assert declared == arrow_schema(spark.StructType([spark.StructField("c", kind)])).field(0).type


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("variant", "Arrow has no type for VARIANT"),
        ("interval year to month", r"its type is not known \(interval year to month\)"),
        ("decimal(39,0)", "its type is not known"),
        ("geometry(4326)", "its type is not known"),
        ({"type": "array", "elementType": "variant", "containsNull": True}, "Arrow has no type for VARIANT"),
        ({"type": "tensor"}, "its type is not known"),
        ({"type": "struct", "fields": None}, "its type is not known"),
        ({"type": "struct", "fields": [{"name": "a"}]}, r"its type is not known \(\{'name': 'a'\}\)"),
    ],
    ids=str,
)
def test_a_type_that_arrow_lacks_is_refused(kind, reason):
    with pytest.raises(UnsupportedFeature, match=reason):
        declared_type(described(kind))


def test_files_have_physical_names_inside_lists_and_maps_alone():
    inner = {**described("long", "a"), "metadata": {"delta.columnMapping.physicalName": "col-1"}}
    struct = {"type": "struct", "fields": [inner]}
    elements = {"type": "array", "elementType": struct, "containsNull": True}
    by_table, in_files = pa.struct([("a", pa.int64())]), pa.struct([("col-1", pa.int64())])
    assert declared_type(described(struct), physical_names=True) == (by_table, by_table)
    declared, stored = declared_type(described(elements), physical_names=True)
    assert (declared.value_type, stored.value_type) == (by_table, in_files)


def test_fields_of_a_struct_may_be_a_tuple():
    field = {"name": "a", "type": "long"}
    both = [declared_type({"type": {"type": "struct", "fields": make([field])}}) for make in (list, tuple)]
    assert both[0] == both[1]
