"""Statistics and partition values: as evidence about a predicate, made of footers, and as checkpoints hold them.

Imports `log`, `table` and `snapshot`.
"""
