"""Names of all pruning levels; `parquet_core/pruning/levels/` evaluates them."""

from __future__ import annotations

from enum import Enum
from typing import Literal

Status = Literal["absent", "not_applicable", "consulted"]
Unit = Literal["file", "row group", "page"]


class KnownLevel(Enum):
    """Pruning levels in cost order, with the titles for reports.

    >>> KnownLevel.PAGE_INDEX.key, KnownLevel.PAGE_INDEX.value
    ('page_index', 'Page index')
    """

    MANIFEST_LIST = "Manifest list"
    PARTITION_VALUES = "Partition values"
    DELTA_STATISTICS = "File statistics"
    EXECUTORS = "Spark's executors"
    ROW_GROUP_STATISTICS = "Row-group statistics"
    BLOOM_FILTER = "Bloom filter"
    DICTIONARY = "Dictionary"
    PAGE_INDEX = "Page index"

    @property
    def key(self) -> str:
        """Name of the level in data, such as `level` in JSON."""
        return self.name.lower()


def level_title(level: str) -> str:
    """Return the title of a level for reports.

    >>> level_title("page_index"), level_title("file_statistics")
    ('Page index', 'File statistics')
    """
    return _TITLES.get(level, level.replace("_", " ").capitalize())


_TITLES = {known.key: known.value for known in KnownLevel}
