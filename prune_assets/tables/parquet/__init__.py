"""All that is special to plain Parquet files; the protocol that they fill is `tables/table.py`."""

from prune_assets.tables.parquet.table import PARQUET, ParquetTable

__all__ = ["PARQUET", "ParquetTable"]
