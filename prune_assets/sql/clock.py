"""What the clock says, put into a predicate as constants: the plan and Spark then see one instant and one day.

Spark computes these once a query (ComputeCurrentTime), and a plan is made before that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from prune_assets.sql.nodes import ColumnName
from prune_assets.sql.times import Clocks
from prune_assets.sql.zones import SECOND, UncertainTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prune_assets.semantics import SparkSemantics
    from prune_assets.sql.scope import Scope
    from prune_assets.sql.sqlglot_nodes import Token, exp
    from prune_assets.sql.zones import Zone

CLOCK_NEEDED = (
    "the session's time zone decides which day and time it is",
    "pass session= to plan, or --time-zone",
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """An instant, in microseconds since 1970-01-01, as a session sees it."""

    now: int
    zone: Zone | None
    time_zone: str | None

    @classmethod
    def of(cls, semantics: SparkSemantics, now: int) -> Clock:
        """Return what a session's clocks say at an instant."""
        return cls(now, Clocks.of(semantics).zone, semantics.time_zone)

    def local(self) -> datetime | None:
        """Return what the session's clocks show, None where that is not certain."""
        try:
            return None if self.zone is None else _EPOCH + timedelta(microseconds=self.zone.local(self.now))
        except UncertainTime:
            return None


def _today(clock: Clock) -> str | None:
    local = clock.local()
    return None if local is None else f"DATE '{local:%Y-%m-%d}'"


def instant(micros: int) -> str | None:
    """Return an instant, in microseconds since 1970-01-01, as a literal; None in a year that has not four digits."""
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
    return f"TIMESTAMP_LTZ '{moment:%Y-%m-%d %H:%M:%S.%f}Z'" if moment.year >= 1000 else None


def _instant(clock: Clock) -> str | None:
    return instant(clock.now)


def _on_the_wall(clock: Clock) -> str | None:
    local = clock.local()
    return None if local is None else f"TIMESTAMP_NTZ '{local:%Y-%m-%d %H:%M:%S.%f}'"


def _seconds(clock: Clock) -> str:
    return f"{clock.now // SECOND}L"


def _time_zone(clock: Clock) -> str | None:
    return None if clock.time_zone is None else f"'{clock.time_zone}'"


# What each call without arguments is as a literal, None where it is not known.
CLOCK_CALLS: Mapping[str, Callable[[Clock], str | None]] = {
    "current_date": _today,
    "curdate": _today,
    "current_timestamp": _instant,
    "now": _instant,
    "localtimestamp": _on_the_wall,
    "unix_timestamp": _seconds,
    "current_timezone": _time_zone,
}
# Those that are written without brackets too, where no column has the name.
_WORDS = frozenset({"current_date", "current_timestamp"})


def now() -> int:
    """Return the microseconds since 1970-01-01."""
    return time.time_ns() // 1_000


def asks_clock(tokens: Sequence[Token]) -> bool:
    """Tell whether a predicate may ask what time it is."""
    return any(_name(token) in CLOCK_CALLS for token in tokens)


def frozen(
    sql: str,
    tokens: Sequence[Token],
    tree: exp.Expr,
    clock: Clock,
    *,
    scope: Scope,
    is_own: Callable[[str], bool] | None,
) -> str:
    """Return the predicate with a constant in each place that asks the clock; `tree`: what `tokens` were parsed to."""
    text, end = "", 0
    for name, first, last in sorted([*_calls(tokens), *_words(tree, tokens, scope)], key=lambda place: place[1]):
        literal = CLOCK_CALLS[name](clock) if is_own is None or is_own(name) else None
        if literal is not None:
            text += sql[end : tokens[first].start] + literal
            end = tokens[last].end
    return text + sql[end:]


def _calls(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    """Yield each call of a clock's function, with its first and last token; inside of opaque parts too."""
    for i, name in enumerate(map(_name, tokens[:-2])):
        is_call = name in CLOCK_CALLS and [token.text for token in tokens[i + 1 : i + 3]] == ["(", ")"]
        if is_call and not (i and tokens[i - 1].text == "."):
            yield name, i, i + 2


def _words(tree: exp.Expr, tokens: Sequence[Token], scope: Scope) -> Iterator[tuple[str, int, int]]:
    for node in tree.find_all(ColumnName):
        name = ".".join(node.parts_of_name).lower()
        if name in _WORDS and not scope.has(name):
            # In brackets the node begins with them.
            inside = range(node.meta["first"], node.meta["last"] + 1)
            yield from ((name, i, i) for i in inside if _name(tokens[i]) == name)


def _name(token: Token) -> str:
    return token.text.strip("`").lower()
