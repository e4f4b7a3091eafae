"""Where this project keeps what it can make again."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "PRUNE_CACHE_DIR"


def cache_directory() -> Path:
    """Return the directory that PRUNE_CACHE_DIR names, else the user's own cache; it need not exist yet."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    from platformdirs import user_cache_path

    return user_cache_path("prune-assets")
