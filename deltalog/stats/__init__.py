"""Statistics and partition values: pruning evidence, made from footers, and in checkpoints.

Imports `log`, `table` and `snapshot`.
"""
