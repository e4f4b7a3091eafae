"""Assets for tables written outside Dagster, so that they can have checks and reports."""

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
    """Return the asset spec of a table that is written elsewhere.

    >>> from prune_assets.dagster import external_table
    >>> orders = external_table("sales/orders", "s3://lake/orders", format="delta", group_name="sales")
    >>> orders.key.to_user_string(), orders.metadata["dagster/storage_kind"]
    ('sales/orders', 'deltalake')

    Checks and reports accept its key like any other. `build_new_files_sensor(observe=True)` reports its data version to
    Dagster. This function does not read the storage.

    `format`: "parquet", "delta" or "iceberg", only for the label in Dagster's UI. All other options are passed to
    Dagster's `AssetSpec`.
    """
    check_written(format)
    metadata = storage_metadata(table, format=format) | dict(spec.pop("metadata", None) or {})
    return dg.AssetSpec(asset_key_of(key), metadata=metadata, **spec)
