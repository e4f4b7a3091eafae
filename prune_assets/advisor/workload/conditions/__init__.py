"""Translate conditions of Spark's plans, with unquoted constants, back into SQL.

Ambiguous text is refused.
"""
