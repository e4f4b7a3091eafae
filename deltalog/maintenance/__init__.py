"""What keeps a table small and fast to open: checkpoints written, the log cleaned up, files vacuumed.

Imports `log`, `table`, `snapshot` and `stats`.
"""
