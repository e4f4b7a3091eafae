"""Why a part of a log is left out: counted by reason and shown, never guessed."""

from __future__ import annotations


class NotUnderstood(Exception):
    """A text means nothing here, or more than one thing; its message is the reason under which it is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
