"""Why a part of a predicate cannot be lowered."""

from __future__ import annotations


class Refusal(Exception):
    """Says why a part of a predicate cannot be lowered, and what to write instead.

    `raises`: with ansi.enabled Spark certainly raises an error for a constant of the part. `no_value`: Spark finds no
    value of the type in a text; with ANSI it raises, without it compares with NULL.
    """

    def __init__(self, reason: str, remedy: str = "", *, raises: bool = False, no_value: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.raises = raises
        self.no_value = no_value
