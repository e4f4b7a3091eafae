"""Functions without arguments that depend on the session's clock, each with the literal of its value at an instant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from prune_assets.sql.functions.entry import SqlFunction
from prune_assets.sql.refusal import GIVE_ZONE
from prune_assets.sql.types.zones import SECOND, Clocks, UncertainTime

if TYPE_CHECKING:
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.types.zones import Zone

CLOCK_NEEDED = (
    "the current day and time depend on the session's time zone",
    GIVE_ZONE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """Current instant in a session.

    `now`: microseconds since 1970-01-01 UTC.
    `zone`, `time_zone`: rules and name of the session's time zone. None if unknown.
    """

    now: int
    zone: Zone | None
    time_zone: str | None

    @classmethod
    def of(cls, semantics: SparkSemantics, now: int) -> Clock:
        """Return the clock of a session at an instant, in microseconds since 1970-01-01 UTC."""
        return cls(now, Clocks.of(semantics).zone, semantics.time_zone)

    def local(self) -> datetime | None:
        """Return the local time of the session; None if it is uncertain."""
        try:
            return None if self.zone is None else _EPOCH + timedelta(microseconds=self.zone.local(self.now))
        except UncertainTime:
            return None


def _today(clock: Clock) -> str | None:
    if clock.zone is None:
        return _cast(clock, "DATE")
    local = clock.local()
    return None if local is None else f"DATE '{local:%Y-%m-%d}'"


def instant(micros: int) -> str | None:
    """Return an instant as a TIMESTAMP_LTZ literal.

    `micros`: microseconds since 1970-01-01 UTC. None if the year does not have four digits.
    """
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
    return f"TIMESTAMP_LTZ '{moment:%Y-%m-%d %H:%M:%S.%f}Z'" if moment.year >= 1000 else None


def _cast(clock: Clock, type_name: str) -> str | None:
    """Return the current instant as a CAST that is correct in every zone.

    None if the year does not have four digits.
    """
    return None if (now := instant(clock.now)) is None else f"CAST({now} AS {type_name})"


def _instant(clock: Clock) -> str | None:
    return instant(clock.now)


def _local_timestamp(clock: Clock) -> str | None:
    if clock.zone is None:
        return _cast(clock, "TIMESTAMP_NTZ")
    local = clock.local()
    return None if local is None else f"TIMESTAMP_NTZ '{local:%Y-%m-%d %H:%M:%S.%f}'"


def seconds(clock: Clock) -> str:
    """Return the seconds since 1970-01-01 UTC as a bigint literal."""
    return f"{clock.now // SECOND}L"


def _time_zone(clock: Clock) -> str | None:
    return None if clock.time_zone is None else f"'{clock.time_zone}'"


FUNCTIONS = (
    SqlFunction(names=("current_date",), arity=(0, 0), clock=_today, without_brackets=True),
    SqlFunction(names=("curdate",), arity=(0, 0), clock=_today),
    SqlFunction(names=("current_timestamp",), arity=(0, 0), clock=_instant, without_brackets=True),
    SqlFunction(names=("now",), arity=(0, 0), clock=_instant),
    SqlFunction(names=("localtimestamp",), arity=(0, 0), clock=_local_timestamp),
    SqlFunction(names=("current_timezone",), arity=(0, 0), clock=_time_zone),
    # Spark falls back to these functions if no column has the name (ColumnResolutionHelper).
    SqlFunction(names=("current_time", "localtime"), arity=(0, 0), without_brackets=True),
    SqlFunction(
        names=("current_user", "session_user", "user", "current_path", "grouping__id"),
        arity=(0, 0),
        without_brackets=True,
    ),
)
