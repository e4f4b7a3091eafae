"""Spark's functions and casts: evaluated forwards, inverted to preimages, and called by name on typed values."""
