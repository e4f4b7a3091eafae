from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from parquet_core.errors import WrongUse
from parquet_core.format.schema import LeafColumn, Physical, SortOrder
from parquet_core.inspection.values import parse_value

TYPES = {
    "int8": (Physical.INT32, pa.int8()),
    "int64": (Physical.INT64, pa.int64()),
    "uint64": (Physical.INT64, pa.uint64()),
    "decimal": (Physical.INT64, pa.decimal128(9, 2)),
    "date": (Physical.INT32, pa.date32()),
    "utc": (Physical.INT64, pa.timestamp("us", "UTC")),
    "local": (Physical.INT64, pa.timestamp("ms")),
    "time": (Physical.INT64, pa.time64("us")),
    "float": (Physical.FLOAT, pa.float32()),
    "double": (Physical.DOUBLE, pa.float64()),
    "string": (Physical.BYTE_ARRAY, pa.string()),
    "binary": (Physical.BYTE_ARRAY, pa.binary()),
    "fixed": (Physical.FIXED_LEN_BYTE_ARRAY, pa.binary(16)),
    "odd": (Physical.BYTE_ARRAY, None),
    "odd_number": (Physical.INT32, None),
    "half": (Physical.FIXED_LEN_BYTE_ARRAY, pa.float16()),
}


def column(name):
    physical, kind = TYPES[name]
    return LeafColumn((name,), 0, physical, kind, SortOrder.SIGNED, type_length=16 if name == "fixed" else 0)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("int8", "-128", -128),
        ("int64", "+9223372036854775807", 2**63 - 1),
        ("uint64", "18446744073709551615", 2**64 - 1),
        ("decimal", "1.5", Decimal("1.50")),
        ("decimal", "-1234567.89", Decimal("-1234567.89")),
        ("decimal", "0", Decimal("0.00")),
        ("date", "2024-02-29", dt.date(2024, 2, 29)),
        ("utc", "2024-03-01 12:30:00.000001", dt.datetime(2024, 3, 1, 12, 30, 0, 1, dt.UTC)),
        ("utc", "2024-03-01T12:30:00Z", dt.datetime(2024, 3, 1, 12, 30, tzinfo=dt.UTC)),
        ("utc", "2024-03-01 12:30:00+02:00", dt.datetime(2024, 3, 1, 10, 30, tzinfo=dt.UTC)),
        ("local", "2024-03-01 12:30:00.001", dt.datetime.fromisoformat("2024-03-01T12:30:00.001")),
        ("time", "12:30:00.000001", dt.time(12, 30, 0, 1)),
        ("float", "0.5", 0.5),
        ("double", "-inf", float("-inf")),
        ("string", "", ""),
        ("string", "0x00", "0x00"),
        ("binary", "0x00fF", b"\x00\xff"),
        ("binary", "é", "é".encode()),
        ("fixed", "0x" + "0a" * 16, b"\x0a" * 16),
        ("fixed", "00000000-0000-0000-0000-0000000000ff", b"\x00" * 15 + b"\xff"),
        ("odd", "x", b"x"),
        ("half", "0.5", 0.5),
    ],
)
def test_a_text_is_read_as_the_type_says(name, text, value):
    assert parse_value(column(name), text).to_pylist() == [value]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("int8", "128"),
        ("int8", "1.0"),
        ("int8", ""),
        ("int8", "1_0"),
        ("int64", "9" * 5000),
        ("uint64", "-1"),
        ("decimal", "1.555"),
        ("decimal", "12345678.00"),
        ("decimal", "nan"),
        ("decimal", "1e3"),
        ("date", "2023-02-29"),
        ("date", "20240301"),
        ("date", "yesterday"),
        ("local", "2024-03-01 12:30:00Z"),
        ("local", "2024-03-01 12:30:00.0001"),
        ("utc", "noon"),
        ("time", "25:00:00"),
        ("time", "12:30:00.0000001"),
        ("float", "1e39"),
        ("double", "many"),
        ("string", "\udcff"),
        ("binary", "\udcff"),
        ("fixed", "0x00"),
        ("fixed", "short"),
        ("odd_number", ""),
        ("odd_number", "1"),
        ("half", "1e6"),
    ],
)
def test_what_cannot_be_a_value_is_told_in_one_line(name, text):
    with pytest.raises(WrongUse, match=f"is not a value of column {name}: write ") as caught:
        parse_value(column(name), text)
    assert "\n" not in str(caught.value)
