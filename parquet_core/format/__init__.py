"""Decode the bytes of Parquet files by specification.

Other packages decide what to trust.
"""
