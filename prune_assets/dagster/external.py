"""Tables that somebody else writes, as assets that have checks and reports here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

from prune_assets.dagster.arguments import check_written
from prune_assets.dagster.asset_keys import AssetName, asset_key_of
from prune_assets.dagster.metadata import storage_metadata

if TYPE_CHECKING:
    from pathlib import Path


def external_table(
    key: AssetName,
    table: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the word of DataFrameWriter
    **spec: Any,
) -> dg.AssetSpec:
    """Return the asset of a table that is written elsewhere.

    >>> from prune_assets.dagster import external_table
    >>> orders = external_table("sales/orders", "s3://lake/orders", format="delta", group_name="sales")
    >>> orders.key.to_user_string(), orders.metadata["dagster/storage_kind"]
    ('sales/orders', 'deltalake')

    Checks and reports take its key as they take any other. `build_new_files_sensor(observe=True)` tells Dagster its
    data version. Nothing is asked of the storage here.

    `format`: "parquet", "delta" or "iceberg", for the label in Dagster's UI alone. All else is passed to Dagster's
    `AssetSpec`.
    """
    check_written(format)
    metadata = storage_metadata(table, format=format) | dict(spec.pop("metadata", None) or {})
    return dg.AssetSpec(asset_key_of(key), metadata=metadata, **spec)
