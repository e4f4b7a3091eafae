"""Why a part of a log is left out: counted by reason and shown, never guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Reason(str):
    """A reason with its place, under which queries are counted; `plain`: the reason without its quotation.

    >>> found = Reason("line 3: no condition", "character 6: 'Ann'")
    >>> found, found.plain
    ("line 3: no condition (character 6: 'Ann')", 'line 3: no condition')
    """

    __slots__ = ("plain",)
    plain: str

    def __new__(cls, plain: str, quotation: str) -> Self:
        """Return a reason; `quotation`: empty if it quotes nothing."""
        made = super().__new__(cls, f"{plain} ({quotation})" if quotation else plain)
        made.plain = plain
        return made


class NotUnderstood(Exception):
    """A text means nothing here, or more than one thing.

    `reason`: why, under which it is counted. `quotation`: a part of the query, which may hold constants.
    """

    def __init__(self, reason: str, quotation: str = "") -> None:
        super().__init__(reason, quotation)
        self.reason = reason
        self.quotation = quotation
