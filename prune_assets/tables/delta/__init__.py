"""Delta tables; they implement the protocol in `tables/table.py`."""

from prune_assets.tables.delta.opening import DELTA, delta_table, has_log, table_of
from prune_assets.tables.delta.table import DeltaTable

__all__ = ["DELTA", "DeltaTable", "delta_table", "has_log", "table_of"]
