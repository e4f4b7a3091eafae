"""Facts of one column, from the schema and all row groups."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from
from parquet_core.format.enumerations import codec_name, column_order_name, encoding_names
from parquet_core.format.schema import Physical
from parquet_core.inspection.chunks import uncompressed_bytes
from parquet_core.inspection.facts import ColumnFacts, PageSummary, Spread, WriterFault
from parquet_core.inspection.values import plain_values
from parquet_core.layout.overlap import intervals_of, may_hold_values, overlap_depth
from parquet_core.spark_rules.columns_in_files import reads_as_null
from parquet_core.trust.fold_pages import fold_pages
from parquet_core.trust.trust_policy import trust
from parquet_core.trust.writer_fault import Fact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.footer import Footers
    from parquet_core.format.schema import LeafColumn
    from parquet_core.inspection.facts import Repetition
    from parquet_core.trust.bounds import Bounds


def describe_column(index: MetadataIndex, column: LeafColumn, footers: Footers | None = None) -> ColumnFacts:
    """Describe a leaf, with totals of its chunks over all row groups.

    `footers`: footers of a single file, whose pages are counted too. None for a table.
    """
    chunks, bounds = index.footers.chunks(column), index.footers.bounds(column)
    whole = fold_pages(bounds, np.zeros(len(bounds), np.int64), 1)
    # A file that was written before the column was added is no reason for distrust: the column is null in all rows.
    trusts = [
        trust(column, footer_kind)
        for footer_kind in index.groups.distinct_provenances()
        if not reads_as_null(column, footer_kind)
    ]
    orders = {column_order_name(judged.column_order) for judged in trusts}
    return ColumnFacts(
        name=column.name,
        path=column.path,
        physical=column.physical.name,
        type_length=column.type_length if column.physical is Physical.FIXED_LEN_BYTE_ARRAY else None,
        type=None if column.type is None else str(column.type),
        repetition=_repetition(column),
        max_definition_level=column.max_definition_level,
        max_repetition_level=column.max_repetition_level,
        column_order=orders.pop() if len(orders) == 1 else None,
        untrusted=tuple(dict.fromkeys(it.reason for it in trusts if it.reason and Fact.BOUNDS not in it.wrong)),
        writer_faults=_writer_faults(index, column),
        unsupported=column.unsupported,
        values=_total(chunks.num_values),
        compressed_bytes=_total(chunks.compressed_bytes),
        uncompressed_bytes=None if footers is None else _known_total(uncompressed_bytes(footers, column)),
        codecs=tuple(str(codec_name(codec)) for codec in np.unique(chunks.codec).tolist() if codec >= 0),
        encodings=encoding_names(reduce(int.__or__, np.unique(chunks.encodings).tolist(), 0)),
        lower=plain_values(column, whole.lower)[0],
        upper=plain_values(column, whole.upper)[0],
        null_count=whole.null_count[0].as_py(),
        nan_count=whole.nan_count[0].as_py(),
        row_groups=int((chunks.present | chunks.encrypted).sum()),
        encrypted=int(chunks.encrypted.sum()),
        with_bounds=int(flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid())).sum()),
        without_bounds=_without_bounds(bounds, (chunks.present | chunks.encrypted) & ~_always_null(index, column)),
        with_column_index=int((chunks.column_index[:, 0] > 0).sum()),
        with_offset_index=int((chunks.offset_index[:, 0] > 0).sum()),
        with_bloom_filter=int((chunks.bloom_filter[:, 0] > 0).sum()),
        overlap_depth=overlap_depth(intervals_of(bounds)),
        pages=None if footers is None else _pages(index, column),
    )


def _writer_faults(index: MetadataIndex, column: LeafColumn) -> tuple[WriterFault, ...]:
    return tuple(
        WriterFault(fault.code, fault.application, fault.wrong.labels, fault.what, fault.source, int(affected.sum()))
        for fault, affected in index.footers.faulty(column).items()
    )


def _always_null(index: MetadataIndex, column: LeafColumn) -> NDArray[np.bool_]:
    """Return flags of row groups whose file declares the column always null.

    Such row groups need no bounds.
    """
    leaves = [footer_kind.by_path.get(column.path) for footer_kind in index.groups.provenances]
    flags = np.array([leaf is not None and leaf.always_null for leaf in leaves], np.bool_)
    return flags[index.groups.provenance_ids[index.groups.file]]


def _pages(index: MetadataIndex, column: LeafColumn) -> PageSummary:
    (located,) = index.page_indexes.locations([column], np.arange(len(index)))
    sizes = located.compressed_bytes
    return PageSummary(len(sizes), Spread.of(located.row_counts(index.groups.row_count)), Spread.of(sizes))


def _repetition(column: LeafColumn) -> Repetition:
    if column.max_repetition_level:
        return "repeated"
    return "optional" if column.max_definition_level else "required"


def _total(counts: np.ndarray) -> int:
    # Damaged footers may hold numbers whose sum overflows int64.
    return sum(counts.tolist())


def _known_total(counts: np.ndarray) -> int | None:
    return None if (counts < 0).any() else _total(counts)


def _without_bounds(bounds: Bounds, there: np.ndarray) -> int:
    bounded = flags_from(pc.or_(bounds.lower.is_valid(), bounds.upper.is_valid()))
    return int((there & may_hold_values(bounds) & ~bounded).sum())
