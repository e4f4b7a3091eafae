"""Translate conditions that Spark's plans print, with unquoted constants, back into SQL.

Refuse ambiguous text.
"""
