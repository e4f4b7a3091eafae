"""Table maintenance: writing checkpoints, cleaning up the log, vacuuming files.

Imports `log`, `table`, `snapshot` and `stats`.
"""
