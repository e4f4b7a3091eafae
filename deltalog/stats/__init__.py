"""Use statistics and partition values for pruning, collect them from new files, and store them in checkpoints.

Imports `log`, `table` and `snapshot`.
"""
