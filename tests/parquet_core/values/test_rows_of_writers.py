"""Random tables of every installed writer: `read_arrow` returns the rows that pyarrow reads.

The expected rows are filtered in the test, with random predicates and columns.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import random
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr

DAY = dt.date(2024, 1, 1)
TYPES = {
    "id": pa.int64(),
    "small": pa.int32(),
    "half": pa.float64(),
    "text": pa.string(),
    "flag": pa.bool_(),
    "day": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
    "price": pa.decimal128(9, 2),
    "tags": pa.list_(pa.int32()),
    "spot": pa.struct({"lat": pa.float64(), "name": pa.string()}),
}
# Columns that predicates name, and a value for a column that has none.
COMPARED = {"id": 1, "small": 1, "half": 0.5, "text": "x", "day": DAY, "price": Decimal("0.50")}
OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def drawn(chance):
    """Return a table: sorted or not, with few or many values, nulls nowhere or in most rows."""
    rows, nulls = chance.choice([1, 50, 400, 1500]), chance.choice([0, 0.1, 0.9])
    start = chance.randint(-500, 500)
    ids = [start + i for i in range(rows)]
    if chance.random() < 0.5:
        chance.shuffle(ids)
    most = chance.choice([3, 10_000])
    reals = [0.25, -0.0, 0.0, math.nan, -math.inf, 1e300, *(chance.random() for _ in range(most))]

    def column(make):
        return [None if chance.random() < nulls else make() for _ in range(rows)]

    made = {
        "id": ids,
        "small": sorted(chance.randint(-most, most) for _ in range(rows)),
        "half": column(lambda: chance.choice(reals)),
        "text": column(lambda: chance.choice(["", "é", "z" * 70, f"n{chance.randint(0, most)}"])),
        "flag": column(lambda: chance.random() < 0.5),
        "day": column(lambda: DAY + dt.timedelta(days=chance.randint(0, most % 400))),
        "at": column(
            lambda: dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=chance.randint(0, 10**12))
        ),
        "price": column(lambda: Decimal(chance.randint(-most, most)) / 100),
        "tags": column(lambda: [chance.choice([None, 1, 2])] * chance.randint(0, 3)),
        "spot": column(lambda: {"lat": chance.choice([None, 0.5]), "name": chance.choice([None, "x"])}),
    }
    return pa.table({name: pa.array(made[name], kind) for name, kind in TYPES.items()})


def by_pyarrow(table, path, chance):
    pq.write_table(
        table,
        path,
        row_group_size=chance.choice([100, 1000]),
        max_rows_per_page=chance.choice([7, 100, 20_000]),
        write_page_index=chance.random() < 0.7,
        use_dictionary=chance.random() < 0.5,
        data_page_version=chance.choice(["1.0", "2.0"]),
        compression=chance.choice(["none", "snappy", "zstd", "gzip"]),
        write_page_checksum=chance.random() < 0.5,
        store_schema=chance.random() < 0.5,
        bloom_filter_options={"id": True, "text": True} if chance.random() < 0.5 else None,
    )


def by_duckdb(table, path, chance):
    codec, rows = chance.choice(["snappy", "zstd", "gzip"]), chance.choice([100, 2048, 100_000])
    with duckdb.connect() as connection:
        connection.register("rows", table)
        connection.sql(f"copy rows to '{path}' (format parquet, compression {codec}, row_group_size {rows})")


def by_polars(table, path, chance):
    pl.from_arrow(table).write_parquet(
        path,
        row_group_size=chance.choice([50, 1000]),
        data_page_size=chance.choice([100, 100_000]),
        statistics=chance.choice([True, False, "full"]),
        compression=chance.choice(["uncompressed", "snappy", "zstd", "lz4"]),
    )


def by_fastparquet(table, path, chance):
    fastparquet = pytest.importorskip("fastparquet", reason="fastparquet is not installed: pip install fastparquet")
    # Drops columns whose types pandas does not have.
    frame = table.drop_columns(["day", "at", "price", "tags", "spot"]).to_pandas(integer_object_nulls=True)
    frame = frame.astype({"flag": "boolean", "text": "string"})
    fastparquet.write(
        str(path),
        frame,
        row_group_offsets=chance.choice([100, 1000]),
        compression=chance.choice(["UNCOMPRESSED", "SNAPPY", "GZIP"]),
        stats=True,
        write_index=False,
    )


WRITERS = [by_pyarrow, by_duckdb, by_polars, by_fastparquet]


def ordered(value):
    """Return what Spark compares by: NaN is equal to itself, and greater than all."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def literal(value):
    match value:
        case float():
            return f"{value!r}D" if math.isfinite(value) else f"double('{value}')"
        case str():
            return f"'{value}'"
        case dt.date():
            return f"DATE '{value}'"
        case _:
            return str(value)


