"""The levels by name: the one list of them. `parquet_core/pruning/levels/` evaluates each."""

from __future__ import annotations

from enum import Enum
from typing import Literal

Status = Literal["absent", "not_applicable", "consulted"]
Unit = Literal["file", "row group", "page"]


class KnownLevel(Enum):
    """A level, in cost order, and the title that reports show.

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
        """Its name in reports as data: `level` in JSON."""
        return self.name.lower()


def level_title(level: str) -> str:
    """Return the heading of a level.

    >>> level_title("page_index"), level_title("file_statistics")
    ('Page index', 'File statistics')
    """
    return _TITLES.get(level, level.replace("_", " ").capitalize())


_TITLES = {known.key: known.value for known in KnownLevel}
