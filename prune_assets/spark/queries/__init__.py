"""Queries to a session while planning.

Queries return schemas, values, and the meaning of a Column or a name.
"""
