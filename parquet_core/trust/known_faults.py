"""Known faults of writers: which metadata of which releases is wrong, one entry a fault.

An entry removes single facts, for one writer, range of versions and type. Everything else in the file stays trusted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from parquet_core.format.column_chunk import ChunkTraits
from parquet_core.trust.writer import PARQUET_JAVA, parse_writer
from parquet_core.trust.writer_fault import Columns, Fact, KnownFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn

# parquet-cpp was part of Arrow before it had a version of its own: pyarrow 0.9 to 3.0 all name 1.5.1-SNAPSHOT.
_PARQUET_CPP, _ARROW_CPP = "parquet-cpp", "parquet-cpp-arrow"

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
        application="Polars",
        columns=Columns.FIXED_DECIMALS,
        wrong=Fact.BOUNDS,
        what="the bounds of pages are merged as unsigned numbers",
        source="https://github.com/pola-rs/polars/issues/29347",
        proof="files of polars 1.38.1",
        unversioned_only=True,
    ),
    KnownFault(
        code="hyparquet-writer#31",
        application="hyparquet",
        columns=Columns.STRINGS,
        wrong=Fact.EXACTNESS,
        what="a maximum of exactly 16 bytes is a prefix that was not rounded up",
        source="https://github.com/hyparam/hyparquet-writer/issues/31",
        proof="patched footer",
        prefix_bytes=16,
    ),
)


@lru_cache(maxsize=256)
def faults_of(created_by: str) -> tuple[KnownFault, ...]:
    """Return the known faults of a writer; empty for most writers."""
    writer = parse_writer(created_by)
    return tuple(fault for fault in KNOWN_FAULTS if fault.is_of(writer))


def faults_in(leaf: LeafColumn, provenance: Provenance) -> Iterator[KnownFault]:
    """Yield the known faults that may affect a leaf of such files."""
    return (fault for fault in faults_of(provenance.created_by) if fault.columns.contains(leaf, provenance))


def reason_of_faults(faults: Iterable[KnownFault]) -> str:
    """Return why the facts that known faults affect are not trusted; empty if there are no faults."""
    return "; ".join(f"{fault.application}: {fault.what} ({fault.code})" for fault in faults)
