"""Statistics and partition values: as evidence for pruning, from footers of new files, and in checkpoints.

Imports `log`, `table` and `snapshot`.
"""
