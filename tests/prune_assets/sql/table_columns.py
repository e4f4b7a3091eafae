"""The table of the SQL fixtures: Spark types and file types of its columns."""

from __future__ import annotations

import pyarrow as pa

from parquet_core.format.schema import LeafColumn, Physical, SortOrder

FIXTURE_TYPES = {
    "x": ("int", pa.int32()),
    "y": ("int", pa.int32()),
    "i8": ("tinyint", pa.int8()),
    "i16": ("smallint", pa.int16()),
    "i64": ("bigint", pa.int64()),
    "u8": ("smallint", pa.uint8()),
    "u16": ("int", pa.uint16()),
    "u32": ("bigint", pa.uint32()),
    "u64": ("decimal(20,0)", pa.uint64()),
    "d": ("decimal(5,2)", pa.decimal128(5, 2)),
    "money": ("decimal(15,2)", pa.decimal128(15, 2)),
    "wide": ("decimal(38,10)", pa.decimal128(38, 10)),
    "s": ("string", pa.string()),
    "day": ("date", pa.date32()),
    "a.b": ("int", pa.int32()),
    "tick`ed": ("int", pa.int32()),
    "order by": ("int", pa.int32()),
    "date": ("int", pa.int32()),
    "year": ("int", pa.int32()),
    "interval": ("int", pa.int32()),
    "ts": ("timestamp", pa.timestamp("us", "UTC")),
    "ntz": ("timestamp_ntz", pa.timestamp("us")),
    "f": ("double", pa.float64()),
    "g": ("float", pa.float32()),
    "b": ("boolean", pa.bool_()),
    "bin": ("binary", pa.binary()),
    "st": ("struct<a: int, in: struct<f: double, b: boolean>>", None),
}
NOT_UNDERSTOOD = {"nanos": "timestamp"}


def leaf(*path: str, type: pa.DataType | None = None, repeated: int = 0, unsupported: str = "") -> LeafColumn:  # noqa: A002
    return LeafColumn(
        path,
        0,
        Physical.INT64,
        type,
        SortOrder.SIGNED,
        max_definition_level=1,
        max_repetition_level=repeated,
        unsupported=unsupported,
    )


FIXTURE_COLUMNS = (
    *(leaf(name, type=arrow) for name, (_, arrow) in FIXTURE_TYPES.items() if arrow is not None),
    *(leaf(name, unsupported=f"type {kind} is not supported") for name, kind in NOT_UNDERSTOOD.items()),
    leaf("st", "a", type=pa.int32()),
    leaf("st", "in", "f", type=pa.float64()),
    leaf("st", "in", "b", type=pa.bool_()),
    leaf("arr", "list", "element", type=pa.int32(), repeated=1),
    leaf("m", "key_value", "key", type=pa.string(), repeated=1),
    leaf("m", "key_value", "value", type=pa.int32(), repeated=1),
)
SPARK_SCHEMA = ", ".join(
    [f"`{name.replace('`', '``')}` {kind}" for name, (kind, _) in FIXTURE_TYPES.items()]
    + [f"{name} {kind}" for name, kind in NOT_UNDERSTOOD.items()]
    + ["arr array<int>", "m map<string, int>"]
)
