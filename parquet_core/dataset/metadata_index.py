"""Metadata of a whole dataset: its row groups, and readers of column metadata on demand.

Metadata that was read is cached in memory and, with a `MetadataCache`, on disk; dictionaries only in memory. Later
indexes of the same files use both caches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_core.dataset.bloom_filters import BloomFilters
from parquet_core.dataset.column_store import ColumnStore
from parquet_core.dataset.dictionaries import Dictionaries
from parquet_core.dataset.footer_columns import FooterColumns
from parquet_core.dataset.page_indexes import PageIndexes

if TYPE_CHECKING:
    from parquet_core.dataset.footer_columns import FooterSource
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.dataset.stored_index import StoredIndex


@dataclass(frozen=True, slots=True)
class MetadataIndex:
    """Row groups of a dataset, with readers of their column metadata."""

    groups: RowGroupTable
    footers: FooterColumns
    page_indexes: PageIndexes
    bloom_filters: BloomFilters
    dictionaries: Dictionaries
    store: ColumnStore

    def __len__(self) -> int:
        return len(self.groups)

    def save(self) -> None:
        """Cache the metadata that was read since the last `save`; does nothing without a cache."""
        self.bloom_filters.save()
        self.dictionaries.save()
        self.store.save()


def metadata_index(groups: RowGroupTable, source: FooterSource, stored: StoredIndex | None = None) -> MetadataIndex:
    """Create an index for row groups.

    `stored`: cached metadata of the row groups. None without a cache.
    """
    store = ColumnStore(groups, stored)
    footers = FooterColumns(groups, source, store)
    page_indexes = PageIndexes(groups, footers, store)
    return MetadataIndex(
        groups=groups,
        footers=footers,
        page_indexes=page_indexes,
        bloom_filters=BloomFilters(groups, footers, store),
        dictionaries=Dictionaries(groups, footers, page_indexes, store),
        store=store,
    )
