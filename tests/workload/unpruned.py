"""Find ordinary predicates that skip little although few row groups contain a match, and the reasons.

`python -m workload.unpruned [table ...]` prints the predicates by reason, the most frequent first. No data is read
through a plan. The script also checks that each plan keeps every match.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import NamedTuple

import numpy as np

import prune_assets as pr
from parquet_core.errors import PruneError
from prune_assets.spark.semantics_of_session import semantics_of
from tests.fuzz.planner.planned import Planner
from tests.fuzz.planner.session import own_session
from tests.fuzz.planner.truth import TRUE, Truth

from .fixture_lines import fixture_lines
from .tables import TABLES, own_ground

FEW = 0.5
_WIDE = "all was asked: bounds, dictionaries and filters allow a match everywhere"


class Asked(NamedTuple):
    sql: str
    risky: bool = False


class Kept(NamedTuple):
    """Row groups of a table: with a match, kept by the plan at least in part, and in total."""

    table: str
    sql: str
    matching: int
    kept: int
    total: int
    reasons: tuple[str, ...]
    lost: int

    @property
    def is_dull(self):
        return self.kept == self.total and self.matching <= FEW * self.total


def kept_of(ground, name, predicates):
    """Plan predicates on a table, and compare the kept row groups with Spark's matches."""
    planner = Planner(ground.path(name), semantics_of(ground.spark))
    truth = Truth(ground.spark, ground.path(name), [Asked(sql) for sql in predicates], planner).of
    return [_kept(ground, name, planner, sql, answers) for sql, answers in zip(predicates, truth, strict=True)]


def _kept(ground, name, planner, sql, answers):
    if isinstance(answers, str):
        return Kept(name, sql, 0, 0, 0, (f"Spark: {answers[:120]}",), 0)
    try:
        made = pr.plan(ground.path(name), where=sql, session=ground.spark)
    except PruneError as error:
        return Kept(name, sql, 0, 0, 0, (f"plan: {str(error)[:120]}",), 0)
    kept, matches = planner.flags_of(made), answers == TRUE
    group = np.repeat(np.arange(len(planner.index)), planner.index.groups.row_count)
    count = [len(np.unique(group[flags])) for flags in (matches, kept)]
    reasons = tuple(dict.fromkeys(part.reason for part in made.report.unsupported)) or (_WIDE,)
    return Kept(name, sql, *count, len(planner.index), reasons, int(np.count_nonzero(matches & ~kept)))


def all_kept(ground, names):
    by_table = defaultdict(list)
    for line in fixture_lines():
        for name in line.tables:
            by_table[name].append(line.predicate)
    for name in names:
        found = kept_of(ground, name, by_table[name])
        print(f"# {name}: {len(found)} predicates, {sum(one.is_dull for one in found)} skip nothing", flush=True)
        for one in found:
            if one.is_dull or one.lost or not one.total:
                what = f"{one.matching}/{one.kept}/{one.total} {one.reasons} {one.lost or ''}"
                print(f"{one.table}: {one.sql}: {what}", flush=True)
        yield from found


def main(*names):
    with own_session() as spark, own_ground(spark) as ground:
        found = list(all_kept(ground, names or TABLES))
    known = [one for one in found if one.total]
    dull = [one for one in known if one.is_dull]
    predicates = {one.sql for one in known}
    print(
        f"{len(predicates)} predicates, {len(known)} of them with a table; {sum(one.lost for one in known)} rows lost"
    )
    best = sum(one.matching for one in known)
    groups, kept = sum(one.total for one in known), sum(one.kept for one in known)
    print(f"row groups: {groups:,}; with a match {best:,}; kept {kept:,}")
    print(f"{len(dull)} skip nothing although at most half of the row groups hold a match\n")
    print("| reason | times | predicates | for example |\n|---|---|---|---|")
    by_reason = defaultdict(list)
    for one in dull:
        for reason in one.reasons:
            by_reason[reason].append(one)
    for reason, ones in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        examples = "; ".join(
            f"`{one.sql}` ({one.table}, {one.matching} of {one.total})" for one in ones[:: max(1, len(ones) // 3)][:3]
        )
        print(f"| {reason} | {len(ones)} | {len({one.sql for one in ones})} | {examples} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
