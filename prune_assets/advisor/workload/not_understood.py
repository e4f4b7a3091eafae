"""Reasons why a part of a log is left out. Such parts are counted and shown, and their meaning is not guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Reason(str):
    """A reason with its location. Queries that are left out are counted by reason.

    `plain`: the reason without its quotation.

    >>> found = Reason("line 3: no condition", "character 6: 'Ann'")
    >>> found, found.plain
    ("line 3: no condition (character 6: 'Ann')", 'line 3: no condition')
    """

    __slots__ = ("plain",)
    plain: str

    def __new__(cls, plain: str, quotation: str) -> Self:
        """Return a reason.

        `quotation`: the quoted part of the query; "" if nothing is quoted.
        """
        made = super().__new__(cls, f"{plain} ({quotation})" if quotation else plain)
        made.plain = plain
        return made


class NotUnderstood(Exception):
    """A text that is unsupported or ambiguous.

    `reason`: the reason by which the text is counted.
    `quotation`: a part of the query, which may contain constants.
    """

    def __init__(self, reason: str, quotation: str = "") -> None:
        super().__init__(reason, quotation)
        self.reason = reason
        self.quotation = quotation
