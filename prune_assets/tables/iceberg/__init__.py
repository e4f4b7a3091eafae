"""Iceberg tables; they implement the protocol in `tables/table.py`. Only this package imports pyiceberg."""

from prune_assets.tables.iceberg.opening import ICEBERG

__all__ = ["ICEBERG"]
