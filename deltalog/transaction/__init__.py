"""Changes to a table: validation before writing, conflict checks, and commits as the next version.

Imports all other subpackages; `maintenance` only for checkpoints after a commit.
"""
