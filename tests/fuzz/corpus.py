"""Intact structures to damage: from small files of several writers, created when needed, and from real files."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from chunk_facts import chunk_at

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import PruneError
from parquet_core.format.column_chunk import ColumnChunks
from parquet_core.format.dictionary import dictionary_range

if TYPE_CHECKING:
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn

REAL_FILES = Path(__file__).parents[3] / "shared" / "data" / "parquet-testing" / "data"
MOST_BYTES = 20_000  # of a real file that is taken


class Indexes(NamedTuple):
    """Column index and offset index of a chunk, with the facts to judge them by."""

    column_index: bytes
    offset_index: bytes
    leaf: LeafColumn
    provenance: Provenance
    rows: int


class Dictionary(NamedTuple):
    """A dictionary page, with its column; `chunks` has its chunk alone."""

    page: bytes
    chunks: ColumnChunks
    leaf: LeafColumn


class Corpus(NamedTuple):
    """Seeds by target: encoded footers, indexes, filters, dictionaries, whole files."""

    footers: list[bytes]
    indexes: list[Indexes]
    filters: list[bytes]
    dictionaries: list[Dictionary]
    files: list[bytes]


def tables():
    """Return small tables that together have all types."""
    chance = random.Random(1)

    def column(make, kind):
        return pa.array([None if chance.random() < 0.2 else make() for _ in range(40)], kind)

    def day():
        return dt.date(1970, 1, 1) + dt.timedelta(chance.randint(-90_000, 90_000))

    numbers = {f"i{bits}": column(lambda: chance.randint(-99, 99), getattr(pa, f"int{bits}")()) for bits in (8, 32, 64)}
    yield numbers | {
        f"u{bits}": column(lambda: chance.randint(0, 99), getattr(pa, f"uint{bits}")()) for bits in (16, 64)
    }
    yield {
        "flag": column(lambda: chance.random() < 0.5, pa.bool_()),
        "f16": column(lambda: np.float16(chance.gauss(0, 1)), pa.float16()),
        "f32": column(lambda: chance.choice([0.0, -0.0, 1.5, float("nan")]), pa.float32()),
        "f64": column(lambda: chance.choice([0.0, -0.0, 1.5]), pa.float64()),
    }
    yield {
        "text": column(lambda: chance.choice(["", "é", "zebra", "x" * 80]), pa.string()),
        "blob": column(lambda: chance.randbytes(3), pa.binary()),
        "fixed": column(lambda: chance.randbytes(5), pa.binary(5)),
        "none": pa.nulls(40, pa.int32()),
    }
    yield {
        "d9": column(lambda: Decimal(chance.randint(-99, 99)).scaleb(-2), pa.decimal128(9, 2)),
        "d30": column(lambda: Decimal(chance.randint(-(10**20), 10**20)).scaleb(-2), pa.decimal128(30, 2)),
        "day": column(day, pa.date32()),
        "us": column(lambda: chance.randint(0, 10**15), pa.timestamp("us", "UTC")),
        "ns": column(lambda: chance.randint(0, 10**18), pa.timestamp("ns")),
        "time": column(lambda: chance.randint(0, 86_399_999), pa.time32("ms")),
    }
    yield {
        "struct": column(lambda: {"a": chance.randint(0, 9), "b": "x"}, pa.struct({"a": pa.int64(), "b": pa.string()})),
        "list": column(lambda: [1, None, 3][: chance.randint(0, 3)], pa.list_(pa.int32())),
        "map": column(lambda: {"k": 1}, pa.map_(pa.string(), pa.int32())),
    }


def write_files(directory):
    """Write each table with each writer that supports its types."""
    for i, columns in enumerate(tables()):
        table = pa.table(columns)
        flat = [name for name in columns if not pa.types.is_nested(columns[name].type) and name not in {"flag", "none"}]
        filters = {name: {"ndv": 20} for name in flat}
        paged = {"write_page_index": True, "max_rows_per_page": 7, "row_group_size": 20, "store_schema": False}
        pq.write_table(table, directory / f"a{i}.parquet", bloom_filter_options=filters, **paged)
        pq.write_table(table, directory / f"b{i}.parquet", compression="gzip", store_decimal_as_integer=True, **paged)
        pq.write_table(table, directory / f"c{i}.parquet", compression="none", store_schema=False)
        if "f16" not in columns:
            with duckdb.connect() as connection:
                connection.register("rows", table)
                connection.sql(f"copy rows to '{directory / f'd{i}.parquet'}' (format parquet)")
        if not {"f16", "fixed", "map"} & columns.keys():
            pl.from_arrow(table).write_parquet(directory / f"p{i}.parquet", row_group_size=20)


def make(directory):
    """Collect structures from written files in a directory, and from small real files if installed."""
    write_files(directory)
    corpus = Corpus([], [], [], [], [])
    real = [path for path in sorted(REAL_FILES.glob("*.parquet")) if path.stat().st_size <= MOST_BYTES]
    for path in [*sorted(directory.glob("*.parquet")), *real]:
        take(path, corpus)
    return corpus


def take(path, corpus):
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    if length > 4000:
        return
    corpus.footers.append(data[-8 - length : -8])
    try:
        index = read_dataset(path)
        for leaf in index.groups.columns:
            index.footers.bounds(leaf)
    except PruneError:
        return
    if len(data) < 10_000:
        corpus.files.append(data)
    for leaf in index.groups.columns:
        for position in range(min(len(index), 2)):
            take_chunk(data, index, position, leaf, corpus)


def take_chunk(data, index, position, leaf, corpus):
    chunk = chunk_at(index.footers.chunks(leaf), position)
    if chunk is None or chunk.encrypted:
        return
    places = (chunk.column_index, chunk.offset_index)
    if None not in places:
        encoded = [data[offset : offset + length] for offset, length in places]
        rows = int(index.groups.row_count[position])
        if max(map(len, encoded)) < 3000:
            corpus.indexes.append(Indexes(*encoded, leaf, index.groups.provenance(position), rows))
    if chunk.bloom_filter is not None:
        offset, length = chunk.bloom_filter
        corpus.filters.append(data[offset : offset + min(length or 1000, 4000)])
    chunks = index.footers.chunks(leaf).take(np.array([position]))
    place = dictionary_range(chunks, 0, None)
    if not isinstance(place, str):
        page = data[place[0] : place[0] + min(place[1], 2000)]
        corpus.dictionaries.append(Dictionary(page, chunks, leaf))
