"""Metadata of a whole dataset.

The index contains the row groups, and reads column metadata on demand. Metadata that was read is cached in memory and,
with a `MetadataCache`, on disk; dictionaries only in memory. Later indexes of the same files reuse both caches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_core.dataset.bloom_filters import BloomFilters
from parquet_core.dataset.column_totals import ColumnTotals
from parquet_core.dataset.dictionaries import Dictionaries
from parquet_core.dataset.footer_columns import FooterColumns
from parquet_core.dataset.page_indexes import PageIndexes
from parquet_core.dataset.stored_index import KeptColumns

if TYPE_CHECKING:
    from parquet_core.dataset.footer_columns import FooterSource
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.dataset.stored_index import StoredIndex


@dataclass(frozen=True, slots=True)
class MetadataIndex:
    """Row groups of a dataset, with readers of their column metadata."""

    groups: RowGroupTable
    footers: FooterColumns
    totals: ColumnTotals
    page_indexes: PageIndexes
    bloom_filters: BloomFilters
    dictionaries: Dictionaries

    def __len__(self) -> int:
        return len(self.groups)

    def save(self) -> None:
        """Cache the metadata read since the last `save`.

        Does nothing without a cache.
        """
        self.footers.save()
        self.totals.save()
        self.page_indexes.save()
        self.bloom_filters.save()
        self.dictionaries.save()
        self.footers.kept.finish()


def metadata_index(groups: RowGroupTable, source: FooterSource, stored: StoredIndex | None = None) -> MetadataIndex:
    """Create an index for row groups.

    `stored`: their cached metadata; None without a cache.
    """
    kept = KeptColumns(groups, stored)
    footers = FooterColumns(groups, source, kept)
    page_indexes = PageIndexes(groups, footers, kept)
    return MetadataIndex(
        groups=groups,
        footers=footers,
        totals=ColumnTotals(groups, source, kept),
        page_indexes=page_indexes,
        bloom_filters=BloomFilters(groups, footers),
        dictionaries=Dictionaries(groups, footers, page_indexes),
    )
