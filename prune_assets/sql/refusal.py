"""Why a part of a predicate cannot be lowered."""

from __future__ import annotations


class Refusal(Exception):
    """Says why a part of a predicate cannot be lowered, and what to write instead."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
