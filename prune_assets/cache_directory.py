"""The cache of this project, whose contents can be rebuilt."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from parquet_core.dataset.metadata_cache import DecodedCache, MetadataCache

CACHE_VARIABLE = "PRUNE_CACHE_DIR"
BYTES_VARIABLE = "PRUNE_CACHE_BYTES"


def cache_directory() -> Path:
    """Return the directory in PRUNE_CACHE_DIR, or the user's cache directory.

    It need not exist yet.
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    from platformdirs import user_cache_path

    return user_cache_path("prune-assets")


def metadata_cache() -> MetadataCache | None:
    """Return the cache of table metadata; None if PRUNE_CACHE_BYTES is 0.

    Raises WrongUse if PRUNE_CACHE_BYTES is not a number of bytes.
    """
    from parquet_core.dataset.metadata_cache import DEFAULT_BYTES, MetadataCache

    configured = os.environ.get(BYTES_VARIABLE, "").strip()
    if configured and not configured.isdecimal():
        raise WrongUse(f"{BYTES_VARIABLE}={configured!r}: give a number of bytes, or 0 to keep no metadata on disk")
    most = int(configured) if configured else DEFAULT_BYTES
    return MetadataCache(cache_directory() / "metadata", most, _decoded()) if most else None


@cache
def _decoded() -> DecodedCache:
    """Return the in-memory cache of this process."""
    from parquet_core.dataset.metadata_cache import DecodedCache

    return DecodedCache()
