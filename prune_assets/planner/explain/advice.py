"""Explain why no more is skipped, with remedies: another wording, another layout, a bloom filter, or statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from parquet_core.fix import Fix, Setting
from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import (
    Cause,
    Constant,
    MultiColumnLeaf,
    Unsupported,
    columns_of,
    conjuncts_of,
    leaves,
)
from parquet_core.pruning.trees import fold
from prune_assets.planner.explain.column_advice import ColumnAdvice, range_share
from prune_assets.report.quantities import share_text
from prune_assets.report.skip_report import Advice, Remedy
from prune_assets.report.wording import ENOUGH_SKIPPED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.predicate import Leaf, Predicate
    from prune_assets.planner.explain.remedies import Remedies
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.report.skip_report import Extent
    from prune_assets.report.skip_report import Leaf as LeafReport

_MOST_REMEDIES = 3
_MOST_COLUMNS = 20
_ONE_ROW_GROUP = Fix(
    "write more row groups, and pages with a column index, in the order of the columns that predicates name: ",
    setting=Setting.SMALL_ROW_GROUPS,
)

_NEVER_TRUE = (
    "no row can match this predicate, whatever the table holds; "
    "check its constants (= NULL is never true: write IS NULL)"
)


def advise(
    plan: PlannedRead, total: Extent, *, attributed: tuple[LeafReport, ...], remedies: Remedies
) -> Advice | None:
    """Explain what prevents more skipping, and the remedies; None if enough is skipped.

    No metadata is read for it. If half the bytes are skipped already, only columns that skip too little after the other
    conjuncts get advice. A predicate that no row can match gets advice too, because it often compares with NULL.
    """
    extent = plan.kept.extent(plan.index)
    if not extent.bytes:
        return Advice(_NEVER_TRUE) if _is_never_true(plan.lowered.predicate) else None
    is_enough = total.bytes - extent.bytes >= ENOUGH_SKIPPED * total.bytes
    proven = int(plan.evaluation.access.matches.row_totals(len(plan.index)).sum())
    rows = int(plan.kept.rows.sum())
    if proven * 2 >= rows:
        share = f"{'at least ' if proven < rows else ''}{share_text(proven, rows)}"
        why = f"the predicate is true of {share} of the rows that are read: there is little to skip"
        return None if is_enough else Advice(why)
    columns = _columns(plan)
    if is_enough:
        return _advise_on_open(columns)
    candidates = [*_wording_remedies(plan, remedies), *(remedy for column in columns for remedy in column.remedies())]
    if len(plan.index) == 1 and any(column.is_known for column in columns):
        candidates.append(Remedy("row_groups", str(_ONE_ROW_GROUP.with_setting(plan.table.format.settings))))
    return Advice(_why(plan, columns, attributed), _best(candidates))


def _is_never_true(predicate: Predicate) -> bool:
    """Return True if the predicate is FALSE or NULL because of its constants alone."""
    outcomes = [leaf.outcomes if isinstance(leaf, Constant) else Outcomes.UNKNOWN for leaf in leaves(predicate)]
    return not may_match(fold(predicate, np.array(outcomes, np.uint8)[:, np.newaxis])).any()


def _advise_on_open(columns: list[ColumnAdvice]) -> Advice | None:
    """Advise on columns that still skip little among the row groups that the other conjuncts keep.

    None if nothing helps.
    """
    open_columns = [(column, remedies) for column in columns if column.is_open and (remedies := column.remedies())]
    if not open_columns:
        return None
    why = "; ".join(column.skips_text() for column, _ in open_columns[:_MOST_REMEDIES])
    return Advice(why, _best([remedy for _, remedies in open_columns for remedy in remedies]))


def _best(remedies: list[Remedy]) -> tuple[Remedy, ...]:
    ordered = sorted(remedies, key=lambda remedy: (remedy.kept_bytes is None, remedy.kept_bytes or 0))
    return tuple(ordered[:_MOST_REMEDIES])


def _columns(plan: PlannedRead) -> list[ColumnAdvice]:
    """Return the columns with conjuncts on this column alone, each with these conjuncts."""
    by_path: dict[Path, list[Predicate]] = {}
    for conjunct in conjuncts_of(plan.lowered.predicate):
        paths = set(columns_of(conjunct))
        stops = any(isinstance(leaf, MultiColumnLeaf) or _is_refused(leaf) for leaf in leaves(conjunct))
        if len(paths) == 1 and not stops:
            by_path.setdefault(paths.pop(), []).append(conjunct)
    columns: dict[Path, LeafColumn] = {column.path: column for column in plan.index.groups.columns}
    paths_known = [path for path in by_path if path in columns][:_MOST_COLUMNS]
    remaining = _remaining_without(plan, paths_known)
    return [ColumnAdvice(plan, columns[path], tuple(by_path[path]), remaining[path]) for path in paths_known]


def _remaining_without(plan: PlannedRead, paths: list[Path]) -> dict[Path, NDArray[np.int64]]:
    """Return, per column, the row groups that remain without the conjuncts on this column alone."""
    outcomes, first = plan.evaluation.row_groups.by_leaf, 0
    denials = np.zeros(len(plan.index), np.int64)
    own = {path: np.zeros(len(plan.index), np.int64) for path in paths}
    for conjunct in conjuncts_of(plan.evaluation.predicate):
        count = sum(1 for _ in leaves(conjunct))
        denied = ~may_match(fold(conjunct, outcomes[first : first + count]))
        first += count
        denials += denied
        named = columns_of(conjunct)
        if len(named) == 1 and named[0] in own:
            own[named[0]] += denied
    has_rows = plan.index.groups.row_count != 0
    return {path: np.flatnonzero((denials == of_path) & has_rows) for path, of_path in own.items()}


def _wording_remedies(plan: PlannedRead, remedies: Remedies) -> list[Remedy]:
    """Return the remedies of the unsupported conditions."""
    parts = dict.fromkeys(leaf for leaf in leaves(plan.lowered.predicate) if _is_refused(leaf))
    return [Remedy("write_predicate", f"{part.sql}: {remedy}") for part in parts if (remedy := remedies.of(part))]


def _why(  # noqa: PLR0911 - one return for each reason
    plan: PlannedRead, columns: list[ColumnAdvice], attributed: tuple[LeafReport, ...]
) -> str:
    refused = [leaf for leaf in leaves(plan.lowered.predicate) if _is_refused(leaf)]
    if not columns and refused:
        part = refused[0].sql if refused[0].cause is Cause.TIME_ZONE else f"no metadata can answer {refused[0].sql}"
        return f"{part}: {refused[0].reason}"
    if len(plan.index) == 1:
        return "the table has one row group, so row-group statistics and bloom filters cannot skip anything"
    compared = [column for column in columns if not column.null_text]
    silent = [column.name for column in compared if not column.is_known]
    if silent and len(silent) == len(compared):
        return f"most row groups have no bounds of {', '.join(silent)}"
    if by_nan := [column.nan_text for column in compared if column.nan_text]:
        return by_nan[0]
    spreads = [(column.name, column.spread) for column in compared if column.spread]
    if spreads and math.prod(spread.requested for _, spread in spreads) >= ENOUGH_SKIPPED:
        shares = ", ".join(f"{range_share(spread.requested)} of the range of {name}" for name, spread in spreads)
        return f"the predicate covers {shares}: there is little to skip"
    if spreads:
        shares = ", ".join(f"{range_share(spread.of_row_group)} of the range of {name}" for name, spread in spreads)
        return f"values are spread over the table: a row group spans on average {shares}{_next_step(columns)}"
    if len(compared) < len(columns):
        return "; ".join(column.null_text for column in columns if column.null_text)
    read = int(np.count_nonzero(plan.kept.rows > 0))
    widest = max(attributed, key=lambda leaf: leaf.open_bytes)
    may_match = widest.open_row_groups
    share = f"all {read:,}" if may_match == read else f"{may_match:,} of the {read:,}"
    return f"{widest.sql} may match in {share} row groups that are read{_next_step(columns)}"


def _next_step(columns: list[ColumnAdvice]) -> str:
    """Name the advisor as the next step if no column has a remedy; "" otherwise.

    For example, a column with few values has no remedy, because a sort by it seldom suits all queries.
    """
    looks_up = any(column.selects_little() for column in columns) and not any(column.remedies() for column in columns)
    return "; `prune advise` compares layouts for such queries" if looks_up else ""


def _is_refused(leaf: Leaf) -> TypeGuard[Unsupported]:
    return isinstance(leaf, Unsupported) and leaf.cause is not Cause.FAR_YEARS
