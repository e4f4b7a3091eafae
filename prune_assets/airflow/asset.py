"""A table as an asset that starts DAGs when it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import Asset, AssetWatcher


def table_asset(table: str | Path, *, name: str | None = None, poke_interval: float = 60.0, **options: Any) -> Asset:
    """Return a table as an asset.

    Each new Delta version or change of the files is an asset event.

    >>> from prune_assets.airflow import table_asset
    >>> orders = table_asset("/lake/orders", name="orders", poke_interval=30)
    >>> orders.uri, [watcher.name for watcher in orders.watchers]
    ('file:///lake/orders', ['orders changed'])

    `DAG(schedule=[orders])` then runs after each change by any writer, without a polling DAG: the triggerer polls every
    `poke_interval` seconds, which costs a listing. The extra of an event has the result of TableChangeTrigger as its
    `payload`: `version`, `fingerprint`, `changes`, and the changed partitions as `partitions` and `where`. Runs that an
    asset triggers have no `ds`: their tasks can use the partitions of the payload instead.

    `name`: name of the asset, by default the address. All other options (`group`, `extra`) are passed to Airflow's
    Asset. A task that writes the table and has this asset among its outlets emits an event of its own; use either the
    outlet or this watcher, not both.
    """
    from prune_assets.airflow.trigger import TableChangeTrigger
    from prune_assets.tables.catalogs.names import is_name
    from prune_assets.tables.uri import table_uri

    uri = table_uri(table)
    # The triggerer may run in another directory.
    uri_or_path = str(table) if "://" in str(table) or is_name(table) else str(Path(table).absolute())
    watcher = AssetWatcher(
        name=f"{name or uri} changed", trigger=TableChangeTrigger(uri_or_path, poke_interval=poke_interval)
    )
    return Asset(name=name or uri, uri=uri, watchers=[watcher], **options)
