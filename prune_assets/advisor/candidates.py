"""Candidate layouts, with the reasons for trying them. Their keys are columns that the workload filters on."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.layout.spec import LayoutSpec
from parquet_core.pruning.evidence.bloom import probes
from parquet_core.quantities import bytes_text, counted
from prune_assets.advisor.simulate import simulate
from prune_assets.planner.explain.column_advice import LEAST_PARTITION_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prune_assets.advisor.queries import Query
    from prune_assets.advisor.simulate import Simulated, Workspace
    from prune_assets.simulation.sample import SampledColumn

# Limits: columns to try, orders to extend by another column, keys of an order, and columns of curves.
MOST_COLUMNS = 8
_BEAM = 3
_MOST_KEYS = 3
_CURVE_COLUMNS, _MOST_CURVE_COLUMNS = 4, 6
# Maximum number of distinct values of a column for directories, and minimum number for a useful bloom filter.
_MOST_PARTITIONS = 100
_FEWEST_IN_FILTER = 1_000
_FALSE_POSITIVES = 0.01
# A change that makes a layout more complex or more expensive to write must reduce the bytes that queries read to less
# than this share.
WORTH_IT = 0.9
FINER_PAGES, FINEST_PAGES = 5_000, 2_000
_USUAL = LayoutSpec()
# Each change is tried together with the changes that were accepted before it.
_FINER: tuple[tuple[dict[str, Any], str], ...] = (
    ({"page_rows": FINER_PAGES}, "smaller pages let a query skip more of the rows around its matches"),
    ({"page_rows": FINEST_PAGES}, "even smaller pages skip more of these rows"),
    (
        {"row_group_bytes": 8 << 20},
        "a dictionary or bloom filter rules out a whole row group or nothing, so smaller row groups skip more",
    ),
    ({"row_group_bytes": _USUAL.row_group_bytes}, "larger row groups store values of dictionaries less often"),
)
# A Spark task reads the row groups whose middle is in its split of a file. A split has the size of the table divided by
# the number of cores, but at least `spark.sql.files.openCostInBytes`. Row groups smaller than a split therefore do not
# lead to more tasks.
_TASKS, _LEAST_SPLIT = 8, 4 << 20


def row_group_bytes_for(table_bytes: float) -> int:
    """Return a row group size at which a table has enough row groups for several Spark tasks.

    Large tables get the default size.

    >>> [row_group_bytes_for(size << 20) >> 20 for size in (7, 34, 140, 1_000)]
    [32, 4, 16, 32]
    """
    if table_bytes < 2 * _LEAST_SPLIT:
        return _USUAL.row_group_bytes
    wanted = 1 << int(math.log2(table_bytes / _TASKS))
    return max(_LEAST_SPLIT, min(_USUAL.row_group_bytes, wanted))


class Candidate(NamedTuple):
    """A layout, and why it is tried."""

    layout: LayoutSpec
    why: str

    def with_pages(self, rows: int) -> Candidate:
        """Return a copy with pages of `rows` rows."""
        return self._replace(layout=replace(self.layout, page_rows=rows))

    @property
    def title(self) -> str:
        """The layout in a few words."""
        layout, words = self.layout, []
        if layout.partition_by:
            words.append(f"partition by {', '.join(layout.partition_by)}")
        for verb, names in (("sort", layout.sort_by), ("z-order", layout.zorder_by), ("Hilbert", layout.hilbert_by)):
            words += [f"{verb} by {', '.join(names)}"] if names else []
        # If the order stays, the sizes are the only change.
        stays = not layout.sort_by and not layout.curve_by
        words += ["rows in the same order"] if stays else []
        words += [f"bloom filter on {name}" for name in layout.bloom]
        words += [f"pages of {layout.page_rows:,} rows"] if stays or layout.page_rows != _USUAL.page_rows else []
        is_named = stays or layout.row_group_bytes != _USUAL.row_group_bytes
        return ", ".join([*words, *([f"row groups of {bytes_text(layout.row_group_bytes)}"] if is_named else [])])


class Tried(NamedTuple):
    """A candidate, its simulation, and the bytes that the workload would read."""

    candidate: Candidate
    simulated: Simulated
    bytes: float


def try_out(workspace: Workspace, candidate: Candidate) -> Tried:
    """Simulate a candidate."""
    simulated = simulate(workspace, candidate.layout)
    return Tried(candidate, simulated, float(simulated.read @ np.array([query.runs for query in workspace.queries])))


def search(workspace: Workspace, base: LayoutSpec, columns: Sequence[str], say: Callable[[str], str]) -> list[Tried]:
    """Simulate orders of rows; return them, fewest bytes first.

    `say`: returns how much of the workload filters on a column, in words.
    """
    usual = usual_keys(workspace.queries, columns)
    as_it_lies = Candidate(base, "rows stay in their order; files of the target size, with page indexes")
    tried = [try_out(workspace, as_it_lies)]
    orders: list[Tried] = []
    level = [Candidate(replace(base, sort_by=[_quoted(name)]), say(name)) for name in columns]
    for _ in range(_MOST_KEYS):
        done = [try_out(workspace, candidate) for candidate in level]
        orders += done
        best = sorted(done, key=lambda it: it.bytes)[:_BEAM]
        level = [candidate for parent in best for candidate in _longer(parent.candidate, columns, say)]
    best = sorted(orders, key=lambda it: it.bytes)[:_BEAM]
    simulated_keys = {it.candidate.layout.sort_by for it in orders}
    first = {it.layout.sort_by: it for parent in best for it in _with_leading_key(parent.candidate, columns, say)}
    orders += [try_out(workspace, it) for keys, it in first.items() if keys not in simulated_keys]
    curves = [try_out(workspace, it) for it in _curves(base, _curve_columns(orders), usual)]
    best = sorted(curves, key=lambda it: it.bytes)[:_BEAM]
    curves += [
        try_out(workspace, it._replace(layout=replace(it.layout, hilbert_by=(), zorder_by=it.layout.hilbert_by)))
        for it in (parent.candidate for parent in best)
    ]
    simulations = sorted([*tried, *orders, *curves], key=lambda it: it.bytes)
    return sorted([*simulations, *_partitioned(workspace, base, simulations, columns)], key=lambda it: it.bytes)


def refined(workspace: Workspace, candidate: Candidate) -> Tried:
    """Add bloom filters and change page and row group sizes where this pays."""
    best = try_out(workspace, candidate)
    for change, why in (*_with_filters(workspace, candidate), *_FINER):
        layout = best.candidate.layout
        if not _is_worth_trying(layout, change):
            continue
        changed = replace(
            layout, **(change if "bloom" not in change else {"bloom": {**layout.bloom, **change["bloom"]}})
        )
        tried = try_out(workspace, Candidate(changed, f"{best.candidate.why}; {why}"))
        if tried.bytes < WORTH_IT * best.bytes:
            best = tried
    return best


def _is_worth_trying(layout: LayoutSpec, change: dict[str, Any]) -> bool:
    """Return True if a change of sizes is worth trying on a layout.

    The finest pages are tried only on a layout that has finer pages already. Compared with coarse pages, the finest
    pages would seem worth their cost even if finer pages save nearly as much and cost Spark less. Row groups only
    shrink or get the default size.
    """
    if change.get("page_rows") == FINEST_PAGES:
        return layout.page_rows == FINER_PAGES
    size: int = change.get("row_group_bytes", 0)
    return size < layout.row_group_bytes or size == _USUAL.row_group_bytes != layout.row_group_bytes


def with_another_key(shorter: Candidate, columns: Sequence[str]) -> Iterator[Candidate]:
    """Yield one candidate for each other column, appended to the sort key to order rows with equal keys."""
    why = "states the order that rows of equal keys have today"
    return _longer(shorter, columns, lambda name: f"{name} {why}")


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``")) if set(name) & {" ", "`"} else name


def _longer(shorter: Candidate, columns: Sequence[str], say: Callable[[str], str]) -> Iterator[Candidate]:
    keys = shorter.layout.sort_columns
    for name in columns:
        if name not in keys:
            layout = replace(shorter.layout, sort_by=[*shorter.layout.sort_by, _quoted(name)])
            yield Candidate(layout, f"{shorter.why}; within equal {keys[-1]}, {say(name)}")


def _with_leading_key(shorter: Candidate, columns: Sequence[str], say: Callable[[str], str]) -> Iterator[Candidate]:
    """Yield candidates with another column before the sort key.

    The new key alone may save nothing if the table is already sorted by it.
    """
    keys = shorter.layout.sort_by
    for name in columns:
        if name not in shorter.layout.sort_columns:
            layout = replace(shorter.layout, sort_by=[_quoted(name), *keys[: _MOST_KEYS - 1]])
            yield Candidate(layout, f"{say(name)}; within equal {name}, {shorter.why}")


def _curve_columns(orders: Sequence[Tried]) -> list[str]:
    """Return the best single keys and the most expensive columns, for curves."""
    single = {it.candidate.layout.sort_columns[0]: it.bytes for it in orders if len(it.candidate.layout.sort_by) == 1}
    best = sorted(single, key=lambda name: single[name])[:_CURVE_COLUMNS]
    return list(dict.fromkeys([*best, *list(single)[:_CURVE_COLUMNS]]))[:_MOST_CURVE_COLUMNS]


def usual_keys(queries: Sequence[Query], columns: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the keys that people usually choose: the two and the three columns that most runs filter on."""
    runs = {name: sum(query.runs for query in queries if (name,) in query.paths()) for name in columns}
    most = tuple(sorted(columns, key=lambda name: -runs[name]))
    return {most[:2], most[:3]}


