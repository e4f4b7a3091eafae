"""Split-block bloom filters, one verb a file. They prove absence only.

Source: BloomFilter.md of parquet-format. A filter is an array of blocks, uint32 of shape (blocks, 8).
"""

from parquet_core.bloom.blocks import BLOCK_BYTES, MAX_BYTES, Blocks
from parquet_core.bloom.build import build_filter, merge
from parquet_core.bloom.hashing import can_hash, hash_values
from parquet_core.bloom.parse import (
    HEADER_BYTES,
    BloomHeader,
    guess_length,
    parse_filter,
    parse_guess,
    parse_header,
)
from parquet_core.bloom.probe import Probes, each_may_contain, may_contain, may_hold, probe_hashes
from parquet_core.bloom.serialize import serialize
from parquet_core.bloom.size import estimated_fpp, estimated_ndv, fill, optimal_bytes

__all__ = [
    "BLOCK_BYTES",
    "HEADER_BYTES",
    "MAX_BYTES",
    "Blocks",
    "BloomHeader",
    "Probes",
    "build_filter",
    "can_hash",
    "each_may_contain",
    "estimated_fpp",
    "estimated_ndv",
    "fill",
    "guess_length",
    "hash_values",
    "may_contain",
    "may_hold",
    "merge",
    "optimal_bytes",
    "parse_filter",
    "parse_guess",
    "parse_header",
    "probe_hashes",
    "serialize",
]
