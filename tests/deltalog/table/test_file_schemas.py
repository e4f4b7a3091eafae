"""Files that Spark cannot read with the table's schema are not added; added files are read by Spark as written."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from log_writer import field

from deltalog.errors import RefusedCommit
from deltalog.stats.footer_statistics import NewFile, adds_of
from deltalog.table.schema import read_schema

KINDS = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(5,2)": pa.decimal128(5, 2),
    "decimal(9,2)": pa.decimal128(9, 2),
    "decimal(12,2)": pa.decimal128(12, 2),
    "decimal(12,4)": pa.decimal128(12, 4),
    "decimal(20,0)": pa.decimal128(20, 0),
    "decimal(38,10)": pa.decimal128(38, 10),
}
NUMBERS = [1, None, 2, 7]
STORED = {
    **{str(kind): pa.array(NUMBERS, kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(kind): pa.array(NUMBERS, kind) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    "large int32": pa.array([-(1 << 31), None, (1 << 31) - 1, 0], pa.int32()),
    "large int64": pa.array([-(1 << 63), None, (1 << 63) - 1, 0], pa.int64()),
    "large uint32": pa.array([(1 << 32) - 1, None, 1 << 31, 0], pa.uint32()),
    "halffloat": pa.array(NUMBERS).cast(pa.float32()).cast(pa.float16()),
    "float": pa.array([0.1, None, -1.5, float("inf")], pa.float32()),
    "double": pa.array([0.1, None, -1.5, 1e300]),
    "bool": pa.array([True, None, False, True]),
    "string": pa.array(["a", None, "", "é"]),
    "large_string": pa.array(["a", None, "", "é"], pa.large_string()),
    "dictionary": pa.array(["a", None, "", "é"]).dictionary_encode(),
    "binary": pa.array([b"a", None, b"", b"b"]),
    "fixed binary": pa.array([b"ab", None, b"cd", b"ef"], pa.binary(2)),
    "date32": pa.array(NUMBERS, pa.int32()).cast(pa.date32()),
    "time32": pa.array(NUMBERS, pa.int32()).cast(pa.time32("ms")),
    "time64": pa.array(NUMBERS, pa.int64()).cast(pa.time64("us")),
    **{
        f"timestamp {unit} {zone}": pa.array(NUMBERS, pa.int64()).cast(pa.timestamp(unit, zone))
        for unit in ("ms", "us", "ns")
        for zone in ("UTC", None)
    },
    "INT96": pa.array(NUMBERS, pa.int64()).cast(pa.timestamp("us", "UTC")),
    "decimal(5,2)": pa.array([Decimal("1.25"), None, Decimal("-999.99"), Decimal(0)], pa.decimal128(5, 2)),
    "decimal(9,2)": pa.array([Decimal("1.25"), None, Decimal("-9999999.99"), Decimal(0)], pa.decimal128(9, 2)),
    "decimal(12,2)": pa.array([Decimal("1.25"), None, Decimal("-9999999999.99"), Decimal(0)], pa.decimal128(12, 2)),
    "decimal(38,10)": pa.array([Decimal("1.25"), None, Decimal("-9.9999999999"), Decimal(0)], pa.decimal128(38, 10)),
    "integers as decimals": pa.array([Decimal("1.25"), None, Decimal("-9.99"), Decimal(0)], pa.decimal128(9, 2)),
    "null": pa.nulls(4),
    "struct": pa.array([{"x": 1}, None, {"x": 2}, {"x": 3}]),
    "list": pa.array([[1], None, [], [2, None]]),
    "map": pa.array([[("k", 1)], None, [], [("l", None)]], pa.map_(pa.string(), pa.int64())),
}


def write(name, columns, path):
    decimals = name == "integers as decimals"
    pq.write_table(
        pa.table(columns),
        path,
        use_deprecated_int96_timestamps=name == "INT96",
        store_decimal_as_integer=decimals,
        store_schema=False,
    )


def nests(values):
    """The same values by themselves, in a struct, a list and a map."""
    offsets = pa.array(range(len(values) + 1), pa.int32())
    keys = pa.array(["k"] * len(values))
    return {
        "plain": values,
        "struct": pa.StructArray.from_arrays([values], ["v"]),
        "list": pa.ListArray.from_arrays(offsets, values),
        "map": pa.MapArray.from_arrays(offsets, keys, values),
    }


def nested_kinds(kind):
    return {
        "plain": kind,
        "struct": {"type": "struct", "fields": [field("v", kind)]},
        "list": {"type": "array", "elementType": kind, "containsNull": True},
        "map": {"type": "map", "keyType": "string", "valueType": kind, "valueContainsNull": True},
    }


def text_of(columns):
    fields = [
        kind if isinstance(kind, dict) and "name" in kind else field(name, kind) for name, kind in columns.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})


def added(directory, columns, *, mapping="none", partitioned=()):
    schema = read_schema(text_of(columns), partition_columns=partitioned, mapping=mapping, location="t")
    values = dict.fromkeys(partitioned, "1")
    return adds_of(str(directory), schema, [NewFile("x.parquet", values)])


def is_added(directory, columns):
    try:
        return bool(added(directory, columns))
    except RefusedCommit:
        return False


@pytest.mark.sampled(108)
@pytest.mark.spark
@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.parametrize("name", STORED)
def test_what_is_added_is_read_by_spark_as_it_was_written(spark, tmp_path, name, vectorized):
    from pyspark.sql.types import StructType

    values = nests(STORED[name])
    write(name, values, tmp_path / "x.parquet")
    kinds = [kind for kind in KINDS if is_added(tmp_path, {"plain": kind})]
    # The same types are readable at every nesting position.
    for form in values:
        assert [kind for kind in KINDS if is_added(tmp_path, {form: nested_kinds(kind)[form]})] == kinds
    columns = {f"{form} {kind}": nested_kinds(kind)[form] for kind in kinds for form in values}
    write(name, {column: values[column.partition(" ")[0]] for column in columns}, tmp_path / "all.parquet")
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    try:
        schema = StructType.fromJson(json.loads(text_of(columns)))
        found = spark.read.schema(schema).parquet(str(tmp_path / "all.parquet")).toArrow() if columns else {}
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
    for kind in kinds:
        for form, wanted in nests(STORED[name].cast(KINDS[kind])).items():
            assert found[f"{form} {kind}"].to_pylist() == wanted.to_pylist(), (name, kind, form)


AS_DECIMALS = {"decimal(12,2)", "decimal(20,0)", "decimal(38,10)"}
ACCEPTED = {
    "int8": {"byte", "short", "integer", "long", "double", *AS_DECIMALS},
    "int16": {"short", "integer", "long", "double", *AS_DECIMALS},
    "int32": {"integer", "long", "double", *AS_DECIMALS},
    "int64": {"long", "decimal(20,0)", "decimal(38,10)"},
    "uint64": set(),
    "float": {"float", "double"},
    "double": {"double"},
    "string": {"string", "binary"},
    "dictionary": {"string", "binary"},
    "timestamp us UTC": {"timestamp"},
    "timestamp us None": {"timestamp_ntz"},
    "timestamp ns UTC": set(),
    "INT96": {"timestamp"},
    "decimal(9,2)": {"decimal(9,2)", "decimal(12,2)", "decimal(12,4)", "decimal(38,10)"},
    "struct": set(),
    "list": set(),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_types_that_are_widened_are_added(tmp_path, name):
    write(name, {"plain": STORED[name]}, tmp_path / "x.parquet")
    assert {kind for kind in KINDS if is_added(tmp_path, {"plain": kind})} == ACCEPTED[name]


def mapped(name, kind, physical, number):
    return field(name, kind, **{"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical})


def numbered(name, number, kind=None):
    return pa.field(name, kind or pa.int64(), metadata={"PARQUET:field_id": str(number)})


LONGS = {"type": "array", "elementType": "long", "containsNull": True}
INNER = {"type": "struct", "fields": [field("a", "long")]}


@pytest.mark.parametrize(
    ("columns", "stored", "said"),
    [
        ({"id": "long"}, {"ID": [1]}, "column id is named 'ID' in the file; name it 'id'"),
        ({"id": "long"}, {"id": [1], "Id": [2]}, "column id is named 'Id' in the file"),
        ({"s": INNER}, {"s": [{"A": 1}]}, r"column s\.a is named 'A' in the file"),
        (
            {"id": "long"},
            {"id": ["1"]},
            r"column id is string \(BYTE_ARRAY\) in the file, which Spark does not read as lo",
        ),
        ({"id": "string"}, {"id": [{"a": 1}]}, "column id is a struct in the file"),
        ({"id": INNER}, {"id": [1]}, r"column id is int64 \(INT64\) in the file, which Spark does not read as struct"),
        ({"id": INNER}, {"id": [[1]]}, "column id is a list in the file"),
        ({"id": LONGS}, {"id": [[0.5]]}, r"column id\.element is double"),
        ({"id": LONGS}, {"id": [{"a": 1}]}, "column id is a struct in the file"),
        ({"s": INNER}, {"s": [{"a": "x"}]}, r"column s\.a is string"),
    ],
)
def test_what_spark_does_not_read_is_refused_by_file_and_column(tmp_path, columns, stored, said):
    pq.write_table(pa.table(stored), tmp_path / "x.parquet")
    with pytest.raises(RefusedCommit, match=rf"x\.parquet: {said}"):
        added(tmp_path, columns)


@pytest.mark.parametrize(
    ("mapping", "stored", "said"),
    [
        ("name", [pa.field("a", pa.int64())], "column a is named 'a' in the file; name it 'col-1'"),
        ("name", [numbered("a", 1)], "column a is named 'a' in the file; name it 'col-1'"),
        ("id", [pa.field("col-1", pa.int64())], "column a has no field id in the file"),
        ("id", [numbered("col-1", 9)], "column a has the field id 9 in the file; write the field id 1"),
        ("id", [numbered("elsewhere", 1)], "column a is named 'elsewhere' in the file; name it 'col-1'"),
    ],
)
def test_columns_that_are_mapped_have_the_names_and_numbers_of_the_log(tmp_path, mapping, stored, said):
    pq.write_table(pa.table([[1]] * len(stored), pa.schema(stored)), tmp_path / "x.parquet")
    with pytest.raises(RefusedCommit, match=said):
        added(tmp_path, {"a": mapped("a", "long", "col-1", 1)}, mapping=mapping)


@pytest.mark.parametrize("mapping", ["name", "id"])
def test_files_as_the_log_maps_them_are_added(tmp_path, mapping):
    """Two columns that were renamed to each other's names, and one that the file lacks."""
    pq.write_table(pa.table([[1], [2]], pa.schema([numbered("b", 1), numbered("a", 2)])), tmp_path / "x.parquet")
    columns = {"a": mapped("a", "long", "b", 1), "b": mapped("b", "long", "a", 2), "c": mapped("c", "long", "c-1", 3)}
    (add,) = added(tmp_path, columns, mapping=mapping)
    assert json.loads(add.stats)["maxValues"] == {"b": 1, "a": 2}


def test_columns_that_the_file_lacks_and_that_the_table_lacks_are_added(tmp_path):
    pq.write_table(pa.table({"x": [1], "more": ["a"], "p": ["of the directory"]}), tmp_path / "x.parquet")
    (add,) = added(tmp_path, {"x": "long", "none": "string", "p": "integer"}, partitioned=["p"])
    assert json.loads(add.stats)["maxValues"] == {"x": 1}


def test_of_many_files_the_one_that_differs_is_named(tmp_path):
    schema = read_schema(text_of({"x": "long"}), partition_columns=(), mapping="none", location="t")
    for number in range(5):
        pq.write_table(pa.table({"x": ["a" if number == 3 else number]}), tmp_path / f"{number}.parquet")
    with pytest.raises(RefusedCommit, match=r"3\.parquet: column x is string"):
        adds_of(str(tmp_path), schema, [NewFile(f"{number}.parquet") for number in range(5)])
