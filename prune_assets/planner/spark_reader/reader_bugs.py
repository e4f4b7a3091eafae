"""Cases in which Spark itself skips rows that a predicate selects, each with the reader option that prevents it.

Spark's reader distinguishes -0.0 from 0.0 in dictionaries and bloom filters; SQL does not. It treats bounds that omit
NaN as bounds of all values; SQL orders NaN above them. It treats bounds without a null count as bounds of rows without
nulls. It floors a literal to milliseconds, so `<` and `<>` select too few rows. In files that store a column as a wider
integer it looks up the truncated value, and in files with shorter decimals it looks up the low bits of the literal.
parquet-java's writer mixes up the bloom filters of columns that share a dotted path. parquet-java before 1.17 loses the
rows of pages that a column index lacks. Each filter can be switched off for one read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, scalar_of
from parquet_core.format.schema import Physical
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import IsNaN, Op, leaves
from parquet_core.pruning.trees import outcomes_to_refute
from parquet_core.ragged import distinct
from parquet_core.spark_rules.type_promotion import is_read_as
from parquet_core.trust.contradictions import reason_of
from parquet_core.trust.writer import PARQUET_JAVA, parse_writer
from parquet_core.trust.writer_fault import Fact
from prune_assets.planner.spark_reader.as_spark_filters import filters_of
from prune_assets.planner.spark_reader.parquet_java import dropped_by_statistics, evidence_of, kept_by_pages
from prune_assets.planner.spark_reader.predicted_scan import BLOOM, DICTIONARY, PAGES, STATISTICS, has_unknown_order
from prune_assets.planner.spark_reader.spark_filters import Filter, Rel, leaves_of
from prune_assets.report.skip_report import ReaderWarning
from prune_assets.sql.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.bounds import Bounds
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.planner.spark_reader.spark_filters import SparkFilter
    from prune_assets.planner.spark_reader.spark_profile import SparkProfile

    Flags = NDArray[np.bool_]
    from collections.abc import Sequence

    from prune_assets.sql.syntax.parsed import ParsedPredicate

_MICROSECONDS = re.compile(r":\d\d\.\d{3}\d*[1-9]")

READER = "Spark"
ALL = (STATISTICS, DICTIONARY, BLOOM, PAGES)

_EQUALITIES = frozenset({Rel.EQ, Rel.IN})
_OF_ZERO = _EQUALITIES | {Rel.GE, Rel.LE}
_OF_NAN = frozenset({Rel.GT, Rel.GE, Rel.NE})
_BITS = {Physical.INT32: 32, Physical.INT64: 64}


def reader_bugs(plan: PlannedRead, filters: SparkFilter, profile: SparkProfile) -> tuple[ReaderWarning, ...]:
    """Warn of data in surviving row groups that Spark's reader would skip wrongly.

    Each warning names the option that prevents it.
    """
    remaining = np.flatnonzero(plan.evaluation.access.ranges.row_totals(len(plan.index)) > 0)
    if len(remaining) == 0:
        return ()
    by_path = {column.path: column for column in plan.index.groups.columns}
    warnings: dict[ReaderWarning, None] = {}
    for leaf in _split_not_in(_filters_that_may_be_pushed(plan, filters)):
        column = by_path.get(leaf.column)
        if column is not None:
            warnings |= dict.fromkeys(
                [*_check_leaf(leaf, column, plan, remaining), *_check_contradictions(column, plan, remaining)]
            )
            if not profile.counts_pages:
                warnings |= dict.fromkeys(_check_page_counts(column, plan, remaining))
    warnings |= dict.fromkeys([*_check_names(plan, remaining), *_check_milliseconds(plan)])
    return tuple(warnings)


def _filters_that_may_be_pushed(plan: PlannedRead, filters: SparkFilter) -> list[Filter]:
    """Return the filters that Spark may push down: the translated ones, and those that Spark may derive from leaves."""
    predicate = plan.lowered.predicate
    own = [
        filters_of(leaf, negated=outcome is Outcomes.FALSE)
        for leaf, wanted in zip(leaves(predicate), outcomes_to_refute(predicate), strict=True)
        for outcome in (Outcomes.TRUE, Outcomes.FALSE)
        if outcome in wanted
    ]
    return list(dict.fromkeys(chain(leaves_of(filters), *map(leaves_of, own))))


def _split_not_in(leaves: list[Filter]) -> Iterator[Filter]:
    """Yield the leaves, with NOT IN as `<>` of each of its values."""
    for leaf in leaves:
        yield Filter(leaf.column, Rel.NE, leaf.values, strict=True) if leaf.rel is Rel.NOT_IN else leaf


def _check_leaf(
    leaf: Filter, column: LeafColumn, plan: PlannedRead, remaining: NDArray[np.int64]
) -> Iterator[ReaderWarning]:
    bounds = plan.index.footers.bounds(column).take(remaining)
    if leaf.values and pa.types.is_floating(leaf.values[0].type):
        yield from _check_zeros(leaf, column, plan, remaining, bounds)
        yield from _check_nans(leaf, column, plan, remaining, bounds)
    yield from _check_types(leaf, column, plan, remaining)
    yield from _check_writer_faults(leaf, column, plan, remaining, bounds)
    if leaf.rel is Rel.NE and not leaf.strict:
        evidence = evidence_of(bounds)
        if np.any((evidence.null_count < 0) & dropped_by_statistics(leaf, evidence)):
            why = f"{column.name}: bounds without a null count are read as bounds without nulls"
            yield ReaderWarning(READER, why, STATISTICS)


def _check_writer_faults(
    leaf: Filter, column: LeafColumn, plan: PlannedRead, remaining: NDArray[np.int64], bounds: Bounds
) -> Iterator[ReaderWarning]:
    """Warn if the reader trusts metadata with a known writer fault."""
    faults = plan.index.footers.faults(column, remaining)
    if not faults:
        return
    claimed = plan.index.footers.claimed_bounds(column).take(remaining)
    misled = dropped_by_statistics(leaf, evidence_of(claimed)) & ~dropped_by_statistics(leaf, evidence_of(bounds))
    pages = Fact.PAGE_BOUNDS | Fact.PAGE_NULLS | Fact.PAGE_EXACTNESS
    indexed = bool(np.any(plan.index.footers.chunks(column).column_index[remaining, 0] > 0))
    for fault in faults:
        why = f"{column.name}: {fault.application}: {fault.what} ({fault.code})"
        if misled.any():
            yield ReaderWarning(READER, why, STATISTICS)
        if indexed and fault.wrong & pages:
            yield ReaderWarning(READER, why, PAGES)
        if Fact.BLOOM_FILTER in fault.wrong and leaf.rel in _EQUALITIES:
            yield ReaderWarning(READER, why, BLOOM)
        if Fact.NULL_COUNT in fault.wrong and leaf.rel is Rel.NE and not leaf.strict:
            yield ReaderWarning(READER, why, DICTIONARY)


def _check_contradictions(
    column: LeafColumn, plan: PlannedRead, remaining: NDArray[np.int64]
) -> Iterator[ReaderWarning]:
    """Warn if metadata of a file contradict each other, because the reader trusts each structure on its own."""
    doubted = distinct(np.sort(plan.index.footers.doubts(column)[remaining]))
    for why in filter(None, map(reason_of, doubted.tolist())):
        yield from (ReaderWarning(READER, f"{column.name}: {why}", option) for option in ALL)


def _check_page_counts(column: LeafColumn, plan: PlannedRead, remaining: NDArray[np.int64]) -> Iterator[ReaderWarning]:
    """Warn of column indexes whose number of pages differs from the offset index; parquet-java 1.17 ignores them."""
    indexed = remaining[plan.index.footers.chunks(column).column_index[remaining, 0] > 0]
    if plan.depth != "pages" or len(indexed) == 0:
        return
    if plan.index.page_indexes.read(column, indexed).counts_differ.any():
        yield ReaderWarning(READER, f"{column.name}: a column index and its offset index have different pages", PAGES)


def _check_types(
    leaf: Filter, column: LeafColumn, plan: PlannedRead, remaining: NDArray[np.int64]
) -> Iterator[ReaderWarning]:
    if not leaf.values:
        return
    provenance_ids = distinct(plan.index.groups.provenance_ids[plan.index.groups.file[remaining]]).tolist()
    for stored in (
        file_column
        for provenance_id in provenance_ids
        for file_column in plan.index.groups.provenances[provenance_id].columns
        if file_column.path == column.path
    ):
        if why := _is_cut_off(stored, column) or _overflows(leaf, stored):
            yield from (ReaderWarning(READER, f"{column.name}: {why}", option) for option in ALL)


def _is_cut_off(stored: LeafColumn, column: LeafColumn) -> str:
    types = stored.type, column.type
    if not all(arrow_type is not None and pa.types.is_integer(arrow_type) for arrow_type in types) or is_read_as(
        stored, column
    ):
        return ""
    return (
        ""
        if stored.type == column.type
        else f"{stored.type} is read as {column.type}, but filters compare the unconverted value"
    )


def _overflows(leaf: Filter, stored: LeafColumn) -> str:
    """Describe the bug that Spark's filter compares only the low bits of a decimal; "" if all values fit these bits."""
    bits = _BITS.get(stored.physical)
    if bits is None or stored.type is None or not pa.types.is_decimal128(stored.type):
        return ""
    least = Decimal(1 << (bits - 1)).scaleb(-stored.type.scale)
    values = (value.as_py() for value in leaf.values if pa.types.is_decimal128(value.type))
    fits = all(-least <= value < least for value in values)
    return "" if fits else f"filters compare only the low {bits} bits of a decimal too long for {stored.type}"


