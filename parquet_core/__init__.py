"""Read Parquet metadata, and prove which data a predicate can skip."""
