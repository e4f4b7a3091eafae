"""Changes: what a commit does, what is refused before it is written, and the race for the next version.

Imports every other room; `maintenance` for what follows a commit.
"""
