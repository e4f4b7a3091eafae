"""All that is special to Delta tables; the protocol that they fill is `tables/table.py`."""

from prune_assets.tables.delta.table import DELTA, DeltaTable, delta_table, has_log

__all__ = ["DELTA", "DeltaTable", "delta_table", "has_log"]
