"""Decode the bytes of Parquet files by specification, without deciding what to trust."""