def _check_zeros(
    leaf: Filter, column: LeafColumn, plan: PlannedRead, remaining: NDArray[np.int64], bounds: Bounds
) -> Iterator[ReaderWarning]:
    if leaf.rel not in _OF_ZERO or not any(value.as_py() == 0 for value in leaf.values):
        return
    zero = scalar_of(0.0, bounds.lower.type)
    possible = ~_certain(pc.greater(bounds.lower, zero)) & ~_certain(pc.less(bounds.upper, zero))
    possible &= ~evidence_of(bounds).all_null
    chunks = plan.index.footers.chunks(column)
    # For `>= 0` or `<= 0`, a dictionary with a value on the selected side of zero keeps the row group, whatever the
    # sign of its zeros.
    beyond = {Rel.GE: pc.greater(bounds.upper, zero), Rel.LE: pc.less(bounds.lower, zero)}.get(leaf.rel)
    harmless = (
        np.zeros(len(remaining), np.bool_) if beyond is None else _tight(plan, remaining, bounds) & _certain(beyond)
    )
    if np.any(possible & ~harmless & (chunks.dictionary_only[remaining] != 0)):
        yield ReaderWarning(
            READER, f"{column.name}: its dictionaries distinguish -0.0 from 0.0, SQL does not", DICTIONARY
        )
    if leaf.rel in _EQUALITIES and np.any(possible & (chunks.bloom_filter[remaining, 0] > 0)):
        yield ReaderWarning(READER, f"{column.name}: its bloom filters distinguish -0.0 from 0.0, SQL does not", BLOOM)
    if _pages_end_at_zero(leaf, column, plan, remaining[possible & ~has_unknown_order(column, plan.index)[remaining]]):
        yield ReaderWarning(
            READER, f"{column.name}: its page bounds may distinguish -0.0 from 0.0, SQL does not", PAGES
        )


