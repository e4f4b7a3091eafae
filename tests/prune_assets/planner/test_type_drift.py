"""Files of one table that store a column in different types, compared with Spark's own answers."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prune_assets.planner.explain.plan import plan
from prune_assets.reading.reader import read
from tests.numbered_cases.cases import check

pytestmark = [pytest.mark.spark, pytest.mark.deep]

NUMBERS = {kind: getattr(pa, kind)() for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}
NUMBERS |= {"float32": pa.float32(), "float64": pa.float64()}
DECIMALS = {
    "decimal(4,2)": (pa.decimal128(4, 2), True),
    "decimal(4,2) as bytes": (pa.decimal128(4, 2), False),
    "decimal(15,2)": (pa.decimal128(15, 2), True),
    "decimal(15,4)": (pa.decimal128(15, 4), True),
    "decimal(20,4)": (pa.decimal128(20, 4), False),
    "int32": (pa.int32(), False),
}


def write(directory, *columns, as_integer=True):
    """Write files of eight pages in four row groups, one a column; `k` tells them apart."""
    directory.mkdir(exist_ok=True)
    for i, column in enumerate(columns):
        pq.write_table(
            pa.table({"a": column, "k": pa.array([i] * len(column), pa.int64())}),
            directory / f"{i}.parquet",
            row_group_size=4,
            max_rows_per_page=2,
            write_page_index=True,
            write_batch_size=1,
            use_dictionary=["a"] if i % 2 else False,
            bloom_filter_options={"a": {"ndv": 8}},
            store_decimal_as_integer=as_integer if isinstance(as_integer, bool) else as_integer[i],
        )
    return directory


def numbers_of(kind):
    low = -3 if "u" not in str(kind) else 0
    found = [low, 1, 2, 5, 7, 9, 11, None, 40, 41, 60, None, 100, 102, 120, 125]
    return pa.array(found, kind)


WHERE = ("a = 7", "a <> 7", "a < 2", "a > 101", "a BETWEEN 8 AND 50", "a IN (3, 10, 101)", "a IS NULL", "NOT a >= 100")
# Types that Spark reads as each type; some reads truncate values.
SMALL = ("int8", "int16", "int32", "uint8", "uint16")
READ = {
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), SMALL),
    **dict.fromkeys(("int64", "uint32"), (*SMALL, "int64", "uint32")),
    "float64": (*SMALL, "uint32", "float32"),
}
READ_DECIMALS = {
    "decimal(4,2)": ("decimal(4,2) as bytes",),
    "decimal(4,2) as bytes": ("decimal(4,2)",),
    "decimal(15,2)": ("decimal(4,2)", "decimal(4,2) as bytes", "int32"),
    "decimal(15,4)": ("decimal(4,2)", "decimal(4,2) as bytes", "int32"),
    "decimal(20,4)": ("decimal(4,2)", "decimal(15,2)", "decimal(15,4)", "decimal(4,2) as bytes", "int32"),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("table", READ)
def test_numbers_of_another_width(spark, tmp_path, table):
    files = [numbers_of(NUMBERS[file]) for file in READ[table] if file != table]
    directory = write(tmp_path / "t", numbers_of(NUMBERS[table]), *files, *files)
    for where in WHERE:
        check(spark, directory, where)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("table", READ_DECIMALS)
def test_decimals_of_another_form(spark, tmp_path, table):
    whole = [None if value is None or value > 99 else value for value in numbers_of(pa.int32()).to_pylist()]
    exact = [None if value is None else Decimal(value) for value in whole]
    kinds, as_integer = zip(*(DECIMALS[name] for name in (table, *READ_DECIMALS[table] * 2)), strict=True)
    columns = [pa.array(whole if kind == pa.int32() else exact, kind) for kind in kinds]
    directory = write(tmp_path / "t", *columns, as_integer=as_integer)
    for where in ("a = 7", "a = 7.01", "a = 8", "a < 2", "a BETWEEN 7.5 AND 50", "a IS NULL"):
        check(spark, directory, where)
    assert plan(directory, where="a = 8.00").report.kept.rows == 0


@pytest.mark.parametrize("where", ["a = 0.0", "a = 0.1", "a = 'NaN'", "a > 5", "a <= 5", "a IN (1.5, 0.1)", "a < -0.0"])
def test_floats_under_doubles(spark, tmp_path, where):
    odd = [-0.0, 0.0, 1.5, 2.5, float("nan"), 1.0, 3.0, None, -0.0, -0.0, -0.0, -0.0, 0.1, 0.1, 0.1, 0.1]
    check(spark, write(tmp_path / "t", pa.array(odd, pa.float64()), pa.array(odd, pa.float32())), where)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("where", ["a = 7", "a = 8", "a IS NULL", "a > 100", "a IN (3, 10, 41)"])
@pytest.mark.parametrize("narrow", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_narrow_integers_lose_nothing_under_wide_ones(tmp_path, narrow, where):
    drifted = write(tmp_path / "t", numbers_of(pa.int64()), numbers_of(NUMBERS[narrow]))
    alike = write(tmp_path / "alike", numbers_of(pa.int64()), numbers_of(NUMBERS[narrow]).cast(pa.int64()))
    assert plan(drifted, where=where).report.kept.rows == plan(alike, where=where).report.kept.rows


def test_the_row_reader_reads_the_same(spark, tmp_path):
    directories = [
        write(tmp_path / "wide", numbers_of(pa.int64()), numbers_of(pa.int16())),
        write(tmp_path / "double", numbers_of(pa.float64()), numbers_of(pa.int32()), numbers_of(pa.float32())),
    ]
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    try:
        for directory in directories:
            for where in ("a = 7", "a > 101", "a IS NULL"):
                check(spark, directory, where)
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")


def test_text_and_bytes(spark, tmp_path):
    texts = ["a", "b", "c", "d", "\u00e9", None, "x", "z"]
    encoded = [text if text is None else text.encode() for text in texts]
    check(spark, write(tmp_path / "t", pa.array(texts), pa.array(encoded)), "a = 'b'")
    check(spark, write(tmp_path / "u", pa.array(encoded), pa.array(texts)), "a > X'78'")


def read_with_warnings(spark, directory, where):
    made = plan(directory, where=where)
    options = {warning.option for warning in made.warnings}
    return sorted(row.k for row in read(directory, where=where, session=spark).collect()), options


EVERY_FILTER = {f"parquet.filter.{name}.enabled" for name in ("stats", "dictionary", "bloom", "columnindex")}


@pytest.mark.parametrize("where", ["a = 44", "a IN (44, 45)", "a BETWEEN 44 AND 50", "a < 100 AND a > 2"])
def test_what_spark_cuts_off_is_read(spark, tmp_path, where):
    # Spark reads 300 as 44, and compares 44 with the bounds of the file.
    directory = write(tmp_path / "t", pa.array([1, 2], pa.int8()), pa.array([300, 301], pa.int16()))
    assert plan(directory, where=where).report.kept.rows == 2
    assert read_with_warnings(spark, directory, where) == ([1, 1] if "= " not in where else [1], EVERY_FILTER)


@pytest.mark.parametrize("where", ["a < 30000000", "a <= 42949672.97", "a <> 42949673.96", "a IN (42949675.96, 7)"])
def test_what_a_short_decimal_file_is_asked_is_read(spark, tmp_path, where):
    columns = pa.array([Decimal(7)], pa.decimal128(15, 2)), pa.array([Decimal(7)] * 3, pa.decimal128(4, 2))
    directory = write(tmp_path / "t", *columns)
    assert read_with_warnings(spark, directory, where) == ([0, 1, 1, 1], EVERY_FILTER)
    assert plan(directory, where="a < 20").warnings == ()


def test_what_is_asked_of_one_width_warns_of_nothing(tmp_path):
    directory = write(tmp_path / "t", pa.array([1, 2], pa.int16()), pa.array([1, 2], pa.int8()))
    assert plan(directory, where="a = 1").warnings == ()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "where",
    [
        *("d > 99.99 AND d <> 50", "d >= 99.99 AND d <> 99.99", "d > 99.99", "d IN (1.5, 2) AND d > 1", "d = 123.45"),
        *(
            "d > 100",
            "NOT d < 100",
            "d <> 123.45",
            "d IN (1.5, 123.45)",
            "d NOT IN (3, 123.45)",
            "d <=> 123.45",
            "d < 120",
        ),
        *("d = 123.45 AND d <= 130", "d = 123.45 AND (d <= 130 OR d % 2 = 5)", "d > 100 AND d BETWEEN 5 AND 130"),
    ],
)
@pytest.mark.parametrize("dictionary", [True, False])
def test_longer_decimals_than_are_declared_are_kept(spark, tmp_path, where, dictionary):
    words = b"".join(number.to_bytes(16, "little") for number in (12345, 150))
    options = {"store_decimal_as_integer": True, "use_dictionary": dictionary}
    longer = pa.Array.from_buffers(pa.decimal128(4, 2), 2, [None, pa.py_buffer(words)])
    pq.write_table(pa.table({"d": longer}), tmp_path / "t.parquet", **options)
    check(spark, tmp_path / "t.parquet", where)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "where", ["u = 300", "u > 255", "NOT u < 256", "u IN (5, 300)", "u NOT IN (7, 300)", "u + 1 = 301"]
)
@pytest.mark.parametrize("dictionary", [True, False])
def test_larger_bytes_than_are_declared_are_kept(spark, tmp_path, where, dictionary):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"u": pa.array([300, 5], pa.int16())}), path, use_dictionary=dictionary, store_schema=False)
    _declare_byte_without_sign(path)
    assert spark.read.parquet(str(path)).dtypes == [("u", "smallint")]
    check(spark, path, where)


def _declare_byte_without_sign(path):
    """Let a file of shorts say that it holds bytes without a sign, in both of its annotations."""
    data = path.read_bytes()
    # ConvertedType INT_16 to UINT_8, and IntType(16, signed) to IntType(8, unsigned), encoded in the compact protocol.
    for before, after in ((b"\x25\x20", b"\x25\x16"), (b"\xac\x13\x10\x11", b"\xac\x13\x08\x12")):
        assert data.count(before) == 1, before
        data = data.replace(before, after)
    path.write_bytes(data)


@pytest.mark.parametrize("first", ["INT96", "INT64"])
@pytest.mark.parametrize(
    ("where", "kept"),
    [
        *(("t = TIMESTAMP '2024-01-07'", (0, 2)), ("t > TIMESTAMP '2024-01-08'", (0, 0)), ("month(t) = 1", (4, 4))),
        *(("t IS NULL", (2, 2)), ("t IN (TIMESTAMP '1999-01-01', TIMESTAMP '2024-01-05')", (0, 2))),
    ],
)
def test_int96_beside_what_takes_its_place(spark, tmp_path, first, where, kept):
    """Arrow writes nothing of INT96, so all of that file is kept; of the other as if there were no such file."""
    days = [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in range(1, 9)]
    for number in range(2):
        part = pa.table({"t": pa.array([*days[4 * number :][:4], None, None], pa.timestamp("us", "UTC"))})
        is_int96 = (first == "INT96") == (number == 0)
        path = tmp_path / f"{number}.parquet"
        pq.write_table(part, path, row_group_size=2, use_deprecated_int96_timestamps=is_int96)
    rows = len(days) // 2 + 2
    assert check(spark, tmp_path, where)[1] == rows + kept[1 if first == "INT96" else 0]
