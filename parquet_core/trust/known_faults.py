"""Known faults of writers: which metadata of which releases is wrong, one entry a fault.

An entry removes single facts, for one writer, range of versions and type. Everything else in the file stays trusted.
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

# parquet-cpp was part of Arrow before it had a version of its own: pyarrow 0.9 to 3.0 all name 1.5.1-SNAPSHOT.
_PARQUET_CPP, _ARROW_CPP = "parquet-cpp", "parquet-cpp-arrow"
_POLARS, _HYPARQUET = "Polars", "hyparquet"

KNOWN_FAULTS = (
    KnownFault(
        code="PARQUET-251",
        application=PARQUET_JAVA,
        columns=Columns.BYTE_ARRAYS,
        wrong=Fact.DEPRECATED_BOUNDS,
        what="the bounds refer to a buffer that was filled again with other values",
        source="https://issues.apache.org/jira/browse/PARQUET-251",
        proof="read from CorruptStatistics of parquet-java",
        fixed=(1, 8, 0),
        or_unknown=True,
        is_avoided_by_spark=True,
        backports=re.compile(r"1\.5\.0-cdh5\.(?:[5-9]|\d{2,})\."),
    ),
    KnownFault(
        code="PARQUET-1225",
        application=_PARQUET_CPP,
        columns=Columns.FLOATS,
        wrong=Fact.BOUNDS,
        what="a NaN hides smaller or larger values from the bounds",
        source="https://issues.apache.org/jira/browse/PARQUET-1225",
        proof="patched footer",
        fixed=(1, 4, 0),
    ),
    KnownFault(
        code="PARQUET-1655",
        application=_PARQUET_CPP,
        columns=Columns.FIXED_DECIMALS,
        wrong=Fact.BOUNDS,
        what="decimals are compared as signed bytes",
        source="https://issues.apache.org/jira/browse/PARQUET-1655",
        proof="files of pyarrow 0.14 and 3.0",
    ),
    KnownFault(
        code="ARROW-12513",
        application=_PARQUET_CPP,
        columns=Columns.DICTIONARIES,
        wrong=Fact.NULL_COUNT,
        what="the null count of an Arrow dictionary column is 0",
        source="https://issues.apache.org/jira/browse/ARROW-12513",
        proof="files of pyarrow 0.14 and 3.0",
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
        code="arrow#34106",
        application=_ARROW_CPP,
        columns=Columns.DICTIONARIES,
        wrong=Fact.BOUNDS | Fact.NULL_COUNT,
        what="min/max and null count are those of the first of several chunks that share a dictionary",
        source="https://github.com/apache/arrow/issues/34106",
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
        proof="files of polars 1.38.1",
        unversioned_only=True,
    ),
    KnownFault(
        code="polars#25886",
        application=_POLARS,
        columns=Columns.STRINGS,
        wrong=Fact.LOWER_BOUND | Fact.EXACTNESS,
        what="of two page bounds that start alike, the bounds of the chunk have the first, not the shorter or longer",
        source="https://github.com/pola-rs/polars/issues/25886",
        proof="files of polars 1.30",
        unversioned_only=True,
        prefix_from=0,
        only_in=ChunkTraits.SEVERAL_PAGES,
    ),
    KnownFault(
        code="polars#16766",
        application=_POLARS,
        columns=Columns.UNSIGNED,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="unsigned integers are compared as signed integers",
        source="https://github.com/pola-rs/polars/issues/16766",
        proof="files of polars 0.20",
        unversioned_only=True,
        unless=Mark.SHARED_VTABLES,
    ),
    KnownFault(
        code="polars NaN before 1.0",
        application=_POLARS,
        columns=Columns.FLOATS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="a NaN resets the bounds to those of the values after it",
        source="https://github.com/pola-rs/polars/releases/tag/py-1.0.0",
        proof="files of polars 0.20",
        unversioned_only=True,
        unless=Mark.SHARED_VTABLES,
    ),
    KnownFault(
        code="arrow2 categoricals",
        application="Arrow2 - Native Rust implementation of Arrow",
        columns=Columns.DICTIONARIES,
        wrong=Fact.NULL_COUNT | Fact.PAGE_NULLS,
        what="the null count of an Arrow dictionary column is 0",
        source="https://github.com/jorgecarleitao/arrow2",
        proof="files of polars 0.13 to 0.18",
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
        code="hyparquet-writer#43",
        application=_HYPARQUET,
        columns=Columns.INT32_DECIMALS,
        wrong=Fact.BOUNDS | Fact.PAGE_BOUNDS,
        what="the bounds of decimals are written as floating-point numbers",
        source="https://github.com/hyparam/hyparquet-writer/pull/43",
        proof="patched footer",
    ),
)


@lru_cache(maxsize=256)
def faults_of(created_by: str) -> tuple[KnownFault, ...]:
    """Return the known faults of a writer; empty for most writers."""
    writer = parse_writer(created_by)
    return tuple(fault for fault in KNOWN_FAULTS if fault.is_of(writer))


def faults_in(leaf: LeafColumn, provenance: Provenance) -> Iterator[KnownFault]:
    """Yield the known faults that may affect a leaf of such files."""
    return (
        fault
        for fault in faults_of(provenance.created_by)
        if fault.columns.contains(leaf, provenance) and not (fault.unless and fault.unless.is_on(provenance))
    )


def reason_of_faults(faults: Iterable[KnownFault]) -> str:
    """Return why the facts that known faults affect are not trusted; empty if there are no faults."""
    return "; ".join(f"{fault.application}: {fault.what} ({fault.code})" for fault in faults)
