"""Spark's functions and casts: forward evaluation, preimages, and calls by name on typed values."""
