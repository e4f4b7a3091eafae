"""Simulate the bytes that queries would read in a layout, by the bounds that the layout's pages would have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.pruning.evidence.many_leaves import bounds_of_values, outcomes_of_each
from parquet_core.pruning.evidence.several_columns import outcomes_from_several_bounds
from parquet_core.pruning.outcomes import Outcomes, intersect
from parquet_core.pruning.predicate import ColumnLeaf, Constant, MultiColumnLeaf
from prune_assets.advisor.lookups import SampledMatches, matching_values, outcomes_of_lookups, sampled_matches
from prune_assets.advisor.sizes import EncodedRows, Size, sizes_without_encoding
from prune_assets.simulation.cut import OrderedSample, cut_of, ordered
from prune_assets.simulation.future_bounds import FutureBounds, future_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import Path
    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.trust.bounds import Bounds
    from prune_assets.advisor.queries import ColumnCost, Query
    from prune_assets.simulation.cut import Cut
    from prune_assets.simulation.sample import Sample


# Bytes to which parquet-java truncates strings in a column index.
_MOST_OF_TEXT = 64
# Number of cached sort orders of the sample. They are reused, because each finalist is cut into pages of several sizes.
_ORDERS = 12


@dataclass(slots=True)
class Workspace:
    """The inputs of every simulation: a sample, the queries and the sizes of columns.

    `leaves`: for each column, the distinct leaves of all queries on it, which are evaluated together.
    """

    sample: Sample
    queries: Sequence[Query]
    costs: Mapping[Path, ColumnCost]
    encoded: EncodedRows | None = None
    leaves: dict[Path, list[ColumnLeaf]] = field(default_factory=dict)
    simulated: dict[str, Simulated] = field(default_factory=dict)
    _ordered: dict[tuple[tuple[str, ...], ...], OrderedSample] = field(default_factory=dict)
    _bounds: dict[str, tuple[Cut, dict[Path, FutureBounds]]] = field(default_factory=dict)
    _sampled_matches: dict[Path, SampledMatches] = field(default_factory=dict)
    _places: dict[tuple[int, int], int] = field(default_factory=dict)

    def on(self, sample: Sample, *, is_rough: bool = False) -> Workspace:
        """Return a workspace for a part of the sample.

        `is_rough`: if True, columns keep their present sizes in every layout.
        """
        if sample is self.sample and not is_rough:
            return self
        return Workspace(sample, self.queries, self.costs, None if is_rough else self.encoded)

    def sizes(self, cut: Cut, layout: LayoutSpec) -> dict[Path, Size]:
        """Return the sizes of columns in a layout, per row and row group."""
        if self.encoded is None:
            return sizes_without_encoding(self.costs, self.sample, cut, layout)
        return self.encoded.sizes(self.costs, self.sample, cut, layout)

    def __post_init__(self) -> None:
        """Number the leaves of the queries."""
        for q, query in enumerate(self.queries):
            for i, part in enumerate(query.parts):
                if isinstance(part, ColumnLeaf) and part.column in self.sample.columns:
                    of_column = self.leaves.setdefault(part.column, [])
                    self._places[q, i] = len(of_column)
                    of_column.append(part)

    def ordered(self, layout: LayoutSpec) -> OrderedSample:
        """Return the sample in the order of a layout. The orders of the last few layouts are cached."""
        key = (tuple(layout.partition_by), tuple(layout.sort_by), tuple(layout.zorder_by), tuple(layout.hilbert_by))
        if key not in self._ordered:
            while len(self._ordered) >= _ORDERS:
                del self._ordered[next(iter(self._ordered))]
            self._ordered[key] = ordered(self.sample, layout)
        return self._ordered[key]

    def bounds(self, layout: LayoutSpec) -> tuple[Cut, dict[Path, FutureBounds]]:
        """Return the row groups and pages of a layout, and the bounds of its pages. The last result is cached."""
        # Bloom filters limit the rows of a row group.
        key = repr((replace(layout, bloom={}, dictionary={}), layout.rows_of_row_group(self.sample.total)))
        if key not in self._bounds:
            cut = cut_of(self.sample, layout, self.bytes_per_row, self.ordered(layout))
            most = _MOST_OF_TEXT if layout.column_index_truncate_length is None else layout.column_index_truncate_length
            keys = {path: [self.sample.columns[it].codes for it in cut.keys[:i]] for i, path in enumerate(cut.keys)}
            columns = self.sample.columns.items()
            self._bounds.clear()
            self._bounds[key] = cut, {path: future_bounds(cut, it, keys.get(path, []), most) for path, it in columns}
        return self._bounds[key]

    def sampled_matches(self, path: Path) -> SampledMatches:
        """Return the sampled rows for which a column's leaves can be true or false."""
        if path not in self._sampled_matches:
            column = self.sample.columns[path]
            self._sampled_matches[path] = sampled_matches(column, matching_values(column, self.leaves[path]))
        return self._sampled_matches[path]

    @property
    def bytes_per_row(self) -> float:
        """Bytes per row of the present files."""
        return sum(cost.data + cost.dictionary / cost.rows for cost in self.costs.values())

    @property
    def table_bytes(self) -> float:
        """Bytes of the present files."""
        return self.bytes_per_row * self.sample.total

    def answers(self, bounds: Mapping[Path, Bounds]) -> dict[Path, OutcomeArray]:
        """Return, for each column, the outcomes of its leaves that the bounds of row groups or pages allow."""
        return {path: outcomes_of_each(leaves, bounds[path]) for path, leaves in self.leaves.items()}

    def may_match(
        self, answers: Mapping[Path, OutcomeArray], bounds: Mapping[Path, Bounds], count: int
    ) -> list[NDArray[np.bool_]]:
        """Return, for each query, flags of the `count` row groups or pages that may have a selected row.

        `answers`: for each column, the outcomes of its leaves.
        """
        return [query.may_match(self._outcomes(q, answers, bounds, count)) for q, query in enumerate(self.queries)]

    def _outcomes(
        self, q: int, answers: Mapping[Path, OutcomeArray], bounds: Mapping[Path, Bounds], count: int
    ) -> OutcomeArray:
        outcomes = np.full((len(self.queries[q].parts), count), Outcomes.UNKNOWN, np.uint8)
        for i, part in enumerate(self.queries[q].parts):
            if (q, i) in self._places and isinstance(part, ColumnLeaf):
                outcomes[i] = answers[part.column][self._places[q, i]]
            elif isinstance(part, Constant):
                outcomes[i] = part.outcomes
            elif isinstance(part, MultiColumnLeaf):
                outcomes[i] = outcomes_from_several_bounds(part, bounds, count)
        return outcomes

    def matching_rows(self) -> NDArray[np.float64]:
        """Estimate how many rows of the table each query selects, from the sampled values."""
        if not self.sample.columns:
            return np.full(len(self.queries), float(self.sample.total))
        bounds = {path: bounds_of_values(it.of_rows()) for path, it in self.sample.columns.items()}
        chosen = self.may_match(self.answers(bounds), bounds, self.sample.rows)
        return np.array([flags.sum() for flags in chosen]) / max(self.sample.rate, 1e-300)


