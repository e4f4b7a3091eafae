"""Proof of a layout from the written bytes: one rule a file, each a function that returns findings."""

from parquet_core.layout.check import check, check_index
from parquet_core.layout.spec import Finding, LayoutSpec, Severity

__all__ = ["Finding", "LayoutSpec", "Severity", "check", "check_index"]
