"""The queries of a workload on one table, with planned bytes and column sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.errors import PruneError, WrongUse
from parquet_core.format.schema import Physical
from parquet_core.printable import listed
from parquet_core.pruning.levels.auxiliary_leaves import auxiliary_leaves
from parquet_core.pruning.outcomes import may_match
from parquet_core.pruning.predicate import (
    Cause,
    OnPartitions,
    OnValues,
    Unsupported,
    columns_of,
    columns_of_leaf,
    leaves,
    post_order,
)
from parquet_core.pruning.trees import fold_nodes
from parquet_core.spark_rules.spark_schema import has_reliable_nulls
from prune_assets.advisor.lookups import dictionary_pays, distinct_in
from prune_assets.advisor.workload.query_shapes import ALL_COLUMNS
from prune_assets.planner.plan_read import plan_opened
from prune_assets.sql.render import column_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.levels.auxiliary_leaves import AuxiliaryLeaves
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf, Predicate, PredicateNode
    from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate
    from prune_assets.tables.table import Table

# Maximum number of simulated predicates. If there are more, an even sample is simulated, with higher weights.
MOST_QUERIES = 300
# Bytes of a dictionary entry; the size for strings is a guess.
_WIDTHS = {Physical.INT32: 4, Physical.FLOAT: 4, Physical.INT64: 8, Physical.DOUBLE: 8, Physical.INT96: 12}
_TEXT = 16
_MOSTLY = 0.9
_FIRST_PAGE = 20_000
# A dictionary is read to count its entries if it may have more than one entry for this number of rows. Writers end a
# dictionary at `_FULL` bytes.
_SURELY_FEW = 20
_FULL = 1 << 20


@dataclass(frozen=True, slots=True)
class Query:
    """A predicate that ran `runs` times.

    `today`: bytes that its plan reads today.
    `whole`: bytes of all columns that it reads, without pruning.
    `rows`: number of rows that its plan reads today.
    `parts`: leaves of the predicate, followed by auxiliary leaves.
    `unsupported`: leaves that do not prune in any layout.
    """

    where: str
    runs: float
    predicate: Predicate
    parts: tuple[Leaf, ...]
    auxiliary: AuxiliaryLeaves
    nodes: Sequence[PredicateNode]
    columns: tuple[LeafColumn, ...]
    today: int
    whole: int
    rows: int
    unsupported: tuple[Unsupported, ...]

    def paths(self) -> tuple[Path, ...]:
        """Return the columns in the leaves, without duplicates."""
        return tuple(dict.fromkeys(path for part in self.parts for path in columns_of_leaf(part)))

    def may_match(self, outcomes: OutcomeArray) -> NDArray[np.bool_]:
        """Return flags of the row groups or pages that may have a selected row.

        `outcomes`: outcomes of `parts`.
        """
        return may_match(fold_nodes(self.nodes, self.auxiliary.joined(outcomes)))


@dataclass(frozen=True, slots=True)
class ColumnCost:
    """Present size of a column.

    `data`: bytes per row, without the dictionary.
    `dictionary`: bytes of the dictionary of a row group that has `rows` rows.
    `entry`: bytes of a dictionary entry.
    `is_coded`: True if all values are dictionary-encoded.
    """

    data: float
    dictionary: float
    rows: float
    entry: float
    is_coded: bool

    def of_group(self, rows: float) -> float:
        """Estimate the bytes of the dictionary of a row group that has `rows` rows."""
        entries = self.dictionary / self.entry
        return self.entry * distinct_in(rows, min(entries, self.rows), self.rows)

    def entry_of(self, values: pa.Array | pa.ChunkedArray) -> float:
        """Return the bytes of a dictionary entry for `values`; for strings, their mean length."""
        if not (pa.types.is_binary(values.type) or pa.types.is_string(values.type)):
            return self.entry
        return 4.0 + (pc.mean(pc.binary_length(values)).as_py() or 0.0)


def costs_of(index: MetadataIndex) -> dict[Path, ColumnCost]:
    """Return the present size of each column, from the footers."""
    costs = {}
    for column in index.groups.columns:
        chunks = index.footers.chunks(column)
        size, rows = np.maximum(chunks.compressed_bytes, 0), max(int(index.groups.row_count.sum()), 1)
        has = (chunks.dictionary_page_offset > 0) & (chunks.dictionary_page_offset < chunks.data_page_offset)
        pages = np.where(has, chunks.data_page_offset - chunks.dictionary_page_offset, 0)
        entry = float(_WIDTHS.get(column.physical, column.type_length or _TEXT))
        of_group, group_rows = float(pages.mean()) if len(pages) else 0.0, rows / max(len(index), 1)
        is_coded = bool(has.any() and np.mean(chunks.dictionary_only == 1) > _MOSTLY)
        entries = of_group / entry
        # If a chunk has a dictionary and plain values, its values did not fit into the dictionary.
        was_full = bool(has.any() and np.mean(chunks.dictionary_only == 0) > _MOSTLY)
        if was_full or entries > group_rows / _SURELY_FEW:
            entries = _entries(index, column, int(np.argmax(has))) if is_coded else max(entries, _FULL / entry)
        pays = _pays(entries, group_rows, entry)
        costs[column.path] = ColumnCost(
            data=float((size - pages if pays else size).sum()) / rows,
            dictionary=of_group if pays else 0.0,
            rows=group_rows,
            entry=entry,
            is_coded=pays and is_coded,
        )
    return costs


def _entries(index: MetadataIndex, column: LeafColumn, position: int) -> float:
    """Read a dictionary and return its number of entries; 0 if it cannot be read."""
    (values,) = index.dictionaries.read(column, np.array([position]))
    return 0.0 if isinstance(values, str) else float(len(values))


def _pays(entries: float, rows: float, entry: float) -> bool:
    """Return True if parquet-java would use a dictionary, which it decides by the first page.

    Other writers always use one.

    >>> _pays(1_000, 1_000_000, 8.0), _pays(131_072, 400_000, 8.0)
    (True, False)
    """
    page = min(rows, _FIRST_PAGE)
    return dictionary_pays(page, distinct_in(page, min(entries, rows), rows), entry)


def queries_of(table: Table, shapes: Sequence[QueryShape], skipped: dict[str, int]) -> list[Query]:
    """Plan the predicates of query shapes on the table.

    `skipped`: dictionary that counts the predicates that no longer fit the table, by reason.
    """
    ran = [(predicate, shape) for shape in shapes for predicate in shape.predicates]
    if not ran:
        raise WrongUse(
            f"{table.name}: the workload has no predicates on it; give at least one, --predicate \"day = '..'\""
        )
    step = max(1.0, len(ran) / MOST_QUERIES)
    chosen = [ran[int(i * step)] for i in range(min(len(ran), MOST_QUERIES))]
    queries: list[Query] = []
    every = [*table.columns, *table.partitions]
    for predicate, shape in chosen:
        columns = columns_read(shape, predicate, every)
        try:
            queries.append(_planned(table, predicate.where, predicate.runs * step, columns))
        except PruneError as error:
            skipped[str(error)] = skipped.get(str(error), 0) + 1
    if not queries:
        raise WrongUse(f"{table.name}: no predicate of the workload applies to it: {listed(list(skipped))}")
    return queries


def _planned(table: Table, where: str, runs: float, columns: Sequence[str] | None) -> Query:
    plan = plan_opened(table, where=where or "true", columns=columns, session=None, depth="pages")
    predicate = plan.evaluation.predicate
    parts = tuple(leaves(predicate))
    auxiliary = auxiliary_leaves(parts, {c.path: c for c in plan.index.groups.columns if has_reliable_nulls(c)})
    return Query(
        where=where or "true",
        runs=runs,
        predicate=predicate,
        parts=(*parts, *auxiliary.extra),
        auxiliary=auxiliary,
        nodes=post_order(predicate),
        columns=plan.columns,
        today=int(plan.kept.bytes.sum()),
        whole=int(plan.sizes.bytes.sum()),
        rows=int(plan.kept.rows.sum()),
        unsupported=tuple(filter(None, map(_unsupported, parts))),
    )


def _unsupported(leaf: Leaf) -> Unsupported | None:
    """Return the condition in a leaf that does not prune in any layout; None if the leaf prunes in some layout."""
    if isinstance(leaf, OnValues | OnPartitions):
        return leaf.part if leaf.test.limits else None
    return leaf if isinstance(leaf, Unsupported) and leaf.cause is not Cause.FAR_YEARS else None


def filtered_columns(queries: Sequence[Query]) -> dict[Path, float]:
    """Return the columns that queries filter on, with the bytes that these queries read today; most bytes first."""
    weight: dict[Path, float] = {}
    for query in queries:
        for path in columns_of(query.predicate):
            weight[path] = weight.get(path, 0.0) + query.runs * query.today
    return dict(sorted(weight.items(), key=lambda it: -it[1]))


def columns_read(shape: QueryShape, predicate: RanPredicate, columns: Sequence[LeafColumn]) -> list[str] | None:
    """Return the top-level columns that queries with a predicate read; None for all.

    Columns that the table lacks are omitted: if the log has `container.feet` and `gone`, and the table has the struct
    `container`, the result is `container`.
    """
    read = shape.columns if predicate.columns is None else predicate.columns
    if read in {(), ALL_COLUMNS}:
        return None
    names = _names(columns)
    tops = (_top(name, names) or _top(name.partition(".")[0], names) for name in read)
    return list(dict.fromkeys(top for top in tops if top is not None))


def _names(columns: Sequence[LeafColumn]) -> dict[str, str]:
    """Return the top-level column of each name.

    `a.b` is a field of the struct `a` if the table has a struct `a`, else the name of a column with a dot.
    """
    paths = [column.path[:length] for column in columns for length in range(1, len(column.path) + 1)]
    written = {".".join(path): path[0] for path in paths} | {column_sql(path): path[0] for path in paths}
    return {name.lower(): top for name, top in written.items()} | written


def _top(name: str, names: dict[str, str]) -> str | None:
    return names.get(name, names.get(name.lower()))
