"""The levels in cost order: a new kind of evidence is a module here and an entry in LEVELS.

A list of manifests sums up what each of them has. Partition values stand in paths or in a Delta log, which gives
statistics of whole files behind them; footers, with the statistics in them, are read of the files that these leave.
Where a chunk has both a bloom filter and a dictionary the filter is the smaller by far, a byte or two a value; the
dictionary may also have to be decompressed. Page indexes come last, because they leave parts of row groups, which
nothing else can use.

Each level evaluates only what the levels before it left open, and its outcomes are intersected with theirs at the
leaf. So an OR is skipped when statistics deny one arm and a bloom filter the other.
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
