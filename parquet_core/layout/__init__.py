"""Proof of a layout from the written bytes: one rule a file, each a function that returns findings."""

from parquet_core.layout.check import check

__all__ = ["check"]
