"""Findings about writers: their known faults, and features that current readers lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.fix import Fix, Step
from parquet_core.format.enumerations import UNKNOWN_ENCODING, numbered_encoding
from parquet_core.format.footer import read_footers
from parquet_core.format.leaf_type import LAST_LOGICAL_TYPE
from parquet_core.format.provenance import IEEE_754_TOTAL_ORDER
from parquet_core.layout.places import files_place, share_of_files
from parquet_core.layout.spec import Finding, Severity
from parquet_core.printable import listed_with_count
from parquet_core.quantities import counted
from parquet_core.trust.trust_policy import trust
from parquet_core.trust.writer import PARQUET_JAVA, application_of
from parquet_core.trust.writer_fault import Fact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn, SchemaElement
    from parquet_core.trust.writer_fault import KnownFault

    Files = NDArray[np.int64]

_SHOWN_COLUMNS = 5
# Cost of a writer fault, by the facts that the fault makes wrong. The first entry applies whose facts are all wrong.
_COSTS = (
    (Fact.BOUNDS | Fact.PAGE_BOUNDS, "comparisons skip only by dictionaries and bloom filters"),
    (Fact.BOUNDS | Fact.NULL_COUNT, "only page indexes, dictionaries and bloom filters skip"),
    (Fact.BOUNDS, "comparisons skip only by page indexes, dictionaries and bloom filters"),
    (Fact.LOWER_BOUND, "`<` and `<=` skip only by page indexes and dictionaries"),
    (Fact.NULL_COUNT, "`IS NULL` skips less"),
    (Fact.BLOOM_FILTER, "bloom filters skip nothing"),
)
_NO_COST = "plans correct them"

# The highest numbers that Spark 4.3 reads: BYTE_STREAM_SPLIT and LZ4_RAW.
_LAST_ENCODING, _LAST_CODEC = 9, 7
# Number of files that are read to check whether their column chunks name their paths.
FILES = 16
# Spark cannot rewrite these files, because it cannot read them.
_ANEW = "write these files again by their own writer, without it"


def newer_format(name: str, index: MetadataIndex, columns: Iterable[LeafColumn]) -> Iterator[Finding]:
    """Report newer features of the format that Spark cannot read, or cannot use to skip data.

    Findings about files come first, then findings about columns.
    """
    yield from _unread_files(index)
    for column in columns:
        location = f"{name}, column {column.name}"
        yield from (*_unread_values(index, column, location), *_float_order(index, column, location))


def _unread_files(index: MetadataIndex) -> Iterator[Finding]:
    files = np.flatnonzero(
        np.isin(
            index.groups.provenance_ids,
            np.flatnonzero([_has_newer_type(it.elements) for it in index.groups.provenances]),
        )
    )
    newer_type = "a column has a future logical type: Spark up to 4.3 does not open the file"
    no_path = (
        "column chunks have no path (path_in_schema): Spark up to 4.3, pyarrow up to 26 and DuckDB up to 2.0 do not "
        "open the file"
    )
    for message, of in ((newer_type, files), (no_path, _without_paths(index))):
        if len(of):
            yield Finding("files.newer_format", Severity.WARN, files_place(index, of), message, _ANEW)


def _has_newer_type(elements: Iterable[SchemaElement]) -> bool:
    return any(each.logical is not None and each.logical[0] > LAST_LOGICAL_TYPE for each in elements)


def _without_paths(index: MetadataIndex) -> Files:
    """Return sampled files whose column chunks name no path.

    Files written by parquet-java are not sampled.
    """
    others = [application_of(footer_kind.created_by) != PARQUET_JAVA for footer_kind in index.groups.provenances]
    files = np.flatnonzero(np.array(others, np.bool_)[index.groups.provenance_ids])
    sample = files[np.unique(np.linspace(0, len(files) - 1, min(FILES, len(files))).astype(np.int64))]
    lacking: list[Files] = [np.zeros(0, np.int64)]
    first = 0
    for footers in read_footers([index.groups.files[i] for i in sample.tolist()], traffic=index.groups.traffic):
        lacking.append(sample[first + np.unique(footers.file[footers.lack_paths()])])
        first += len(footers.files)
    return np.concatenate(lacking)


def _unread_values(index: MetadataIndex, column: LeafColumn, location: str) -> Iterator[Finding]:
    chunks = index.footers.chunks(column)
    encodings, codecs = chunks.encodings >> (_LAST_ENCODING + 1), chunks.codec
    newer = [(_first_encoding(bits), encodings == bits) for bits in np.unique(encodings).tolist() if bits]
    newer += [(f"codec {each}", codecs == each) for each in np.unique(codecs).tolist() if each > _LAST_CODEC]
    for what, there in newer:
        message = (
            f"{what} in {share_of_files(index, np.flatnonzero(there))}: neither this version nor Spark up to 4.3 reads "
            "its values; statistics still skip"
        )
        yield Finding("files.newer_format", Severity.WARN, location, message, _ANEW, (column.name,))


def _first_encoding(bits: int) -> str:
    """Return the name of the first newer encoding in `bits`."""
    encoding = _LAST_ENCODING + (bits & -bits).bit_length()
    return f"an encoding from {encoding} on" if encoding == UNKNOWN_ENCODING else numbered_encoding(encoding)


def _float_order(index: MetadataIndex, column: LeafColumn, location: str) -> Iterator[Finding]:
    trusts = [trust(column, footer_kind) for footer_kind in index.groups.provenances]
    by_ieee = np.array([each.column_order == IEEE_754_TOTAL_ORDER and each.bounds for each in trusts], np.bool_)
    groups = np.flatnonzero(by_ieee[index.groups.provenance_ids[index.groups.file]] & (index.groups.row_count > 0))
    if len(groups):
        message = (
            f"bounds compare by the IEEE 754 total order in {share_of_files(index, groups)}: Spark up to 4.3 and "
            "pyarrow up to 26 ignore them; plans skip by them, as parquet-java from 1.18 on, DuckDB and Polars do"
        )
        fix = Fix(
            "write these files again with Spark 4.3 or older, if such readers should skip by the column: ",
            Step.WRITE_TABLE,
        )
        yield Finding("statistics.float_order", Severity.INFO, location, message, columns=(column.name,), fix=fix)


def writer_faults(location: str, index: MetadataIndex, columns: Sequence[LeafColumn]) -> Iterator[Finding]:
    """Report each known writer fault once, with all columns that it may affect."""
    affected: dict[KnownFault, list[tuple[LeafColumn, int]]] = {}
    for column in columns:
        for fault, groups in index.footers.faulty(column).items():
            affected.setdefault(fault, []).append((column, int(groups.sum())))
    for fault, of_columns in affected.items():
        names = tuple(column.name for column, _ in of_columns)
        cost = next((consequence for facts, consequence in _COSTS if facts in fault.wrong), _NO_COST)
        labels = fault.columns.value if len(names) > 1 else fault.columns.value.replace("columns", "column", 1)
        listed = listed_with_count(names, _SHOWN_COLUMNS)
        message = (
            f"{' and '.join(fault.wrong.labels)} of {len(names):,} {labels} ({listed}) by {fault.application} "
            f"are not trusted in {counted(max(count for _, count in of_columns), 'row group')}: "
            f"{fault.what} ({fault.code}); {cost}; readers that trust them may lose rows"
        )
        fix = Fix("rewrite these files with another writer, or a newer version of it: ", Step.WRITE_TABLE)
        yield Finding("statistics.writer_fault", Severity.WARN, location, message, columns=names, fix=fix)
