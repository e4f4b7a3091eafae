"""Split-block bloom filters: parse, hash, probe and estimate. Filters prove only absence.

Source: BloomFilter.md of parquet-format. A filter is an array of blocks, uint32 of shape (blocks, 8).
"""

from parquet_core.bloom.blocks import (
    BLOCK_BYTES,
    Blocks,
    BloomHeader,
    estimated_fpp,
    estimated_ndv,
    fill,
    guess_length,
    parse_filter,
    parse_guess,
    parse_header,
)
from parquet_core.bloom.probe import (
    Probes,
    can_hash,
    each_may_contain,
    hash_values,
    may_contain,
    may_hold,
    probe_hashes,
)

__all__ = [
    "BLOCK_BYTES",
    "Blocks",
    "BloomHeader",
    "Probes",
    "can_hash",
    "each_may_contain",
    "estimated_fpp",
    "estimated_ndv",
    "fill",
    "guess_length",
    "hash_values",
    "may_contain",
    "may_hold",
    "parse_filter",
    "parse_guess",
    "parse_header",
    "probe_hashes",
]
