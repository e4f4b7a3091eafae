"""Queries to a session while planning: schemas, values, and the meaning of a Column or a name."""
