"""Plain Parquet tables; they implement the protocol in `tables/table.py`."""

from prune_assets.tables.parquet.table import PARQUET, ParquetTable

__all__ = ["PARQUET", "ParquetTable"]