def condition(chance, names, rows, depth=2):
    """Return SQL and a function of a row that tells its outcome: true, false, or null."""
    if depth and chance.random() < 0.5:
        kind = chance.choice(["AND", "OR", "NOT"])
        left = condition(chance, names, rows, depth - 1)
        if kind == "NOT":
            return f"NOT ({left[0]})", lambda row: None if (found := left[1](row)) is None else not found
        right, decides = condition(chance, names, rows, depth - 1), kind == "OR"

        def joined(row):
            found = {left[1](row), right[1](row)}
            return decides if decides in found else None if None in found else not decides

        return f"({left[0]}) {kind} ({right[0]})", joined
    name = chance.choice([name for name in COMPARED if name in names])
    values = [row[name] for row in rows if row[name] is not None] or [COMPARED[name]]
    form = chance.choice(["compare", "compare", "in", "between", "null"])
    if form == "null":
        return f"{name} IS NULL", lambda row: row[name] is None
    some = [chance.choice(values) for _ in range(3)]
    if form == "compare":
        sign = chance.choice(list(OPERATORS))
        return f"{name} {sign} {literal(some[0])}", of_value(
            name, lambda value: OPERATORS[sign](ordered(value), ordered(some[0]))
        )
    if form == "in":
        wanted = {ordered(value) for value in some}
        return f"{name} IN ({', '.join(map(literal, some))})", of_value(name, lambda value: ordered(value) in wanted)
    low, high = sorted(some[:2], key=ordered)
    return f"{name} BETWEEN {literal(low)} AND {literal(high)}", of_value(
        name, lambda value: ordered(low) <= ordered(value) <= ordered(high)
    )


def of_value(name, tell):
    return lambda row: None if row[name] is None else tell(row[name])


def plain(rows):
    """Return rows in which NaN is equal to itself."""
    return [{name: "NaN" if value != value else value for name, value in row.items()} for row in rows]  # noqa: PLR0124 - NaN


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("write", WRITERS)
def test_rows_order_and_types_are_those_of_all_rows_filtered(write, seed, tmp_path):
    chance = random.Random(f"{write.__name__} {seed}")
    (tmp_path / "t").mkdir()
    paths = [tmp_path / "t" / f"{i}.parquet" for i in range(chance.randint(1, 3))]
    for path in paths:
        write(drawn(chance), path, chance)
    every = [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
    names = list(every[0])
    read = pr.read_arrow(tmp_path / "t")
    assert plain(read.to_pylist()) == plain(every)
    assert {field.name: field.type for field in read.schema} == {name: TYPES[name] for name in names}
    selective = 0
    for _ in range(12):
        where, holds = condition(chance, names, every)
        columns = chance.sample(names, chance.randint(1, len(names)))
        wanted = [{name: row[name] for name in columns} for row in every if holds(row)]
        found = pr.read_arrow(tmp_path / "t", where=where, columns=columns)
        assert found.column_names == columns
        assert plain(found.to_pylist()) == plain(wanted), where
        assert pr.count(tmp_path / "t", where=where) == len(wanted), where
        first = pr.read_arrow(tmp_path / "t", where=where, columns=columns, limit=5)
        assert plain(first.to_pylist()) == plain(wanted[:5]), where
        selective += 0 < len(wanted) < len(every)
    assert selective > 0 or len(every) < 10
