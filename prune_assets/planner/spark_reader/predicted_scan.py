"""Predict what Spark reads of a dataset for a predicate, by the rules of Spark's own reader.

Bounds and page indexes are evaluated as parquet-java does. Dictionaries and bloom filters are evaluated only if the
plan has read them already; the prediction notes if the unread ones could lower it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from
from parquet_core.format.provenance import TYPE_ORDER
from parquet_core.format.schema import SortOrder
from parquet_core.pruning.access_plan import RangeList, flagged_segments, join, whole_groups
from parquet_core.pruning.file_answers import answers_of_directories
from parquet_core.pruning.outcomes import may_match
from parquet_core.pruning.predicate import Unsupported, leaves, replaced
from parquet_core.pruning.segments import merge_borders, page_of_segment
from parquet_core.spark_rules.columns_in_files import leaf_in_file
from parquet_core.trust.trust_policy import trust
from prune_assets.planner.spark_reader.parquet_java import (
    Evidence,
    dropped_by_dictionaries,
    dropped_by_filters,
    dropped_by_statistics,
    evidence_of,
    folded,
    kept_by_pages,
)
from prune_assets.planner.spark_reader.pushed import file_filters, pushed_to
from prune_assets.planner.spark_reader.spark_filters import Filter, Rel, Truth, conjuncts, leaves_of
from prune_assets.report.skip_report import Caveat
from prune_assets.report.wording import PUSHED_IN_PART

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.dataset.page_batch import PageBatch
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn, Path
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.planner.spark_reader.spark_filters import SparkFilter

    Flags = NDArray[np.bool_]
    Positions = NDArray[np.int64]

# Options of one read, each of which switches off one filter of Spark's reader.
STATISTICS = "parquet.filter.stats.enabled"
DICTIONARY = "parquet.filter.dictionary.enabled"
BLOOM = "parquet.filter.bloom.enabled"
PAGES = "parquet.filter.columnindex.enabled"


class PredictedScan(NamedTuple):
    """Rows that a reader would read.

    `why`: metadata that the prediction ignored and that could reduce the read; "" if none.
    `limit`: why the reader may skip less than is possible. Reports show it if the difference is large.
    `caveat`: the kind of `why`.
    """

    ranges: RangeList
    why: str = ""
    limit: str = ""
    caveat: Caveat | None = None


_NOTHING_PUSHED = (
    "Spark skips row groups and pages only by filters that it pushes down, and it pushes down no part of this predicate"
)
_DICTIONARIES, _FILTERS = "dictionaries", "bloom filters"
# Page indexes of more column chunks than this are not read only to predict Spark's scan.
MAX_COLUMN_INDEXES = 20_000


def predicted_scan(plan: PlannedRead, tree: SparkFilter, *, files: Flags, off: Collection[str] = ()) -> PredictedScan:
    """Return the predicted scan of the files that `files` flags.

    `off`: options of Spark's reader that are false. Column indexes are read if the plan may read them.
    """
    index, columns, pages = plan.index, plan.columns, plan.depth == "pages"
    reader = _Reader(index, off)
    remaining = (index.groups.row_count > 0) & files[index.groups.file]
    if Truth(holds=False) in conjuncts(tree):
        remaining[:] = False
    names = {column.path[0] for column in index.groups.partitions}
    whole, cut = reader.unopened(remaining), whole_groups(np.zeros(0, np.int64), index.groups.row_count)
    remaining &= ~whole
    is_pushed = False
    for pushed, here in _filters_by_columns(file_filters(tree, names), index):
        left = remaining & here
        if pushed is None:
            whole |= left
            continue
        is_pushed = True
        left = reader.row_groups(pushed, left)
        asks_pages = pages and PAGES not in off
        paged = left & _located(index, columns) if asks_pages else np.zeros(len(index), np.bool_)
        if pages and int(paged.sum()) * len(_columns(pushed)) > MAX_COLUMN_INDEXES:
            paged[:] = False
            reader.unread["page indexes"] = None
        whole |= left & ~paged
        cut = join(cut, reader.pages(pushed, np.flatnonzero(paged)))
    if not pages and is_pushed:
        reader.unread["page indexes"] = None
    uses = " and ".join(reader.unread)
    why = f"may read less: it uses {uses}, which this plan did not read" if uses else ""
    limit = PUSHED_IN_PART if is_pushed else _NOTHING_PUSHED
    if is_pushed and off:
        limit = f"this plan sets {', '.join(sorted(off))} to false, as Spark would lose rows here"
    return PredictedScan(
        join(whole_groups(np.flatnonzero(whole), index.groups.row_count), cut),
        why,
        limit,
        Caveat.UNREAD_METADATA if why else None,
    )


def listed_files(plan: PlannedRead, filters: SparkFilter) -> tuple[Flags, str]:
    """Return flags of the files that Spark lists, and why Spark may list fewer.

    Spark evaluates any function of a path; this project does not.
    """
    index = plan.index
    predicate = replaced(plan.lowered.predicate, plan.tests)
    refused = [leaf.sql.casefold() for leaf in leaves(predicate) if isinstance(leaf, Unsupported)]
    listed_by = ["_metadata", *(column.name.casefold() for column in index.groups.partitions)]
    unjudged = any(name in sql for sql in refused for name in listed_by)
    why = "only Spark evaluates conditions on paths and partition values: it may read less" if unjudged else ""
    if plan.table.format.spark_lists_files:
        return answers_of_directories(predicate, index).kept, why
    if not why and _mixes(filters, {column.path[0] for column in index.groups.partitions}):
        why = "Spark simplifies conditions with the values of a partition: it may read less"
    return may_match(plan.table.answers(predicate).partitions) & ~_dropped_by_log(plan, filters), why


def _mixes(tree: SparkFilter, partitions: Collection[str]) -> bool:
    """Return True if an OR has both partition columns and other columns: Spark simplifies such an OR per partition."""
    return any(len({leaf.column[0] in partitions for leaf in leaves_of(part)}) > 1 for part in conjuncts(tree))


def _dropped_by_log(plan: PlannedRead, filters: SparkFilter) -> Flags:
    """Return flags of the files that delta-spark excludes by statistics of the log, as if they were row groups."""
    nothing = np.zeros(len(plan.index.groups.files), np.bool_)
    partitions = {column.path[0] for column in plan.index.groups.partitions}
    bounds_by_path = {path: plan.table.file_bounds(path) for path in _columns(filters)}
    evidence = {path: evidence_of(bounds) for path, bounds in bounds_by_path.items() if bounds is not None}

    def dropped(leaf: Filter) -> Flags:
        return dropped_by_statistics(leaf, evidence[leaf.column]) if leaf.column in evidence else nothing

    excluded = nothing
    for part in file_filters(filters, partitions):
        excluded = excluded | (not part.holds if isinstance(part, Truth) else folded(part, dropped, dropping=True))
    return excluded


def _filters_by_columns(
    filters: tuple[SparkFilter, ...], index: MetadataIndex
) -> Iterator[tuple[SparkFilter | None, Flags]]:
    """Group files by the filter columns that they have; yield the filter pushed to each group, and its row groups.

    The filter is None if no part of it is pushed. The row groups are flags.
    """
    by_path = {column.path: column for column in index.groups.columns}
    paths = list(dict.fromkeys(path for each in filters for path in _columns(each)))
    leaf_sets = [
        tuple(_find_pushed_column(by_path[path], provenance) if path in by_path else None for path in paths)
        for provenance in index.groups.provenances
    ]
    signatures = [tuple(leaf is not None for leaf in leaves) for leaves in leaf_sets]
    signature_ids = {signature: i for i, signature in enumerate(dict.fromkeys(signatures))}
    of_kind = np.array([signature_ids[signature] for signature in signatures], np.int64)
    of_group = of_kind[index.groups.provenance_ids[index.groups.file]] if len(index) else np.zeros(0, np.int64)
    for signature_id in signature_ids.values():
        leaves = leaf_sets[int(np.argmax(of_kind == signature_id))]
        yield pushed_to(filters, dict(zip(paths, leaves, strict=True))), of_group == signature_id


def _find_pushed_column(column: LeafColumn, provenance: Provenance) -> LeafColumn | None:
    """Return the leaf of a file that Spark's filters on a table's column use; None if they do not apply to the file.

    Spark also pushes filters to a file with shorter integers, if the literal fits the shorter type.
    """
    leaf = leaf_in_file(column, provenance)
    if leaf is not None or not _is_signed(column):
        return leaf
    stored = provenance.by_path.get(column.path)
    return stored if stored is not None and _is_signed(stored) and not stored.max_repetition_level else None


def _is_signed(column: LeafColumn) -> bool:
    return column.type is not None and bool(pa.types.is_signed_integer(column.type))


def _columns(tree: SparkFilter) -> list[Path]:
    return list(dict.fromkeys(leaf.column for leaf in leaves_of(tree)))


def _located(index: MetadataIndex, columns: Sequence[LeafColumn]) -> Flags:
    """Flag the row groups that have an offset index for each column to read: Spark uses column indexes only there."""
    located = np.ones(len(index), np.bool_)
    located[index.groups.read_from()] = index.footers.totals(columns).located
    return located


class _Reader:
    """Evaluates level by level, as Spark's reader does.

    `unread`: metadata that Spark's reader uses and this evaluation lacks.
    """

    def __init__(self, index: MetadataIndex, off: Collection[str]) -> None:
        self._index = index
        self._off = off
        self._by_path = {column.path: column for column in index.groups.columns}
        self._statistics: dict[Path, Evidence] = {}
        self.unread: dict[str, None] = {}

    def unopened(self, remaining: Flags) -> Flags:
        """Return flags of row groups in files that the plan did not open; what Spark reads of them is unknown."""
        index = self._index
        unopened = (
            np.zeros(len(remaining), np.bool_)
            if index.groups.opened is None
            else remaining & ~index.groups.opened[index.groups.file]
        )
        if unopened.any():
            self.unread["footers"] = None
        return unopened

    def row_groups(self, pushed: SparkFilter, remaining: Flags) -> Flags:
        """Return flags of the row groups that Spark's reader keeps.

        Statistics, dictionaries and bloom filters are each evaluated on the whole filter.
        """
        left = remaining.copy()
        if STATISTICS not in self._off:
            left &= ~folded(pushed, lambda leaf: dropped_by_statistics(leaf, self._statistics_of(leaf)), dropping=True)
        open_: dict[str, Flags] = {}
        for level, option in ((_DICTIONARIES, DICTIONARY), (_FILTERS, BLOOM)):
            if option in self._off:
                continue
            open_[level] = np.zeros(len(left), np.bool_)
            dropped, open_[level][left] = self._dropped(pushed, np.flatnonzero(left), level)
            left[left] = ~dropped
        self.unread |= {level: None for level, where in open_.items() if np.any(left & where)}
        return left

    def _statistics_of(self, leaf: Filter) -> Evidence:
        column = self._by_path[leaf.column]
        if column.path not in self._statistics:
            self._statistics[column.path] = self._row_group_evidence(column)
        return self._statistics[column.path]

    def _row_group_evidence(self, column: LeafColumn) -> Evidence:
        index = self._index
        provenance_ids = index.groups.provenance_ids[index.groups.file]
        required = np.array([trust(column, each).required for each in index.groups.provenances], np.bool_)
        claimed = index.footers.claimed_bounds(column)
        believed = ~has_unknown_order(column, index) | flags_from(pc.equal(claimed.lower, claimed.upper))
        evidence = evidence_of(claimed, believed=believed)
        # Spark's reader takes the absence of nulls only from the null count, even for required columns.
        silent = required[provenance_ids] & ~index.footers.chunks(column).has_bounds
        return evidence._replace(null_count=np.where(silent, -1, evidence.null_count))

    def _dropped(self, pushed: SparkFilter, positions: Positions, level: str) -> tuple[Flags, Flags]:
        """Return flags of the row groups that a level drops, and of those that unread metadata might drop."""
        if len(positions) == 0:
            return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
        by_leaf = {id(leaf): self._apply_level(leaf, positions, level) for leaf in leaves_of(pushed)}
        dropped = folded(pushed, lambda leaf: by_leaf[id(leaf)][0], dropping=True)
        at_best = folded(pushed, lambda leaf: by_leaf[id(leaf)][0] | by_leaf[id(leaf)][1], dropping=True)
        return dropped, at_best & ~dropped

    def _apply_level(self, leaf: Filter, positions: Positions, level: str) -> tuple[Flags, Flags]:
        """Return flags of the row groups that a level drops for a leaf, and of those whose metadata was not read.

        The metadata is a dictionary or a bloom filter.
        """
        column, index = self._by_path[leaf.column], self._index
        nothing = np.zeros(len(positions), np.bool_)
        chunks = index.footers.chunks(column)
        if level == _DICTIONARIES:
            if not leaf.values:
                return nothing, nothing
            there = chunks.dictionary_only[positions] != 0
        else:
            if leaf.rel not in {Rel.EQ, Rel.IN}:
                return nothing, nothing
            there = chunks.bloom_filter[positions, 0] > 0
        values = index.dictionaries if level == _DICTIONARIES else index.bloom_filters
        cached = values.cached(column, positions)
        unread = np.array([each is None for each in cached], np.bool_) & there
        usable = [None if isinstance(each, str) else each for each in cached]
        if level == _DICTIONARIES:
            no_nulls = self._statistics_of(leaf).null_count[positions] == 0
            return dropped_by_dictionaries(leaf, usable, no_nulls), unread
        return dropped_by_filters(leaf, column, usable), unread

    def pages(self, pushed: SparkFilter, positions: Positions) -> RangeList:
        """Return the rows of row groups that column indexes keep."""
        index = self._index
        if len(positions) == 0:
            return whole_groups(positions, index.groups.row_count)
        columns = [self._by_path[path] for path in _columns(pushed)]
        index.page_indexes.fetch(columns, positions)
        batches = {column.path: index.page_indexes.read(column, positions) for column in columns}
        base = np.cumsum(index.groups.row_count[positions]) - index.groups.row_count[positions]
        starts = {path: base[batch.row_group] + batch.first_row for path, batch in batches.items()}
        segments = merge_borders(base, list(starts.values()))
        unknown = {column.path: has_unknown_order(column, index)[positions] for column in columns}
        evidence = {path: _page_evidence(self._by_path[path], batches[path], unknown[path]) for path in batches}

        def kept(leaf: Filter) -> Flags:
            return kept_by_pages(leaf, evidence[leaf.column])[page_of_segment(segments, starts[leaf.column])]

        return flagged_segments(folded(pushed, kept, dropping=False), segments, positions, index.groups.row_count)


def has_unknown_order(column: LeafColumn, index: MetadataIndex) -> Flags:
    """Return flags of row groups whose order of bounds parquet-java 1.17 does not know.

    This version ignores the column indexes of these row groups, and their bounds unless both bounds are equal.
    """
    unknown = [
        trust(column, provenance).column_order not in {None, TYPE_ORDER} for provenance in index.groups.provenances
    ]
    by_group: Flags = np.array(unknown, np.bool_)[index.groups.provenance_ids[index.groups.file]]
    return by_group


def _page_evidence(column: LeafColumn, batch: PageBatch, unknown_order: Flags) -> Evidence:
    """Return the bounds of pages as parquet-java uses them; row groups of an unknown order have none."""
    evidence = evidence_of(batch.bounds)
    group = batch.row_group
    useless = (batch.reason != "") | unknown_order
    if column.order is SortOrder.FLOATING:
        # A page with NaN bounds invalidates the column index of the whole chunk.
        odd = np.bincount(group[~evidence.has_bounds & ~evidence.all_null], minlength=len(batch)) > 0
        useless = useless | odd
    spoilt = useless.astype(np.bool_)[group]
    return evidence._replace(
        has_bounds=evidence.has_bounds & ~spoilt, null_count=np.where(spoilt, -1, evidence.null_count)
    )
