"""Pruning levels in cost order.

A new kind of evidence is a module in this package and an entry in LEVELS.

A manifest list summarizes each manifest. Partition values are stored in paths or in a Delta log, which may also have
statistics of whole files. Footers, with row-group statistics, are read only for the remaining files. If a chunk has
both a bloom filter and a dictionary, the filter is evaluated first: it is much smaller, one or two bytes per value, and
needs no decompression. Page indexes come last, because they leave parts of row groups, which no other level can use.

Each level evaluates only what earlier levels left undecided. Its outcomes are intersected with the earlier ones per
leaf. Therefore a container is skipped if statistics exclude one operand of an OR and a bloom filter excludes the other.
"""

from parquet_core.pruning.levels.bloom_level import BLOOM_FILTERS
from parquet_core.pruning.levels.dictionary_level import DICTIONARIES
from parquet_core.pruning.levels.file_levels import EXECUTORS, LOG_STATISTICS, MANIFESTS, PARTITIONS
from parquet_core.pruning.levels.page_level import PAGES
from parquet_core.pruning.levels.statistics_level import STATISTICS

LEVELS = (MANIFESTS, PARTITIONS, LOG_STATISTICS, EXECUTORS, STATISTICS, BLOOM_FILTERS, DICTIONARIES, PAGES)

__all__ = [
    "BLOOM_FILTERS",
    "DICTIONARIES",
    "EXECUTORS",
    "LEVELS",
    "LOG_STATISTICS",
    "MANIFESTS",
    "PAGES",
    "PARTITIONS",
    "STATISTICS",
]