class Simulated(NamedTuple):
    """Bytes by query.

    `read`: bytes that the query reads in the layout, with dictionaries.
    `whole`: bytes of all columns of the query.
    """

    read: NDArray[np.float64]
    whole: NDArray[np.float64]


def simulate(workspace: Workspace, layout: LayoutSpec) -> Simulated:
    """Return the bytes that each query would read in a layout; results are cached."""
    name = repr(layout)
    if name not in workspace.simulated:
        workspace.simulated[name] = _simulated(workspace, layout)
    return workspace.simulated[name]


def _simulated(workspace: Workspace, layout: LayoutSpec) -> Simulated:
    cut, bounds = workspace.bounds(layout)
    sizes = workspace.sizes(cut, layout)
    pages = {path: it.pages for path, it in bounds.items()}
    answers = workspace.answers(pages)
    for path, of_groups in _outcomes_of_row_groups(
        workspace, cut, layout, bounds, answers=answers, sizes=sizes
    ).items():
        answers[path] = intersect(answers[path], of_groups)
    chosen = workspace.may_match(answers, pages, len(cut.pages))
    rows, groups = np.diff(cut.pages, append=cut.total), cut.group_rows
    pairs = []
    for query, flags in zip(workspace.queries, chosen, strict=True):
        kept_rows, kept_groups = rows[flags].sum(), len(np.unique(cut.group_of_page[flags]))
        if query.rows and not kept_groups:
            # The query selects rows, of which the sample has none. Assume that it reads one page and one row group.
            kept_rows, kept_groups = rows.mean(), 1
        of_columns = [sizes[column.path] for column in query.columns if column.path in sizes]
        per_row, per_group = sum(it.data for it in of_columns), sum(it.dictionary for it in of_columns)
        pairs.append((kept_rows * per_row + kept_groups * per_group, cut.total * per_row + len(groups) * per_group))
    return Simulated(*np.array(pairs, np.float64).T)


def _outcomes_of_row_groups(
    workspace: Workspace,
    cut: Cut,
    layout: LayoutSpec,
    bounds: Mapping[Path, FutureBounds],
    *,
    answers: Mapping[Path, OutcomeArray],
    sizes: Mapping[Path, Size],
) -> dict[Path, OutcomeArray]:
    """Return, for each column and page, the leaf outcomes that metadata of the page's row group allow.

    The metadata are dictionaries, bloom filters and statistics.
    """
    outcomes_by_path: dict[Path, OutcomeArray] = {}
    probabilities = {name.casefold(): probability for name, probability in layout.bloom.items()}
    named = {path: ".".join(path).casefold() for path in workspace.leaves}
    blooms = {path: probabilities[name] for path, name in named.items() if name in probabilities}
    first = np.flatnonzero(np.diff(cut.group_of_page, prepend=-1))
    for path, leaves in workspace.leaves.items():
        statistics = bounds[path].groups
        outcomes = np.full((len(leaves), len(cut.group)), Outcomes.UNKNOWN, np.uint8)
        if path in blooms or (path in sizes and sizes[path].is_looked_up):
            possible = np.bitwise_or.reduceat(answers[path], first, axis=1) & Outcomes.TRUE > 0
            outcomes = outcomes_of_lookups(cut, workspace.sampled_matches(path), possible, blooms.get(path))
        if statistics is not None:
            outcomes = intersect(outcomes, outcomes_of_each(leaves, statistics))
        outcomes_by_path[path] = outcomes[:, cut.group_of_page]
    return outcomes_by_path
