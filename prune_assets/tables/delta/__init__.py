"""All that is special to Delta tables; the protocol that they fill is `tables/table.py`."""

from prune_assets.tables.delta.opening import DELTA, delta_table, has_log
from prune_assets.tables.delta.table import DeltaTable

__all__ = ["DELTA", "DeltaTable", "delta_table", "has_log"]
