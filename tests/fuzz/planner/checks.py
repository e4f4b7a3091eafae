"""Checks of the plan of a predicate on a table."""

from __future__ import annotations

import contextlib
import traceback
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from parquet_core.errors import PruneError
from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import IsTruth, Not
from prune_assets.planner.explain.plan import plan

from .exceptions import UNSEEN_NAN, case_number, rests_on_unseen_nan
from .planned import refused, without_lookups
from .spellings import Pair
from .truth import TRUE

REPORTED = 20  # one in this many plans is made by the public `plan`, and its report is added up


class Case(NamedTuple):
    """A predicate on a table and its plan; `ranges` and `matches` have one flag per row."""

    ground: object
    predicate: object
    lowered: object
    ranges: np.ndarray
    matches: np.ndarray


class Finding(NamedTuple):
    """A failed check: its name, the predicate, and the observation."""

    check: str
    where: str
    detail: str


@dataclass
class Tally:
    """Counts over all cases; `levels` counts row groups by the level that skipped them, and rows."""

    cases: int = 0
    counts: Counter = field(default_factory=Counter)
    levels: Counter = field(default_factory=Counter)
    exceptions: Counter = field(default_factory=Counter)
    refusals: Counter = field(default_factory=Counter)
    peers_failed: dict[str, str] = field(default_factory=dict)


def judged(ground, predicate, answers, tally, *, peers=(), voice=None):
    """Return the findings of a case, including crashes; `predicate` may be a pair of spellings."""
    try:
        if isinstance(predicate, Pair):
            tally.cases += 1
            tally.counts["pairs of spellings"] += 1
            return list(same_plan(ground, predicate, tally))
        found = list(judge(ground, predicate, answers, tally, peers))
        return found if voice is None else [*found, *_confirmed(voice, predicate, answers, tally)]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        where = " ~ ".join(predicate[1:3]) if isinstance(predicate, Pair) else predicate.sql
        return [Finding("no crash", where, "".join(traceback.format_exception(error)[-3:]))]


def judge(ground, predicate, answers, tally, peers=()):
    """Yield the findings for the plan of one predicate.

    `answers`: Spark's answer for every row, or its error message.
    """
    tally.cases += 1
    raised = isinstance(answers, str)
    tally.counts["without an answer"] += raised
    try:
        lowered = ground.planner.lower(predicate.sql)
    except PruneError as error:
        tally.counts["refused as wrong"] += 1
        if not raised:
            yield Finding("accepted by Spark", predicate.sql, f"{type(error).__name__}: {error}")
        return
    reasons = refused(lowered)
    tally.counts["lowered wholly"] += not reasons
    tally.refusals.update(reasons)
    evaluation = ground.planner.evaluate(lowered)
    access = evaluation.access
    flags = (ground.planner.flags(rows) for rows in (access.ranges, access.matches))
    case = Case(ground, predicate, lowered, *flags)
    yield from _finer_than_less(case)
    yield from _parts(case)
    if tally.cases % REPORTED == 0:
        yield from _reported(case, None if raised else answers == TRUE)
    if raised:
        return
    selected = answers == TRUE
    yield from _sound(case, selected)
    _count(case, evaluation, selected, tally)
    for peer in peers:
        yield from _sharp(case, selected, peer, tally)


def _confirmed(voice, predicate, answers, tally):
    """Compare the rows that Spark and DuckDB select; skipped if either has no answer."""
    said = None if isinstance(answers, str) else voice.answer(predicate)
    if said is None:
        return
    tally.counts["answers held against DuckDB's"] += 1
    if np.any(other := said != answers):
        yield Finding("Spark and DuckDB agree", predicate.sql, f"not about {_shown(other)}")


def _sound(case, selected):
    if np.any(lost := selected & ~case.ranges):
        yield Finding("every selected row is kept", case.predicate.sql, f"lost: {_shown(lost)}")
    if np.any(wrong := case.matches & ~selected):
        yield Finding("rows said to match are selected", case.predicate.sql, f"not selected: {_shown(wrong)}")


def _finer_than_less(case):
    """Check that more evidence keeps no additional rows, and proves no fewer matches."""
    planner, where = case.ground.planner, case.predicate.sql
    coarse = planner.plan(case.lowered, pages=False)
    with without_lookups():
        blind = planner.plan(case.lowered)
        yield from _apart(case, blind)
    for name, less in (("row groups alone", coarse), ("no lookups", blind)):
        if np.any(more := case.ranges & ~less.ranges):
            yield Finding("more evidence keeps no more", where, f"than {name}: {_shown(more)}")
        if np.any(fewer := less.matches & ~case.matches):
            yield Finding("more evidence proves no less", where, f"than {name}: {_shown(fewer)}")


def _apart(case, blind):
    """Check that a proven row is excluded from the opposite predicate.

    The plans use equal evidence: without lookups, which are made only where they skip most.
    """
    opposite = case.ground.planner.plan(Not(case.lowered))
    unknown = case.ground.planner.plan(IsTruth(case.lowered, Outcomes.NULL))
    three = {"p": blind, "NOT p": opposite, "p IS NULL": unknown}
    for one, (_, certain) in three.items():
        for other, (possible, _) in three.items():
            if one != other and np.any(both := certain & possible):
                yield Finding("TRUE, FALSE and NULL are apart", case.predicate.sql, f"{one}, {other}: {_shown(both)}")


def _parts(case):
    """Check that each row is kept by the predicate, by its negation, or by IS NULL of the predicate."""
    opposite = case.ground.planner.plan(Not(case.lowered))
    unknown = case.ground.planner.plan(IsTruth(case.lowered, Outcomes.NULL))
    if np.any(missing := ~(case.ranges | opposite.ranges | unknown.ranges)):
        yield Finding("TRUE, FALSE and NULL make all", case.predicate.sql, f"in none: {_shown(missing)}")