def _pages_end_at_zero(leaf: Filter, column: LeafColumn, plan: PlannedRead, positions: NDArray[np.int64]) -> bool:
    """Return True if a page bound is zero where its sign may matter; parquet-java distinguishes -0.0 from 0.0."""
    indexed = positions[plan.index.footers.chunks(column).column_index[positions, 0] > 0]
    if plan.depth != "pages" or len(indexed) == 0:
        return len(indexed) > 0
    bounds = plan.index.page_indexes.read(column, indexed).bounds
    zero = scalar_of(0.0, bounds.lower.type)
    low, high = _certain(pc.equal(bounds.lower, zero)), _certain(pc.equal(bounds.upper, zero))
    ends = {Rel.GE: high, Rel.LE: low}.get(leaf.rel, low | high)
    return bool(np.any(ends))


def _check_nans(
    leaf: Filter, column: LeafColumn, plan: PlannedRead, remaining: NDArray[np.int64], bounds: Bounds
) -> Iterator[ReaderWarning]:
    asks_nan = any(math.isnan(value.as_py()) for value in leaf.values)
    if not (leaf.rel in _OF_NAN or (leaf.rel in _EQUALITIES and asks_nan)):
        return
    # parquet-java includes NaN in the bounds, which makes readers ignore them.
    possible = may_match(outcomes_from_bounds(IsNaN(column.path), bounds)) & ~_is_by_parquet_java(plan, remaining)
    why = f"{column.name}: bounds leave out NaN, which SQL sorts above all numbers"
    unknown_order = has_unknown_order(column, plan.index)[remaining]
    believed = ~unknown_order | flags_from(pc.equal(bounds.lower, bounds.upper))
    if np.any(possible & believed & dropped_by_statistics(leaf, evidence_of(bounds))):
        yield ReaderWarning(READER, why, STATISTICS)
    if _pages_denied(leaf, column, plan, remaining[possible & ~unknown_order]):
        yield ReaderWarning(READER, why, PAGES)
    if asks_nan and np.any(possible & (plan.index.footers.chunks(column).bloom_filter[remaining, 0] > 0)):
        yield ReaderWarning(
            READER, f"{column.name}: its bloom filters contain only one of many encodings of NaN", BLOOM
        )


def _pages_denied(leaf: Filter, column: LeafColumn, plan: PlannedRead, positions: NDArray[np.int64]) -> bool:
    indexed = positions[plan.index.footers.chunks(column).column_index[positions, 0] > 0]
    if plan.depth != "pages":
        return len(indexed) > 0
    if len(indexed) == 0:
        return False
    of_pages = evidence_of(plan.index.page_indexes.read(column, indexed).bounds)
    return bool(np.any(~kept_by_pages(leaf, of_pages) & ~of_pages.all_null))


