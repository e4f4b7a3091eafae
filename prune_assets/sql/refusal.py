"""Reasons why a part of a predicate cannot be lowered."""

from __future__ import annotations

from parquet_core.pruning.predicate import Cause

GIVE_ZONE = "pass session=, semantics= or --time-zone"


class Refusal(Exception):
    """Reason why a part of a predicate cannot be lowered.

    `remedy`: what to write instead.
    `raises`: True if the part has a constant for which Spark certainly raises an error with ansi.enabled.
    `no_value`: True if the part has a string that cannot be converted to the type that it is compared with. Spark
    raises an error with ansi.enabled, and compares with NULL without it.
    `cause`: kind of the reason, as in `Unsupported`.
    """

    def __init__(
        self,
        reason: str,
        remedy: str = "",
        *,
        raises: bool = False,
        no_value: bool = False,
        cause: Cause | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.raises = raises
        self.no_value = no_value
        self.cause = cause


def zone_needed() -> Refusal:
    """Return the refusal of a part that depends on an unknown session time zone."""
    return Refusal("it depends on the time zone, which is not known", GIVE_ZONE, cause=Cause.TIME_ZONE)
