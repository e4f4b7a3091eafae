"""Statistics of every type by every installed writer, compared with the values that pyarrow reads."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections import Counter
from decimal import Decimal
from functools import cache

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chunk_facts import chunk_at
from written_statistics import assert_file_holds, open_file, page_bounds

from parquet_core.errors import PruneError
from parquet_core.format.schema import SortOrder
from parquet_core.trust.trust_policy import trust

GROUP = 240
GROUPS = 5
ROWS = GROUP * GROUPS
NAN = float("nan")


def column(make, kind, seed):
    """Values with nulls; the last row group has nulls alone."""
    chance = random.Random(seed)
    values = [None if chance.random() < 0.1 else make(chance) for _ in range(ROWS - GROUP)]
    return pa.array(values + [None] * GROUP, kind)


def floats(kind, seed):
    """Row groups without NaN, with NaN, of zeros of both signs, of NaN alone, of nulls alone."""
    chance = random.Random(seed)
    numbers = [chance.choice([-3.5, -0.0, 0.0, 2.0, 9.5]) for _ in range(GROUP)]
    mixed = [NAN if chance.random() < 0.2 else chance.choice([1.0, 2.0]) for _ in range(GROUP)]
    zeros = [chance.choice([0.0, -0.0]) for _ in range(GROUP)]
    return pa.array([*numbers, *mixed, *zeros, *[NAN] * GROUP, *[None] * GROUP], kind)


def integer(bits, *, signed=True):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return lambda chance: chance.choice([low, high, *range(100)])


def instant(unit):
    # From 1906, for which there is one calendar, to 2255, which 64 bits of nanoseconds reach.
    second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    return lambda chance: chance.randint(-2_000_000_000 * second, 9_000_000_000 * second)


def number(digits):
    return lambda chance: Decimal(chance.randint(-(10**digits) + 1, 10**digits - 1)).scaleb(-2)


def text(chance):
    return chance.choice(["", "a", "zebra", "é", "\U0001f680", "x" * 90, "\x00", "\U0010ffff" * 20])


def blob(chance):
    return chance.choice([b"", b"\xff" * 80, b"\x00", b"\x7f", b"\x80" + b"a" * 90])


@cache
def every_column():
    columns = {
        "flag": (lambda chance: chance.random() < 0.5, pa.bool_()),
        **{f"i{bits}": (integer(bits), getattr(pa, f"int{bits}")()) for bits in (8, 16, 32, 64)},
        **{f"u{bits}": (integer(bits, signed=False), getattr(pa, f"uint{bits}")()) for bits in (8, 16, 32, 64)},
        "text": (text, pa.string()),
        "blob": (blob, pa.binary()),
        "fixed": (lambda chance: chance.randbytes(5), pa.binary(5)),
        "uuid": (lambda chance: uuid.UUID(bytes=chance.randbytes(16)).bytes, pa.uuid()),
        "day": (lambda chance: dt.date(1970, 1, 1) + dt.timedelta(chance.randint(-100_000, 200_000)), pa.date32()),
        "time_ms": (lambda chance: chance.randint(0, 86_399_999), pa.time32("ms")),
        "time_us": (lambda chance: chance.randint(0, 86_399_999_999), pa.time64("us")),
        "time_ns": (lambda chance: chance.randint(0, 86_399_999_999_999), pa.time64("ns")),
        **{f"ts_{unit}": (instant(unit), pa.timestamp(unit)) for unit in ("ms", "us", "ns")},
        **{f"utc_{unit}": (instant(unit), pa.timestamp(unit, "UTC")) for unit in ("ms", "us", "ns")},
        **{f"d{digits}": (number(digits), pa.decimal128(digits, 2)) for digits in (5, 15, 30)},
        "nested": (
            lambda chance: chance.choice([{"a": None, "b": "x"}, {"a": chance.randint(0, 9), "b": None}]),
            pa.struct({"a": pa.int64(), "b": pa.string()}),
        ),
        "listed": (
            lambda chance: [chance.choice([None, chance.randint(-9, 9)]) for _ in range(chance.randint(0, 3))],
            pa.list_(pa.int32()),
        ),
    }
    made = {name: column(make, kind, name) for name, (make, kind) in columns.items()}
    made |= {"f16": floats(pa.float16(), 1), "f32": floats(pa.float32(), 2), "f64": floats(pa.float64(), 3)}
    return pa.table(made)


def sample(*names):
    return every_column().select(names) if names else every_column()


ALL = every_column().column_names
NOT_IN_DUCKDB = {"f16"}
NOT_IN_POLARS = {"fixed", "uuid", "time_ms", "time_us", "f16"}
NOT_IN_SPARK = {"f16", "time_ms", "time_us", "time_ns", "ts_ns", "utc_ns", "u64", "uuid"}


def without(names):
    return sample(*(name for name in ALL if name not in names))


def by_pyarrow(path, **options):
    options = {"write_page_index": True, "row_group_size": GROUP, "max_rows_per_page": 40} | options
    pq.write_table(sample(), path, **options)


def by_pyarrow_in_other_encodings(path):
    by_pyarrow(
        path,
        use_dictionary=False,
        store_decimal_as_integer=True,
        data_page_version="2.0",
        version="1.0",
        coerce_timestamps="us",
        allow_truncated_timestamps=True,
    )


def by_pyarrow_as_int96(path):
    by_pyarrow(path, use_deprecated_int96_timestamps=True)


def by_duckdb(path):
    table = without(NOT_IN_DUCKDB)
    with duckdb.connect() as connection:
        connection.register("rows", table)
        # DuckDB cuts row groups at multiples of 2048 rows; several copies make several of them.
        connection.sql(f"copy (from rows, range(9)) to '{path}' (format parquet, row_group_size 2048)")


def by_polars(path):
    pl.from_arrow(without(NOT_IN_POLARS)).write_parquet(
        path, row_group_size=GROUP, data_page_size=400, statistics="full"
    )


def types_of(path):
    return {leaf.name: (leaf.type, leaf.order) for leaf in open_file(path).groups.columns}


FLOATS = {"f16", "f32", "f64"}


@pytest.mark.parametrize(
    "write", [by_pyarrow, by_pyarrow_in_other_encodings, by_pyarrow_as_int96, by_duckdb, by_polars]
)
def test_what_is_claimed_of_every_type_holds(write, tmp_path):
    path = tmp_path / "sample.parquet"
    write(path)
    claims = assert_file_holds(path)
    types = types_of(path)
    silent = {name for name, found in claims.items() if not {"lower", "upper"} <= found.keys()}
    without_order = {name for name, (_, order) in types.items() if order is SortOrder.UNDEFINED}
    assert silent <= without_order | FLOATS
    uncounted = {name for name, found in claims.items() if "null_count" not in found}
    assert uncounted <= without_order | {name for name in claims if name.startswith("listed")}
    if write is by_pyarrow:
        assert not silent
        assert claims["i64"]["page lower"] == (GROUPS - 1) * GROUP // 40


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, sample(name).schema.field(name).type) for name in ALL if name not in {"uuid", "nested", "listed"}]
    + [("uuid", pa.binary(16))],
)
def test_types_of_leaves_are_those_that_were_written(tmp_path_factory, name, kind):
    path = tmp_path_factory.mktemp("types") / "one.parquet"
    pq.write_table(sample(name), path)
    assert types_of(path)[name][0] == kind


@pytest.fixture(params=["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def written_by_spark(request, spark, tmp_path):
    rows = tmp_path / "rows.parquet"
    pq.write_table(without(NOT_IN_SPARK), rows)
    key = "spark.sql.parquet.outputTimestampType"
    spark.conf.set(key, request.param)
    try:
        options = {"parquet.block.row.count.limit": str(GROUP), "parquet.page.row.count.limit": "40"}
        spark.read.parquet(str(rows)).coalesce(1).write.options(**options).parquet(str(tmp_path / "spark"))
    finally:
        spark.conf.unset(key)
    return next((tmp_path / "spark").glob("part-*.parquet"))


@pytest.mark.spark
def test_what_is_claimed_of_every_type_of_spark_holds(written_by_spark):
    claims = assert_file_holds(written_by_spark)
    types = types_of(written_by_spark)
    silent = {name for name, found in claims.items() if not {"lower", "upper"} <= found.keys()}
    assert silent == {name for name, (_, order) in types.items() if order is SortOrder.UNDEFINED}
    assert claims["text"]["page upper"] > 0


@pytest.mark.deep
def test_every_claim_about_every_file_of_other_writers_holds(parquet_testing):
    total, files = Counter(), 0
    for path in sorted((parquet_testing / "data").glob("*.parquet")):
        files += 1
        for found in assert_file_holds(path).values():
            total.update(found)
    assert files > 50
    assert min(total[claim] for claim in ("lower", "upper", "null_count")) > 200
    assert min(total[claim] for claim in ("lower_exact", "upper_exact")) > 5
    assert total["page lower"] > 5_000


def test_no_damaged_file_makes_more_than_a_named_error(parquet_testing):
    judged, unnamed = 0, []
    for path in sorted((parquet_testing / "bad_data").glob("*.parquet")):
        try:
            index = open_file(path)
            for leaf in index.groups.columns:
                index.footers.bounds(leaf)
                judged += 1
        except PruneError as error:
            unnamed += [] if str(path) in str(error) else [str(error)]
    assert unnamed == []
    assert judged > 0


@pytest.fixture
def opened(parquet_testing):
    return lambda name: open_file(parquet_testing / name)


def rows_of(bounds):
    names = ("lower", "upper", "null_count", "nan_count")
    return [tuple(array[i].as_py() for array in (getattr(bounds, name) for name in names)) for i in range(len(bounds))]


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
def test_orders_of_floating_point(opened, kind):
    index = opened("data/floating_orders_nan_count.parquet")
    leaves = {leaf.name: leaf for leaf in index.groups.columns}
    total, defined = (leaves[f"{kind}_{order}"] for order in ("ieee754", "typedef"))
    same = [(-2, 5, 0, 0), None, (None, None, 0, 10), (0, 5, 0, 0), (-5, 0, 0, 0)]
    for leaf, mixed in ((total, (-2, 3, 0, 4)), (defined, (None, None, 0, 4))):
        bounds = index.footers.bounds(leaf)
        assert rows_of(bounds) == [*same[:1], mixed, *same[2:]]
        assert [str(bounds.lower[3].as_py()), str(bounds.upper[4].as_py())] == ["-0.0", "0.0"]
    assert page_bounds(index, total, 1) is not None
    assert page_bounds(index, defined, 1) is None


@pytest.mark.parametrize("kind", ["utf8", "binary"])
def test_cut_bounds_say_on_which_side(opened, kind):
    index = opened("data/binary_truncated_min_max.parquet")
    partial = b"\xf0\x9f\x9a\x80Kevin Bacon" if kind == "utf8" else b"\xff\xff\x01\x02"
    expected = {
        "full_truncation": (b"Al", b"Kf", False, False),
        "partial_truncation": (b"Al", partial, False, True),
        "no_truncation": (b"Al", b"Ke", True, True),
    }
    for name, found in expected.items():
        leaf = next(leaf for leaf in index.groups.columns if leaf.name == f"{kind}_{name}")
        bounds = index.footers.bounds(leaf)
        sides = (bounds.lower, bounds.upper, bounds.min_exact, bounds.max_exact)
        assert tuple(side[0].as_py() for side in sides) == found


@pytest.mark.parametrize(
    ("name", "leaf", "expected"),
    [
        ("data/nan_in_stats.parquet", "x", (None, None, 0, None)),
        ("data/single_nan.parquet", "mycol", (None, None, 1, None)),
        ("data/float16_nonzeros_and_nans.parquet", "x", (-2.0, 2.0, 1, None)),
        ("data/int96_from_spark.parquet", "a", (None, None, 1, 0)),
        ("data/repeated_primitive_no_list.parquet", "Int32_list", (0, 8, None, 0)),
        ("data/unknown-logical-type.parquet", "column with unknown type", (None, None, None, None)),
        ("data/data_index_bloom_encoding_with_length.parquet", "String", (None, None, None, 0)),
        ("data/byte_array_decimal.parquet", "value", (None, None, None, 0)),
        ("data/fixed_length_decimal.parquet", "value", (None, None, None, 0)),
        ("data/int32_decimal.parquet", "value", (None, None, None, 0)),
        ("bad_data/ARROW-GH-47662.parquet", "flba_field", (b"\0\0\0\1", b"\0\0\x03\xe8", 0, 0)),
    ],
)
def test_one_row_group_of_a_real_file(opened, name, leaf, expected):
    index = opened(name)
    bounds = index.footers.bounds(next(column for column in index.groups.columns if column.name == leaf))
    assert rows_of(bounds)[0] == expected


def test_encrypted_columns_are_unknown(opened):
    index = opened("data/encrypt_columns_plaintext_footer.parquet.encrypted")
    hidden = [leaf for leaf in index.groups.columns if chunk_at(index.footers.chunks(leaf), 0).encrypted]
    assert hidden
    for leaf in hidden:
        bounds = index.footers.bounds(leaf)
        assert bounds.lower.null_count == bounds.upper.null_count == len(bounds)
        assert leaf.max_definition_level == 0 or bounds.null_count.null_count == len(bounds)


def test_each_reason_is_given_for_a_file_that_has_it(opened):
    reasons = {
        "data/nan_in_stats.parquet": "parquet-cpp: a NaN hides smaller or larger values from the bounds (PARQUET-1225)",
        "data/int96_from_spark.parquet": "INT96 values do not sort like their timestamps",
        "data/byte_array_decimal.parquet": "a decimal stored as BYTE_ARRAY has no trusted bounds",
        "data/int32_decimal.parquet": "the writer did not say how its bounds compare",
    }
    for name, reason in reasons.items():
        index = opened(name)
        assert trust(index.groups.columns[0], index.groups.provenance(0)).reason == reason
