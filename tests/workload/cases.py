"""Cases of the workload: each predicate on each of its tables, with rotating settings."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .columns import COLUMNS
from .fixture_lines import fixture_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PLAIN: Mapping[str, str] = {}
SETTINGS = {
    "plain": PLAIN,
    "ansi off": {"spark.sql.ansi.enabled": "false"},
    "Los Angeles": {"spark.sql.session.timeZone": "America/Los_Angeles"},
    "Kolkata": {"spark.sql.session.timeZone": "Asia/Kolkata"},
    "case sensitive": {"spark.sql.caseSensitive": "true"},
    "as a Column": PLAIN,
}


@dataclass(frozen=True)
class Case:
    """A predicate on a table.

    `column`: creates the condition as a Column, for conditions that SQL text cannot express. `explained`: run `prune
    explain` too.
    """

    table: str
    predicate: str
    setting: str
    column: Callable[[], object] | None = field(default=None, compare=False)
    explained: bool = False

    @property
    def id(self):
        return f"{self.table}: {self.predicate} ({self.setting})"

    def where(self):
        """Return the condition as a user would pass it: text, or a Column."""
        from pyspark.sql import functions as fn

        if self.column is not None:
            return self.column()
        return fn.expr(self.predicate) if self.setting == "as a Column" else self.predicate


def all_cases():
    """Return all cases: every predicate with plain settings on its first table, rotating settings on the others."""
    found, names = [], list(SETTINGS)
    for number, line in enumerate(fixture_lines()):
        for place, table in enumerate(line.tables):
            setting = names[0] if place == 0 else names[1 + (number + place) % (len(names) - 1)]
            explained = setting != "as a Column" and (number + place) % 3 == 0
            found.append(Case(table, line.predicate, setting, explained=explained))
    return [*found, *(Case(table, name, "as a Column", make) for name, table, make in COLUMNS)]


def sample(count, *, table):
    """Return up to `count` cases of a table, always the same."""
    cases = [case for case in all_cases() if case.table == table]
    return random.Random(table).sample(cases, min(count, len(cases)))
