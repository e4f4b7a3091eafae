"""Delta log files: actions, listing of `_delta_log`, commits, checkpoints and replay to live files.

Imports no other subpackage.
"""
