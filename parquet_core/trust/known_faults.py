"""Known faults of writers, one entry per fault.

An entry makes some facts untrusted for one writer, version range and type. Everything else in the file stays trusted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from parquet_core.format.column_chunk import ChunkTraits
from parquet_core.trust.writer import PARQUET_JAVA, parse_writer
from parquet_core.trust.writer_fault import Columns, Fact, KnownFault, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn

# parquet-cpp kept the version 1.5.1-SNAPSHOT after it became part of Arrow, so every pyarrow from 0.9 to 3.0 writes it.
_PARQUET_CPP, _ARROW_CPP = "parquet-cpp", "parquet-cpp-arrow"
_ARROW2, _ARROW_RS, _ARROW_GO = "Arrow2 - Native Rust implementation of Arrow", "parquet-rs", "parquet-go"
_POLARS, _POLARS_PYTHON = "Polars", "Polars (python)"
_HYPARQUET, _CLICKHOUSE, _PARQUET_NET = "hyparquet", "ClickHouse", "Parquet.Net"
_DUCKDB, _PARQUETJS, _PARQUET_GO = "DuckDB", "@dsnp/parquetjs", "github.com/parquet-go/parquet-go"
_SEGMENTIO = "github.com/segmentio/parquet-go"

KNOWN_FAULTS = (
    KnownFault(
        code="PARQUET-251",
        application=PARQUET_JAVA,
        columns=Columns.BYTE_ARRAYS,
        wrong=Fact.DEPRECATED_BOUNDS,
        what="the bounds refer to a buffer that was filled again with other values",
        source="https://issues.apache.org/jira/browse/PARQUET-251",
        proof="parquet-java's own rule (CorruptStatistics)",
        fixed=(1, 8, 0),
        or_unknown=True,
        backports=re.compile(r"1\.5\.0-cdh5\.(?:[5-9]|\d{2,})\."),
        is_avoided_by_spark=True,
    ),
    KnownFault(
        code="starrocks#78329",
        application=PARQUET_JAVA,
        columns=Columns.ALL,
        wrong=Fact.NULL_COUNT,
        what="the null count may be too small",
        source="https://github.com/StarRocks/starrocks/pull/78329",
        proof="report",
        fixed=(1, 10, 0),
    ),
    KnownFault(
        code="PARQUET-1225",
        application=_PARQUET_CPP,
        columns=Columns.FLOATS,
        wrong=Fact.BOUNDS,
        what="a NaN hides smaller or larger values from the bounds",
        source="https://issues.apache.org/jira/browse/PARQUET-1225",
        proof="file of parquet-cpp 1.3",
        fixed=(1, 4, 0),
    ),
    KnownFault(
        code="PARQUET-1655",
        application=_PARQUET_CPP,
        columns=Columns.FIXED_DECIMALS,
        wrong=Fact.BOUNDS,
        what="decimals are compared as signed bytes",
        source="https://issues.apache.org/jira/browse/PARQUET-1655",
        proof="files of pyarrow 0.14 to 3.0",
    ),
    KnownFault(
        code="ARROW-12513",
        application=_PARQUET_CPP,
        columns=Columns.DICTIONARIES,
        wrong=Fact.NULL_COUNT,
        what="the null count of an Arrow dictionary column is 0",
        source="https://issues.apache.org/jira/browse/ARROW-12513",
        proof="files of pyarrow 0.14 to 3.0",
        only_in=ChunkTraits.DICTIONARY,
    ),
    KnownFault(
        code="ARROW-1644",
        application=_PARQUET_CPP,
        columns=Columns.STRUCT_FIELDS,
        wrong=Fact.NULL_COUNT,
        what="a null struct does not count as a null of its fields",
        source="https://issues.apache.org/jira/browse/ARROW-1644",
        proof="files of pyarrow 0.17",
    ),
    KnownFault(
        code="ARROW-12513",
        application=_ARROW_CPP,
        columns=Columns.DICTIONARIES,
        wrong=Fact.NULL_COUNT,
        what="the null count of an Arrow dictionary column is 0",
        source="https://issues.apache.org/jira/browse/ARROW-12513",
        proof="files of pyarrow 4.0 and 5.0",
        fixed=(6, 0, 0),
        only_in=ChunkTraits.DICTIONARY,
    ),
    KnownFault(
        code="arrow#15042",
        application=_ARROW_CPP,
        columns=Columns.DICTIONARIES,
        wrong=Fact.BOUNDS | Fact.NULL_COUNT,
        what="min/max and null count cover only the first of several chunks that share a dictionary",
        source="https://github.com/apache/arrow/issues/15042",
        proof="files of pyarrow 6.0 to 10.0",
        first=(6, 0, 0),
        fixed=(11, 0, 0),
        only_in=ChunkTraits.DICTIONARY,
    ),
    KnownFault(
        code="polars#29347",
        application=_POLARS,
        columns=Columns.FIXED_DECIMALS,
        wrong=Fact.BOUNDS,
        what="the bounds of pages are merged as unsigned numbers",
        source="https://github.com/pola-rs/polars/issues/29347",
        proof="files of polars 1.36 to 1.44",
        unversioned_only=True,
        only_in=ChunkTraits.SEVERAL_PAGES,
    ),
    KnownFault(
        code="polars#29321",
        application=_POLARS,
        columns=Columns.ALL,
        wrong=Fact.NULL_COUNT | Fact.PAGE_NULLS,
        what="the null count is multiplied by the number of pages",
        source="https://github.com/pola-rs/polars/issues/29321",
        proof="files of polars 1.38 to 1.44",
        unversioned_only=True,
        zeros_are_right=True,
        only_in=ChunkTraits.DICTIONARY | ChunkTraits.SEVERAL_PAGES,
    ),
    KnownFault(
        code="polars#25886",
        application=_POLARS,
        columns=Columns.STRINGS,
        wrong=Fact.LOWER_BOUND | Fact.EXACTNESS,
        what="if one page bound is a prefix of another, the chunk may have the wrong one",
        source="https://github.com/pola-rs/polars/issues/25886",
        proof="files of polars 1.36",
        unversioned_only=True,
        prefix_from=0,
        only_in=ChunkTraits.SEVERAL_PAGES,
    ),
    KnownFault(
        code="polars#15323",
        application=_POLARS,
        columns=Columns.UNSIGNED,
        wrong=Fact.BOUNDS,
        what="the bounds of pages are merged as signed integers",
        source="https://github.com/pola-rs/polars/issues/15323",
        proof="files of polars 1.36 to 1.44",
        unversioned_only=True,
        only_in=ChunkTraits.SEVERAL_PAGES,
    ),
    KnownFault(
        code="polars#15323",
        application=_POLARS_PYTHON,
        columns=Columns.UNSIGNED,
        wrong=Fact.BOUNDS,
        what="the bounds of pages are merged as signed integers",
        source="https://github.com/pola-rs/polars/issues/15323",
        proof="files of polars 2.0",
        fixed=(2, 1, 0),
        only_in=ChunkTraits.SEVERAL_PAGES,
    ),
    KnownFault(
        code="polars#16766",
        application=_POLARS,
        columns=Columns.UNSIGNED,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="unsigned integers are compared as signed integers",
        source="https://github.com/pola-rs/polars/issues/16766",
        proof="change that mended it (polars 1.0)",
        unversioned_only=True,
        unless=Mark.SHARED_VTABLES,
    ),
    KnownFault(
        code="polars#16683",
        application=_POLARS,
        columns=Columns.FLOATS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="a NaN resets the bounds, which then cover only later values",
        source="https://github.com/pola-rs/polars/issues/16683",
        proof="files of polars 0.20",
        unversioned_only=True,
        unless=Mark.SHARED_VTABLES,
    ),
    KnownFault(
        code="polars#16683",
        application=_POLARS,
        columns=Columns.FLOATS,
        wrong=Fact.BOUNDS,
        what="a page with a NaN hides the bounds of other pages",
        source="https://github.com/pola-rs/polars/issues/16683",
        proof="files of polars 1.0 to 1.44",
        unversioned_only=True,
        only_in=ChunkTraits.SEVERAL_PAGES,
    ),
    KnownFault(
        code="polars#16683",
        application=_POLARS_PYTHON,
        columns=Columns.FLOATS,
        wrong=Fact.BOUNDS,
        what="a page with a NaN hides the bounds of other pages",
        source="https://github.com/pola-rs/polars/issues/16683",
        proof="files of polars 2.0",
        fixed=(2, 1, 0),
        only_in=ChunkTraits.SEVERAL_PAGES,
    ),
    KnownFault(
        code="arrow2 dictionaries",
        application=_ARROW2,
        columns=Columns.DICTIONARIES,
        wrong=Fact.NULL_COUNT | Fact.PAGE_NULLS,
        what="the null count of an Arrow dictionary column is 0",
        source="https://github.com/jorgecarleitao/arrow2",
        proof="files of polars 0.13 to 0.18",
    ),
    KnownFault(
        code="DuckDB before 0.10",
        application=_DUCKDB,
        columns=Columns.ALL,
        wrong=Fact.NULL_COUNT,
        what="the null count includes the nulls of earlier row groups",
        source="https://github.com/duckdb/duckdb/releases/tag/v0.10.0",
        proof="files of DuckDB 0.3 to 0.9",
        unversioned_only=True,
        zeros_are_right=True,
    ),
    KnownFault(
        code="hyparquet-writer#31",
        application=_HYPARQUET,
        columns=Columns.BYTES,
        wrong=Fact.EXACTNESS | Fact.PAGE_EXACTNESS,
        what="a maximum of 16 bytes or more may be a prefix that was not rounded up",
        source="https://github.com/hyparam/hyparquet-writer/issues/31",
        proof="patched footer",
        prefix_from=16,
    ),
    KnownFault(
        code="hyparquet-writer#31",
        application=_HYPARQUET,
        columns=Columns.UUIDS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="the bounds of UUIDs are the first characters of their text",
        source="https://github.com/hyparam/hyparquet-writer/issues/31",
        proof="change that mended it (0.15.7)",
    ),
    KnownFault(
        code="hyparquet-writer#43",
        application=_HYPARQUET,
        columns=Columns.INT32_DECIMALS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="the bounds of decimals are written as floating-point numbers",
        source="https://github.com/hyparam/hyparquet-writer/pull/43",
        proof="patched footer",
    ),
    KnownFault(
        code="ClickHouse#83754",
        application=_CLICKHOUSE,
        columns=Columns.DECIMALS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="decimals are compared as unsigned numbers",
        source="https://github.com/ClickHouse/ClickHouse/pull/83754",
        proof="files of ClickHouse 24.8",
        fixed=(25, 8, 0),
    ),
    KnownFault(
        code="ClickHouse#103039",
        application=_CLICKHOUSE,
        columns=Columns.STRINGS,
        wrong=Fact.PAGE_EXACTNESS,
        what="a bound of more than 4096 bytes is replaced by an empty one",
        source="https://github.com/ClickHouse/ClickHouse/issues/103039",
        proof="report",
        fixed=(26, 5, 0),
        prefix_from=0,
    ),
    KnownFault(
        code="parquet-dotnet#758",
        application=_PARQUET_NET,
        columns=Columns.UUIDS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="the bounds of UUIDs have the byte order of .NET",
        source="https://github.com/aloneguid/parquet-dotnet/issues/758",
        proof="report",
    ),
    KnownFault(
        code="parquet-dotnet#769",
        application=_PARQUET_NET,
        columns=Columns.TIMESTAMPS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="the bounds of timestamps are in another unit than the values",
        source="https://github.com/aloneguid/parquet-dotnet/issues/769",
        proof="report",
    ),
    KnownFault(
        code="parquet-dotnet#148",
        application=_PARQUET_NET,
        columns=Columns.STRINGS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="strings are compared by culture or by UTF-16",
        source="https://github.com/aloneguid/parquet-dotnet/issues/148",
        proof="source of Parquet.Net 5 and 6",
    ),
    KnownFault(
        code="parquetjs#137",
        application=_PARQUETJS,
        columns=Columns.BYTE_ARRAYS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="bytes are compared as text, decimals as unsigned numbers",
        source="https://github.com/LibertyDSNP/parquetjs/issues/137",
        proof="source of parquetjs 1.8",
    ),
    KnownFault(
        code="parquet-go#595",
        application=_PARQUET_GO,
        columns=Columns.FIXED_DECIMALS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="decimals are compared as unsigned numbers",
        source="https://github.com/parquet-go/parquet-go/pull/595",
        proof="change that mended it",
        fixed=(0, 33, 0),
    ),
    KnownFault(
        code="parquet-go#496",
        application=_PARQUET_GO,
        columns=Columns.BYTES,
        wrong=Fact.PAGE_EXACTNESS,
        what="a maximum of 16 bytes or more may be a prefix that was not rounded up",
        source="https://github.com/segmentio/parquet-go/pull/496",
        proof="change that mended it",
        prefix_from=16,
    ),
    KnownFault(
        code="parquet-go#595",
        application=_SEGMENTIO,
        columns=Columns.FIXED_DECIMALS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="decimals are compared as unsigned numbers",
        source="https://github.com/parquet-go/parquet-go/pull/595",
        proof="change that mended it",
    ),
    KnownFault(
        code="parquet-go#496",
        application=_SEGMENTIO,
        columns=Columns.BYTES,
        wrong=Fact.PAGE_EXACTNESS,
        what="a maximum of 16 bytes or more may be a prefix that was not rounded up",
        source="https://github.com/segmentio/parquet-go/pull/496",
        proof="change that mended it",
        prefix_from=16,
    ),
    KnownFault(
        code="arrow-rs#1532",
        application=_ARROW_RS,
        columns=Columns.FIXED_DECIMALS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="decimals are compared as unsigned numbers",
        source="https://github.com/apache/arrow-rs/issues/1532",
        proof="change that mended it",
        fixed=(13, 0, 0),
    ),
    KnownFault(
        code="arrow-rs#1532",
        application=_ARROW_RS,
        columns=Columns.UNSIGNED,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="unsigned integers are compared as signed integers",
        source="https://github.com/apache/arrow-rs/issues/1532",
        proof="change that mended it",
        fixed=(13, 0, 0),
    ),
    KnownFault(
        code="arrow-rs#641",
        application=_ARROW_RS,
        columns=Columns.BYTES,
        wrong=Fact.BOUNDS,
        what="strings are compared by their length first",
        source="https://github.com/apache/arrow-rs/issues/641",
        proof="change that mended it",
        fixed=(6, 0, 0),
    ),
    KnownFault(
        code="arrow-rs#306",
        application=_ARROW_RS,
        columns=Columns.ALL,
        wrong=Fact.NULL_COUNT,
        what="the null count of a column of nulls is 0",
        source="https://github.com/apache/arrow-rs/issues/306",
        proof="change that mended it",
        fixed=(5, 0, 0),
    ),
    KnownFault(
        code="arrow-go#210",
        application=_ARROW_GO,
        columns=Columns.UNSIGNED,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="the minimum starts at a wrong default",
        source="https://github.com/apache/arrow-go/issues/210",
        proof="change that mended it",
        fixed=(18, 1, 0),
    ),
    KnownFault(
        code="arrow-go#917",
        application=_ARROW_GO,
        columns=Columns.BYTES,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="the bounds refer to a buffer that was released",
        source="https://github.com/apache/arrow-go/issues/917",
        proof="change that mended it",
        fixed=(18, 7, 0),
    ),
    KnownFault(
        code="arrow-go#525",
        application=_ARROW_GO,
        columns=Columns.ALL,
        wrong=Fact.BLOOM_FILTER,
        what="an adaptive bloom filter is written after its memory was released",
        source="https://github.com/apache/arrow-go/issues/525",
        proof="report",
        first=(18, 3, 0),
        fixed=(18, 5, 0),
    ),
    KnownFault(
        code="xitongsys/parquet-go nulls",
        application=_ARROW_GO,
        columns=Columns.ALL,
        wrong=Fact.NULL_COUNT,
        what="the first value of each page is left out of the null count",
        source="https://github.com/xitongsys/parquet-go/blob/v1.6.2/layout/page.go",
        proof="files of xitongsys/parquet-go 1.6.2",
        unversioned_only=True,
    ),
)


@lru_cache(maxsize=256)
def faults_of(created_by: str) -> tuple[KnownFault, ...]:
    """Return the known faults of a writer; empty for most writers."""
    writer = parse_writer(created_by)
    return tuple(fault for fault in KNOWN_FAULTS if fault.is_of(writer))


def faults_in(leaf: LeafColumn, provenance: Provenance) -> Iterator[KnownFault]:
    """Yield the known faults that may affect a leaf in files of a kind (schema and writer)."""
    return (
        fault
        for fault in faults_of(provenance.created_by)
        if fault.columns.contains(leaf, provenance) and not (fault.unless and fault.unless.is_on(provenance))
    )


def reason_of_faults(faults: Iterable[KnownFault]) -> str:
    """Return why facts that known faults affect are not trusted; "" if there are no faults."""
    return "; ".join(f"{fault.application}: {fault.what} ({fault.code})" for fault in faults)
