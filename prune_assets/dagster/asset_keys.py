"""Convert asset names to asset keys, the same way in every function of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import dagster as dg

AssetName: TypeAlias = dg.AssetKey | str | Sequence[str]


def asset_key_of(asset: AssetName) -> dg.AssetKey:
    """Return the key of an asset.

    Slashes in a string separate its parts, as in Dagster's YAML and selections.

    >>> asset_key_of("sales/orders") == asset_key_of(["sales", "orders"])
    True

    A sequence contains the parts themselves; a part may contain a slash.
    """
    if isinstance(asset, dg.AssetKey):
        return asset
    return dg.AssetKey.from_user_string(asset) if isinstance(asset, str) else dg.AssetKey(list(asset))
