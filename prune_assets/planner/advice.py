"""Why little is skipped, and what would help: another wording, an order of the rows, a bloom filter, statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import from_numpy, numbers_from, scalar_of, valid_flags
from parquet_core.evidence.bloom import probes
from parquet_core.evidence.many_leaves import outcomes_of_values
from parquet_core.outcomes import Outcomes, may_match
from parquet_core.predicate import (
    ColumnLeaf,
    Compare,
    CompareColumns,
    Constant,
    Interval,
    IsNull,
    IsTruth,
    Not,
    Op,
    StartsWith,
    Unsupported,
    columns_of,
    conjuncts_of,
    leaves,
)
from parquet_core.pruning import fold
from parquet_core.quantities import bytes_text
from parquet_core.trees import post_order
from prune_assets.planner.unknown_zone import is_for_want_of_zone
from prune_assets.report.quantities import share_text
from prune_assets.report.skip_report import Advice, Remedy
from prune_assets.report.wording import row_groups_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Path, Predicate
    from parquet_core.trust.bounds import Bounds
    from prune_assets.planner.plan import Plan
    from prune_assets.report.skip_report import Extent
    from prune_assets.report.skip_report import Leaf as LeafReport


# Evenly spread values that are tried, to estimate how many of all a predicate asks for.
_POINTS = 1_000
_LARGEST = 9e18


class Spread(NamedTuple):
    """Shares, from 0 to 1, of all values of a column: what a row group holds on average, what is asked for."""

    of_row_group: float
    asked: float


def spread_of(bounds: Bounds, conjuncts: tuple[Predicate, ...]) -> Spread | None:
    """Return how the values of one column lie and what predicates on it alone ask for together; None when unknown."""
    low, high = _numbers(bounds.lower), _numbers(bounds.upper)
    if low is None or high is None:
        return None
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return None
    least, most = float(low[known].min()), float(high[known].max())
    # One whole number, day or microsecond is one value.
    unit = 0.0 if pa.types.is_floating(bounds.lower.type) or pa.types.is_decimal(bounds.lower.type) else 1.0
    whole = most - least + unit
    if whole <= 0:
        return None
    points = least + whole * (np.arange(_POINTS) + 0.5) / _POINTS
    asked = np.mean(np.all([_selects(part, _values(points, bounds.lower.type)) for part in conjuncts], axis=0))
    return Spread(float(np.mean((high - low + unit)[known])) / whole, float(asked))


def _selects(predicate: Predicate, values: pa.Array) -> NDArray[np.bool_]:
    return may_match(fold(predicate, [_answers(leaf, values) for leaf in leaves(predicate)]))


def _answers(leaf: Leaf, values: pa.Array) -> OutcomeArray:
    if isinstance(leaf, ColumnLeaf):
        return outcomes_of_values(leaf, values)
    known = leaf.outcomes if isinstance(leaf, Constant) else Outcomes.UNKNOWN
    return np.full(len(values), known, np.uint8)


def _values(points: NDArray[np.float64], kind: pa.DataType) -> pa.Array:
    """Return doubles as numbers, days or ticks; whole ones are those before the points."""
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return from_numpy(points).cast(kind, safe=False)
    whole = from_numpy(np.floor(np.clip(points, -_LARGEST, _LARGEST)).astype(np.int64))
    return whole.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else whole.cast(kind, safe=False)


def _numbers(values: pa.Array) -> NDArray[np.float64] | None:
    """Return numbers, days or ticks as doubles, NaN where unknown; None for what is no number."""
    kind = values.type
    if pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    doubles = pc.cast(values, pa.float64(), safe=False)
    return numbers_from(pc.fill_null(doubles, scalar_of(np.nan, pa.float64())))


# Advice is given where less than this is skipped, and only of what saves at least as much again.
_ENOUGH_SKIPPED = 0.5
_WORTH_IT = 0.7
_MOST_REMEDIES = 3
_MOST_COLUMNS = 20
# Dictionaries that are looked at to tell whether a value is there.
_SAMPLE = 50
_ONE_ROW_GROUP = (
    "write more row groups, and pages with a column index, in the order of the columns that predicates name: "
    "LayoutSpec(sort_by=.., row_group_rows=.., page_rows=..)"
)


def advise(plan: Plan, total: Extent, *, told: tuple[LeafReport, ...]) -> Advice | None:
    """Say what keeps most of the bytes from being skipped, None where enough of them are; reads nothing more."""
    kept = plan.kept.extent(plan.index)
    if not kept.bytes or total.bytes - kept.bytes >= _ENOUGH_SKIPPED * total.bytes:
        return None
    proven = int(plan.evaluation.access.matches.row_totals(len(plan.index)).sum())
    if proven * 2 >= kept.rows:
        share = share_text(proven, kept.rows)
        return Advice(f"the predicate is true of {share} of the rows that are read: there is little to skip")
    columns = [_Column(plan, column, parts) for column, parts in _by_column(plan)]
    found = [*_of_wording(plan), *(remedy for one in columns for remedy in one.remedies())]
    if len(plan.index) == 1 and any(one.is_known for one in columns):
        found.append(Remedy("row_groups", _ONE_ROW_GROUP))
    found.sort(key=lambda remedy: (remedy.kept_bytes is None, remedy.kept_bytes or 0))
    return Advice(_why(plan, columns, told), tuple(found[:_MOST_REMEDIES]))


def _by_column(plan: Plan) -> list[tuple[LeafColumn, tuple[Predicate, ...]]]:
    """Return the columns of files of which conjuncts ask on their own, with these."""
    by_path: dict[Path, list[Predicate]] = {}
    for conjunct in conjuncts_of(plan.lowered.predicate):
        paths = set(columns_of(conjunct))
        if len(paths) == 1 and not any(isinstance(leaf, CompareColumns | Unsupported) for leaf in leaves(conjunct)):
            by_path.setdefault(paths.pop(), []).append(conjunct)
    columns = {column.path: column for column in plan.index.columns}
    known = [(columns[path], tuple(parts)) for path, parts in by_path.items() if path in columns]
    return known[:_MOST_COLUMNS]


def _of_wording(plan: Plan) -> list[Remedy]:
    """Return what the refused parts themselves say would help."""
    parts = dict.fromkeys(leaf for leaf in leaves(plan.lowered.predicate) if isinstance(leaf, Unsupported))
    told = [(part.sql, remedy) for part in parts if (remedy := remedy_in(plan, part))]
    return [Remedy("write_predicate", f"{sql}: {remedy}") for sql, remedy in told]


def remedy_in(plan: Plan, part: Unsupported) -> str:
    """Say what would help a plan with a part that it keeps data for; empty where nothing is known."""
    return plan.zone_remedy if is_for_want_of_zone(part) and part.remedy else remedy_of(part)


def remedy_of(part: Unsupported) -> str:
    """Say what to write instead of a part that no metadata is asked about; empty where nothing is known."""
    if not part.rewrite:
        return part.remedy
    return f"write {part.rewrite}" if part.exact else f"write {part.rewrite}, if that is what you mean"


def _why(plan: Plan, columns: list[_Column], told: tuple[LeafReport, ...]) -> str:
    refused = [leaf for leaf in leaves(plan.lowered.predicate) if isinstance(leaf, Unsupported)]
    if not columns and refused:
        asked = refused[0].sql if is_for_want_of_zone(refused[0]) else f"no metadata can answer {refused[0].sql}"
        return f"{asked}: {refused[0].reason}"
    if len(plan.index) == 1:
        return "the table is a single row group: all of its values lie together"
    silent = [one.name for one in columns if not one.is_known]
    if silent and len(silent) == len(columns):
        return f"most row groups carry no bounds of {', '.join(silent)}"
    lying = [(one.name, one.spread) for one in columns if one.spread]
    if lying and math.prod(spread.asked for _, spread in lying) >= _ENOUGH_SKIPPED:
        asked = ", ".join(f"{_share(spread.asked)} of the range of {name}" for name, spread in lying)
        return f"the predicate asks for {asked}: there is little to skip"
    spread = [f"{_share(spread.of_row_group)} of the range of {name}" for name, spread in lying]
    if spread:
        return f"values lie all over the table: a row group spans on average {', '.join(spread)}"
    read = int(np.count_nonzero(plan.kept.rows > 0))
    widest = max(told, key=lambda leaf: leaf.open_bytes)
    return f"{widest.sql} may be true in {row_groups_text(widest.open_row_groups)} of the {read:,} that are read"


class _Column:
    """A column of the predicate, and what would make it rule out more."""

    def __init__(self, plan: Plan, column: LeafColumn, parts: tuple[Predicate, ...]) -> None:
        self.plan, self.column, self.parts = plan, column, parts
        self.name = column.name
        bounds = plan.index.footers.bounds(column)
        self.read = np.flatnonzero(plan.kept.rows > 0)
        self.known = valid_flags(bounds.lower) & valid_flags(bounds.upper)
        self.spread: Spread | None = spread_of(bounds, parts)

    @property
    def is_known(self) -> bool:
        """Tell whether half of what is read has bounds of it."""
        return bool(2 * np.count_nonzero(self.known[self.read]) >= len(self.read))

    def remedies(self) -> list[Remedy]:
        """Return what helps, the surest first."""
        if all(isinstance(leaf, IsNull) for part in self.parts for leaf in leaves(part)):
            return []
        found = [self._statistics(), self._sort(), self._bloom()]
        return [remedy for remedy in found if remedy is not None]

    def _statistics(self) -> Remedy | None:
        if self.is_known:
            return None
        silent = row_groups_text(int(np.count_nonzero(~self.known[self.read])))
        return Remedy(
            "statistics", f"{silent} of what is read carry no bounds of {self.name}: write them with statistics"
        )

    def _sort(self) -> Remedy | None:
        count = len(self.plan.index)
        if count == 1 or not self.is_known:
            return None
        if self.spread is None:
            said = f"sort by {self.name}: most row groups may hold what the predicate asks for; sorted, few would"
            return Remedy("sort_by", said) if self._asks_for_little() else None
        whole, now = int(self.plan.sizes.bytes.sum()), int(self.plan.kept.bytes.sum())
        # What is asked for seldom begins where a row group does.
        then = min(whole, round(whole * min(1.0, self.spread.asked + 1 / count)))
        if then > _WORTH_IT * now:
            return None
        asked = _share(self.spread.asked)
        said = (
            f"sort by {self.name}: a row group spans {_share(self.spread.of_row_group)} of its range on average, the "
            f"predicate asks for {asked}; sorted, about {bytes_text(then)} of {bytes_text(whole)} would be read"
        )
        return Remedy("sort_by", said, then)

    def _asks_for_little(self) -> bool:
        asked = [leaf for part in self.parts for leaf in leaves(part)]
        negated = any(isinstance(node, Not | IsTruth) for part in self.parts for node, _ in post_order(part))
        return not negated and all(_is_selective(leaf) for leaf in asked)

    def _bloom(self) -> Remedy | None:
        asked = [leaf for part in self.parts for leaf in leaves(part)]
        if not all(map(_is_equality, asked)) or self._is_answered(self.read[:_SAMPLE]):
            return None
        said = (
            f"a bloom filter on {self.name} (1 % false positives) would rule out about 99 of 100 row groups that lack "
            f"the value"
        )
        return Remedy("bloom_filter", said)

    def _is_answered(self, positions: NDArray[np.int64]) -> bool:
        """Tell whether filters are there, or dictionaries tell that the value is."""
        if (self.plan.index.footers.chunks(self.column).bloom_filter[positions, 0] > 0).any():
            return True
        at_hand = self.plan.index.dictionaries.at_hand(self.column, positions)
        return 2 * sum(not isinstance(one, str) and one is not None for one in at_hand) >= len(positions)


def _is_equality(leaf: Leaf) -> bool:
    return probes(leaf) is not None and not (isinstance(leaf, Compare) and leaf.op == Op.NE)


def _is_selective(leaf: Leaf) -> bool:
    return _is_equality(leaf) or isinstance(leaf, StartsWith | Interval)


def _share(part: float) -> str:
    return share_text(max(round(part * 1_000_000), 1), 1_000_000)
