"""Queries to a session while planning.

They return schemas, values, and the meaning of a Column or a name.
"""