def _is_by_parquet_java(plan: PlannedRead, remaining: NDArray[np.int64]) -> Flags:
    writers = np.array(
        [_is_old_parquet_java(provenance.created_by) for provenance in plan.index.groups.provenances], np.bool_
    )
    by_group: Flags = writers[plan.index.groups.provenance_ids[plan.index.groups.file[remaining]]]
    return by_group


def _is_old_parquet_java(created_by: str) -> bool:
    writer = parse_writer(created_by)
    return writer.application == PARQUET_JAVA and writer.version is not None and writer.version < (1, 18, 0)


def _tight(plan: PlannedRead, remaining: NDArray[np.int64], bounds: Bounds) -> Flags:
    """Return flags of row groups whose bounds are actual values of the column chunk."""
    exact = _certain(bounds.min_exact) & _certain(bounds.max_exact)
    tight: Flags = exact | _is_by_parquet_java(plan, remaining)
    return tight


def _check_names(plan: PlannedRead, remaining: NDArray[np.int64]) -> Iterator[ReaderWarning]:
    """Warn of a column named `a.b` next to a field b of a struct a: one may get the bloom filter of the other."""
    names = Counter(column.name for column in plan.index.groups.columns)
    named = plan.lowered.sql.casefold()
    for column in plan.index.groups.columns:
        if names[column.name] < 2 or not all(part.casefold() in named for part in column.path):
            continue
        others = [other for other in plan.index.groups.columns if other.name == column.name]
        if any(np.any(plan.index.footers.chunks(other).bloom_filter[remaining, 0] > 0) for other in others):
            why = f"{column.name}: another column has the same dotted path, and parquet-java mixes their filters up"
            yield ReaderWarning(READER, why, BLOOM)


def _check_milliseconds(plan: PlannedRead) -> Iterator[ReaderWarning]:
    stored = dict.fromkeys(
        chain(plan.index.groups.columns, *(provenance.columns for provenance in plan.index.groups.provenances))
    )
    fine = columns_compared_finely(plan.lowered.parsed, tuple(stored))
    for name in fine:
        for option in (STATISTICS, DICTIONARY, PAGES):
            yield ReaderWarning(READER, f"{name}: Spark floors a literal to the milliseconds of the column", option)


def _certain(answer: pa.Array) -> Flags:
    return flags_from(answer)


def columns_compared_finely(
    conjuncts: Sequence[ParsedPredicate | None], columns: Sequence[LeafColumn]
) -> tuple[str, ...]:
    """Return the millisecond columns that the query compares by `<` or `<>` with a value finer than a millisecond.

    Spark's reader floors such a value to milliseconds and therefore skips rows that match. Any value except a plain
    literal may be finer than a millisecond.
    """
    of_millis = {column.path[-1].casefold(): column.name for column in columns if _is_millis(column)}
    if not of_millis:
        return ()
    fine_names: dict[str, None] = {}
    for parsed in filter(None, conjuncts):
        for node, negated in _compared(parsed.tree):
            names = {name.parts[-1].casefold() for name in node.all_of(nodes.Column)} & of_millis.keys()
            if names and (negated or _loses(node)) and _may_be_fine(node, parsed.text(node)):
                fine_names |= {of_millis[name]: None for name in names}
    return tuple(fine_names)


def _is_millis(column: LeafColumn) -> bool:
    arrow_type = column.type
    return arrow_type is not None and pa.types.is_timestamp(arrow_type) and arrow_type.unit == "ms"


def _compared(tree: nodes.SyntaxNode) -> Iterator[tuple[nodes.SyntaxNode, bool]]:
    """Yield each comparison, and True if it is negated."""
    stack = [(tree, False)]
    while stack:
        node, negated = stack.pop()
        if isinstance(node, (nodes.Comparison, nodes.NullSafe, nodes.Between, nodes.ListTest)):
            yield node, negated
        stack += [(child, negated or isinstance(node, nodes.Negation)) for child in reversed(node.children())]


def _loses(node: nodes.SyntaxNode) -> bool:
    """Return True if a comparison with a floored literal selects too few rows."""
    match node:
        case nodes.Comparison(left, _, op):
            return op in ({Op.LT, Op.NE} if isinstance(left, nodes.Column) else {Op.GT, Op.NE})
        case _:
            return isinstance(node, nodes.NullSafe) and not node.is_same


def _may_be_fine(node: nodes.SyntaxNode, sql: str) -> bool:
    plain = all(isinstance(part, (nodes.Column, nodes.Literal)) for part in node.children())
    return not plain or _MICROSECONDS.search(sql) is not None