def _reported(case, selected):
    """Check the public `plan`: same rows, or fewer if it evaluates values, and a report whose levels add up."""
    made = plan(case.ground.directory, where=case.predicate.sql, semantics=case.ground.planner.semantics)
    report, where = made.report, case.predicate.sql
    kept_rows = case.ground.planner.flags_of(made)
    other = kept_rows & ~case.ranges if made.tests else kept_rows != case.ranges
    if np.any(other):
        yield Finding("the public plan is the same", where, f"differs: {_shown(other)}")
    if selected is not None and np.any(lost := selected & ~kept_rows):
        yield Finding("every selected row is kept", where, f"the public plan skips {_shown(lost)}")
    # Rows of unopened files are not counted.
    total = report.levels[0].kept.rows if report.total.rows is None else report.total.rows
    skipped = sum(level.skipped_rows for level in report.levels if level.skipped_rows is not None)
    if not report.kept.rows == total - skipped == int(kept_rows.sum()):
        yield Finding("the report adds up", where, f"{report.kept.rows}, {total} - {skipped}")
    kept = [level.kept.rows for level in report.levels]
    if kept != sorted(kept, reverse=True):
        yield Finding("the report adds up", where, f"rows kept by level: {kept}")


def _sharp(case, selected, peer, tally):
    try:
        kept = peer.keeps(case.predicate.sql, case.lowered)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the peer's
        tally.counts[f"{peer.name} failed"] += 1
        tally.peers_failed.setdefault(f"{peer.name}: {type(error).__name__}", f"{case.predicate.sql}: {error}")
        return
    if kept is None:
        return
    tally.counts[f"compared with {peer.name}"] += 1
    tally.counts[f"rows kept by {peer.name}"] += int(kept.sum())
    tally.counts[f"rows kept beside {peer.name}"] += int(case.ranges.sum())
    extra = case.ranges & ~kept
    if not np.any(extra):
        return
    number = _number(case, selected, peer, kept, extra)
    if number is None:
        refusals = "".join(f"; does not prune: {reason}" for reason in refused(case.lowered))
        yield Finding(f"sharper than {peer.name}", case.predicate.sql, f"kept: {_shown(extra)}{refusals}")
    else:
        tally.exceptions[f"{peer.name}: {number}"] += 1


def _number(case, selected, peer, kept, extra):
    """Return the reason why the peer may skip more; None if there is no valid reason.

    Conditions that only prune-assets refuses are no reason: the peer's skip must follow from the remaining predicate.
    """
    if np.any(selected & ~kept):
        return "it drops a selected row"
    lowered = case.lowered
    if refused(lowered):
        if rests_on_unseen_nan(case.ground, lowered, extra):
            return UNSEEN_NAN
        known = case.ground.planner.weakened(case.predicate.sql)
        lowered = case.ground.planner.lower(known)
        kept_by_known = peer.keeps(known, lowered)
        if kept_by_known is None or np.any(extra & kept_by_known):
            return None
    return case_number(case.ground, peer, lowered, extra)


def same_plan(ground, pair, tally):
    """Yield the findings about the plans of two spellings."""
    both = f"{pair.left}  ~  {pair.right}"
    errors = {_error(ground, text) for text in (pair.left, pair.right)}
    if errors != {None}:
        if len(errors) > 1:
            yield Finding(f"same plan: {pair.name}", both, f"one is an error: {errors}")
        return
    trees = [ground.planner.lower(text) for text in (pair.left, pair.right)]
    if refused(trees[0]) != refused(trees[1]) or (pair.finer and refused(trees[0])):
        tally.counts["pairs of which one is refused in part"] += 1
        return
    with without_lookups() if pair.finer else contextlib.nullcontext():
        left, right = (ground.planner.plan(tree) for tree in trees)
    if np.any(rows := left.ranges & ~right.ranges if pair.finer else left.ranges != right.ranges):
        yield Finding(f"same plan: {pair.name}", both, f"ranges: {_shown(rows)}")
    if not pair.finer and np.any(rows := left.matches != right.matches):
        yield Finding(f"same plan: {pair.name}", both, f"matches: {_shown(rows)}")


def _error(ground, text):
    try:
        ground.planner.lower(text)
    except PruneError as error:
        return type(error).__name__
    return None


def _count(case, evaluation, selected, tally):
    """Count the row groups, and the rows at last, that each level skipped, out of those without a match."""
    base, rows = case.ground.planner.base, case.ground.planner.index.groups.row_count
    hit = np.logical_or.reduceat(selected, base) if len(base) else np.zeros(0, np.bool_)
    alive = np.ones(len(base), np.bool_)
    tally.levels["row groups"] += len(base)
    tally.levels["row groups without a selected row"] += int((~hit & (rows > 0)).sum())
    for level in evaluation.states:
        now = may_match(level.outcomes)
        tally.levels[f"row groups skipped by {level.level}"] += int((alive & ~now).sum())
        alive &= now
    inside = np.repeat(alive, rows)
    tally.levels["rows"] += len(selected)
    tally.levels["rows not selected"] += int((~selected).sum())
    tally.levels["rows skipped"] += int((~case.ranges).sum())
    tally.levels["rows skipped inside of row groups"] += int((inside & ~case.ranges).sum())
    tally.levels["rows proven to be selected"] += int(case.matches.sum())
    tally.levels["rows selected"] += int(selected.sum())


def _shown(flags):
    rows = np.flatnonzero(flags).tolist()
    return f"{len(rows)} rows, {rows[:5]}"
