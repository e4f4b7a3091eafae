"""What an asset is named by: one way to make its key, for every function of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import dagster as dg

AssetName: TypeAlias = dg.AssetKey | str | Sequence[str]


def asset_key_of(asset: AssetName) -> dg.AssetKey:
    """Return the key of an asset; slashes separate the parts of a text, as in Dagster's YAML and selections.

    >>> asset_key_of("sales/orders") == asset_key_of(["sales", "orders"])
    True

    A sequence has the parts themselves, one of which may hold a slash.
    """
    if isinstance(asset, dg.AssetKey):
        return asset
    return dg.AssetKey.from_user_string(asset) if isinstance(asset, str) else dg.AssetKey(list(asset))
