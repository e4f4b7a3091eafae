"""The log itself: actions, what lies in `_delta_log`, commits and checkpoints read, and their replay to live files.

Imports no other room.
"""
