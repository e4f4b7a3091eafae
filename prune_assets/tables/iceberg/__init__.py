"""All that is special to Iceberg tables, which fill the protocol of `tables/table.py`. It alone imports pyiceberg."""

from prune_assets.tables.iceberg.opening import ICEBERG

__all__ = ["ICEBERG"]