def _curves(base: LayoutSpec, columns: Sequence[str], usual: set[tuple[str, ...]]) -> Iterator[Candidate]:
    curves = [names for count in range(2, _CURVE_COLUMNS + 1) for names in combinations(columns, count)]
    column_sets = set(map(frozenset, curves))
    curves += [names for names in sorted(usual) if len(names) > 1 and frozenset(names) not in column_sets]
    for names in curves:
        why = f"queries filter by {', '.join(names)} apart from each other"
        yield Candidate(replace(base, hilbert_by=names), why)


def _partitioned(
    workspace: Workspace, base: LayoutSpec, simulations: Sequence[Tried], columns: Sequence[str]
) -> Iterator[Tried]:
    """Simulate partitions by columns with few values, combined with the best orders by other columns.

    Columns are left out if the directory of any value would be too small.
    """
    for name in columns if not base.partition_by else ():
        column = workspace.sample.columns[name,]
        counts = np.unique(column.codes, return_counts=True)[1]
        least = counts.min() / workspace.sample.rate * workspace.bytes_per_row
        if len(counts) > _MOST_PARTITIONS or least < LEAST_PARTITION_BYTES or not _names_directories(column):
            continue
        orders = [
            it.candidate.layout
            for it in simulations
            if name not in {*it.candidate.layout.sort_columns, *it.candidate.layout.curve_by}
        ]
        for layout in orders[:2]:
            why = f"{name} has {len(counts)} values, of {least / (1 << 20):,.0f} MiB and more each"
            yield try_out(workspace, Candidate(replace(layout, partition_by=[name]), why))


def _names_directories(column: SampledColumn) -> bool:
    arrow_type = column.column.type
    return arrow_type is not None and not pa.types.is_floating(arrow_type) and not (pa.types.is_binary(arrow_type))


def _with_filters(workspace: Workspace, best: Candidate) -> Iterator[tuple[dict[str, Any], str]]:
    for path, leaves in workspace.leaves.items():
        column = workspace.sample.columns[path]
        exact = [leaf for leaf in leaves if probes(leaf) is not None]
        # NaN and the two zeros hash by their bits, so parquet-java's bloom filters on floats prune too rarely to rely
        # on.
        has_filter = not pa.types.is_floating(column.values.type) and len(path) == 1 and "." not in path[0]
        if exact and has_filter and len(column.values) >= _FEWEST_IN_FILTER and path[0] not in best.layout.partition_by:
            why = f"{counted(len(exact), 'condition')} on {path[0]} for single values"
            yield {"bloom": {path[0]: _FALSE_POSITIVES}}, why
