"""Bloom filters equal, byte for byte, those that pyarrow and Spark write for the same values."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chunk_facts import chunk_at
from made_filters import build_filter, serialize

from parquet_core.bloom import hash_values, parse_filter, parse_guess
from parquet_core.dataset.opening import read_dataset

ROWS = 2_000
NDV = 3_000


def sample():
    chance = random.Random(3)

    def column(make, arrow_type):
        return pa.array([None if chance.random() < 0.1 else make() for _ in range(ROWS)], arrow_type)

    def number(bits):
        return chance.choice([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, chance.randint(-10_000, 10_000)])

    def floating():
        return chance.choice([0.0, -0.0, float("nan"), float("inf"), chance.gauss(0, 1e6)])

    def instant(days):
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(
            days=chance.randint(-days, days), seconds=chance.randint(0, 9999)
        )

    return pa.table(
        {
            "tiny": column(lambda: number(8) % 256 - 128, pa.int8()),
            "int": column(lambda: number(32), pa.int32()),
            "long": column(lambda: number(64), pa.int64()),
            "float": column(floating, pa.float32()),
            "double": column(floating, pa.float64()),
            "word": column(lambda: "é" * chance.randint(0, 40) + str(chance.randint(0, 99)), pa.string()),
            "bytes": column(lambda: chance.randbytes(chance.randint(0, 70)), pa.binary()),
            "day": column(lambda: instant(30_000).date(), pa.date32()),
            "micros": column(lambda: instant(30_000), pa.timestamp("us", "UTC")),
            "local": column(lambda: instant(30_000).replace(tzinfo=None), pa.timestamp("us")),
            "price": column(lambda: Decimal(chance.randint(-(10**6), 10**6)).scaleb(-2), pa.decimal128(9, 2)),
            "total": column(lambda: Decimal(chance.randint(-(10**16), 10**16)).scaleb(-4), pa.decimal128(18, 4)),
            "huge": column(lambda: Decimal(chance.randint(-(10**37), 10**37)).scaleb(-3), pa.decimal128(38, 3)),
        }
    )


def only_pyarrow():
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 2**63, ROWS)
    return pa.table(
        {
            "small": pa.array(numbers % 2**16 - 2**15, pa.int16()),
            "uint": pa.array(numbers % 2**32, pa.uint32()),
            "ulong": pa.array(numbers.astype(np.uint64) * np.uint64(2), pa.uint64()),
            "millis": pa.array(numbers % 10**12, pa.timestamp("ms")),
            "nanos": pa.array(numbers, pa.timestamp("ns")),
            "time": pa.array(numbers % 86_400_000, pa.int32()).cast(pa.time32("ms")),
            "half": pa.array(rng.normal(size=ROWS).astype(np.float16), pa.float16()),
            "key": pa.array([rng.bytes(16) for _ in range(ROWS)], pa.binary(16)),
        }
    )


def written_filters(path, table):
    """Yield each column's values, its leaf as if it were pruned on, and the bytes of its filter in the file."""
    data = path.read_bytes()
    index = read_dataset(str(path))
    assert len(index) == 1
    for column in index.groups.columns:
        leaf = replace(column, type=table.schema.field(column.name).type, unsupported="")
        offset, length = chunk_at(index.footers.chunks(column), 0).bloom_filter
        if length is None:
            blocks = parse_guess(data[offset:], place=column.name)
            length = len(serialize(blocks))
        yield table.column(column.name).combine_chunks().drop_null(), leaf, data[offset : offset + length]


def assert_equal_to_ours(path, table):
    compared = 0
    for values, leaf, stored in written_filters(path, table):
        theirs = parse_filter(stored, place=leaf.name)
        ours = build_filter(hash_values(leaf, values), theirs.nbytes)
        assert serialize(ours) == stored, leaf.name
        compared += 1
    assert compared == table.num_columns


@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("make", [sample, only_pyarrow])
def test_filters_of_pyarrow(tmp_path, make, integers, dictionary):
    path, table = tmp_path / "t.parquet", make()
    filters = {name: {"ndv": NDV, "fpp": 0.01} for name in table.column_names}
    pq.write_table(
        table, path, bloom_filter_options=filters, store_decimal_as_integer=integers, use_dictionary=dictionary
    )
    assert_equal_to_ours(path, table)


@pytest.mark.spark
@pytest.mark.parametrize("legacy", ["true", "false"])
def test_filters_of_spark(spark, tmp_path, legacy):
    """With the legacy format decimals are of fixed length whatever their precision."""
    rows = tmp_path / "rows.parquet"
    pq.write_table(sample(), rows)
    options = {"parquet.bloom.filter.enabled": "true", "parquet.enable.dictionary": "false"}
    options |= {f"parquet.bloom.filter.expected.ndv#{name}": str(NDV) for name in sample().column_names}
    settings = {
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.writeLegacyFormat": legacy,
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        spark.read.parquet(str(rows)).coalesce(1).write.options(**options).parquet(str(tmp_path / "spark"))
    finally:
        for key in settings:
            spark.conf.unset(key)
    path = next((tmp_path / "spark").glob("part-*.parquet"))
    assert_equal_to_ours(path, sample())
