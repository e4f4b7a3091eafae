"""Advise the layout that reads the fewest bytes for a workload, from metadata and a sample, without Spark."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import PruneError, WrongUse
from parquet_core.format.enumerations import codec_name
from parquet_core.layout.spec import LayoutSpec
from parquet_core.printable import listed, printable, redacted
from parquet_core.quantities import bytes_text
from prune_assets.advisor.candidates import (
    FINER_PAGES,
    FINEST_PAGES,
    MOST_COLUMNS,
    WORTH_IT,
    Candidate,
    refined,
    row_group_bytes_for,
    search,
    try_out,
    usual_keys,
    with_another_key,
)
from prune_assets.advisor.merge_keys import with_merge_keys
from prune_assets.advisor.outcome import promised_shapes
from prune_assets.advisor.own_layout import key_paths, refuse_unread
from prune_assets.advisor.queries import costs_of, filtered_columns, queries_of
from prune_assets.advisor.result import LayoutAdvice, QueryBytes, RankedLayout
from prune_assets.advisor.same_table import notes_on, shapes_on
from prune_assets.advisor.sample import MOST_ROWS, encoded_rows, take_sample
from prune_assets.advisor.simulate import Workspace
from prune_assets.advisor.verdict import reasons, verdict, why_kept
from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate, Workload
from prune_assets.cache_directory import metadata_cache
from prune_assets.errors import NoRows
from prune_assets.planner.explain.remedies import remedy_of
from prune_assets.report.skip_report import UnsupportedPart
from prune_assets.spark.lower_predicate import semantics_for
from prune_assets.tables.opening import open_table, retry_on_stale_listing
from prune_assets.tables.rewriting import check_rewrite
from prune_assets.writing.layout_file import load_layout, naming_layout_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from prune_assets.advisor.candidates import Tried
    from prune_assets.advisor.queries import Query
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.table import Table
    from prune_assets.writing.layout_file import LayoutSource

# Number of rows for the simulation of all candidates, and for tuning the best. The winner is simulated on all rows.
_FEW_ROWS, _SOME_ROWS = 32_768, 262_144
_FINALISTS = 5
# Number of sample parts that are simulated separately; the margin of error follows from their differences.
_PARTS = 4
# If several layouts read at most this factor of the fewest bytes, the simplest layout is advised.
_NEARLY_EQUAL = 1.02
# A sort key, which every writer can keep, is advised instead of a curve that saves hardly more.
_SORT_FOR_CURVE = 1.05
# Maximum number of orders to tune, and the factor of the fewest bytes up to which an order is worth tuning.
_TUNED, _NEARLY_AS_GOOD = 3, 1.5
# Number of row groups whose pages are counted.
_SAMPLED_ROW_GROUPS = 8
# A note names the default codec if queries would read less than this share of today's bytes with it.
_LESS_BY_CODEC = 0.75


def advise(
    table: str | os.PathLike[str],
    *,
    workload: Workload | Sequence[str],
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
    sample_rows: int = MOST_ROWS,
    in_place: bool = False,
    layout: LayoutSource | None = None,
) -> LayoutAdvice:
    """Advise the layout that reads the fewest bytes for a workload, and whether a rewrite pays.

    Each candidate is simulated: the sampled rows are sorted into its order, cut into row groups and pages, and
    evaluated like the metadata of a real table. Nothing is written.

    >>> import random, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table, draw = tempfile.mkdtemp(), random.Random(1)
    >>> rows = {"id": range(200_000), "shop": [draw.randrange(500) for _ in range(200_000)]}
    >>> pq.write_table(pa.table(rows), f"{table}/part-0.parquet", write_page_index=True, max_rows_per_page=20_000)
    >>> advice = pr.advise(table, workload=["shop = 7", "shop BETWEEN 10 AND 20"])
    >>> advice.advised.layout.sort_by, advice.advised.bytes < advice.today / 2
    (('shop',), True)

    `workload`: a Workload, or WHERE conditions in Spark SQL, each of which counts once.
    `session`, `semantics`: the Spark session that will read the table, or its settings, for predicates that depend on
    its time zone.
    `sample_rows`: maximum number of rows to read; the simulation is exact for a table with fewer rows.
    `in_place`: advise the best layout that `optimize` can give the existing table; layouts that need a new table, such
    as directories for a table without them, are only ranked.
    `layout`: your own layout, or the path of a `layout.yaml`; the result's `own` has the bytes that queries would read
    with it.

    Raises LayoutError if `layout` has a column that the table lacks or that cannot be its key; WrongUse if no predicate
    of the workload fits the table, or the table has no rows; the errors of `plan`; and with `in_place` the errors of
    `optimize` for a table that it cannot rewrite at all.
    """
    own = None if layout is None else load_layout(layout)
    with naming_layout_file(layout):
        opening = partial(open_table, table, semantics=semantics_for(session, semantics), session=session)
        advice = retry_on_stale_listing(lambda: _advise(opening, workload, sample_rows, own, in_place=in_place))
        return replace(advice, named=os.fspath(table))


def _advise(
    opening: Callable[..., Table],
    workload: Workload | Sequence[str],
    most: int,
    own: LayoutSpec | None,
    *,
    in_place: bool,
) -> LayoutAdvice:
    table = opening(cache=metadata_cache())
    keys = key_paths(own, table)
    index = table.read_all()
    if not index.groups.row_count.sum():
        raise NoRows(
            f"{table.name}: the table has no rows, so no layout can be compared; advise when the table has rows"
        )
    skipped: dict[str, int] = {}
    shapes = shapes_of(table, workload)
    shapes, merged_on = with_merge_keys(table, shapes, workload)
    queries = queries_of(table, shapes, skipped)
    partitions = [column.path for column in table.partitions]
    paths = dict.fromkeys([*(path for query in queries for path in query.paths()), *partitions, *keys])
    costs = costs_of(index)
    sample = take_sample(table, list(paths), most)
    if own is not None:
        refuse_unread(own, {path[0].casefold() for path in sample.columns})
    workspace = Workspace(sample, queries, costs, encoded_rows(table, queries, list(sample.columns), costs))
    base = LayoutSpec(
        partition_by=[path[0] for path in partitions if path in workspace.sample.columns],
        row_group_bytes=row_group_bytes_for(workspace.table_bytes),
    )
    columns = _columns(table, workspace, queries)
    simulations = _ranked(workspace, base, columns, table, in_place=in_place) if workspace.sample.columns else []
    mine = None if own is None else try_out(workspace, Candidate(own, "the layout that was given"))
    advice = _advice(table, workspace, simulations, mine, skipped)
    promised = promised_shapes(queries, [query.advised for query in advice.queries], shapes)
    notes = notes_on(*_names(table), workload=workload) if isinstance(workload, Workload) else ()
    of_table = (
        *_lost_filters(index, advice.advised),
        *_other_codec(index, advice.today, _bytes_of_present_layout(table, workspace)),
    )
    return replace(advice, promised=promised, notes=(*notes, *map(_of_merges, merged_on), *of_table))


def _of_merges(keys: str) -> str:
    return (
        f"MERGEs on {printable(keys)} count as queries on sampled keys; a MERGE skips files by its keys only if ON has "
        f"a condition on the table, such as {printable(keys.partition(', ')[0])} BETWEEN .. AND .."
    )


def shapes_of(table: Table, workload: Workload | Sequence[str]) -> Sequence[QueryShape]:
    """Return the query shapes of a workload on a table.

    A shape belongs to the table if it has the table's path or name. If there are no such shapes, the last part of the
    path or name decides, so that a copy of a table can use the queries on the original. Raises WrongUse if the workload
    has no query on the table, or has queries on several tables with the same last part.
    """
    if isinstance(workload, Workload):
        shapes = shapes_on(*_names(table), workload=workload)
        if not shapes:
            ran = listed(sorted({redacted(shape.table) for shape in workload.shapes})) or "no table"
            raise WrongUse(
                f"{redacted(table.name)}: the workload has no query on it; it has queries on {ran}; advise one of "
                "these, or give predicates of this table: --predicate, or a condition a line in a file of SQL"
            )
        return shapes
    if isinstance(workload, str) or not all(isinstance(where, str) for where in workload):
        raise WrongUse("workload: give a Workload or a list of predicates as text, e.g. [\"day = '2024-01-01'\"]")
    return [QueryShape(table.name, where, (), 1.0, (RanPredicate(where),)) for where in workload]


def _names(table: Table) -> tuple[str, str]:
    return table.name, str(table.given)


def _columns(table: Table, workspace: Workspace, queries: Sequence[Query]) -> list[str]:
    """Return the top-level columns that rows can be sorted by, most bytes read first."""
    partitions = {column.path for column in table.partitions}
    can = [path for path in filtered_columns(queries) if len(path) == 1 and path not in partitions]
    return [path[0] for path in can if path in workspace.sample.columns][:MOST_COLUMNS]


def _ranked(
    workspace: Workspace, base: LayoutSpec, columns: Sequence[str], table: Table, *, in_place: bool
) -> list[Tried]:
    """Return the best layouts, best first, with at least one of each kind of order.

    The first layout is simulated on the whole sample, all others on a part of the sample.
    """
    few = workspace.on(workspace.sample.thinned(_FEW_ROWS), is_rough=True)
    fine = replace(base, page_rows=FINER_PAGES)
    tried = _without_idle_keys(search(few, fine, columns, lambda name: _share_of(workspace.queries, name)))
    kinds = {_kind(it.candidate.layout, table): it for it in reversed(tried)}
    usual = [it for it in tried if _is_usual(it.candidate.layout, usual_keys(workspace.queries, columns))]
    finalists = {id(it): it.candidate for it in (*tried[:_FINALISTS], *kinds.values(), *usual)}.values()
    possible = [it for it in finalists if not (in_place and _refusal(it.layout, table))]
    if not possible:
        check_rewrite(table, tried[0].candidate.layout)
    medium = workspace.on(workspace.sample.thinned(_SOME_ROWS))
    rough = sorted((try_out(medium, it) for it in possible), key=lambda it: it.bytes)
    best = _simplest([refined(medium, it.candidate.with_pages(base.page_rows)) for it in _orders_to_tune(rough)])
    best = try_out(workspace, _with_stated_ties(medium, best, columns).candidate)
    pages = base.page_rows if best.candidate.layout.page_rows == base.page_rows else FINER_PAGES
    others = [try_out(medium, it.with_pages(pages)) for it in finalists if not _same_order(it, best.candidate)]
    return [best, *sorted(others, key=lambda it: it.bytes)]


def _is_usual(layout: LayoutSpec, keys: set[tuple[str, ...]]) -> bool:
    """Return True if `keys` contains the sort key of a layout, or the columns of its Hilbert curve in any order."""
    return layout.sort_columns in keys or frozenset(layout.hilbert_by) in map(frozenset, keys)


def _kind(layout: LayoutSpec, table: Table) -> tuple[bool, bool, bool]:
    return bool(layout.sort_by), bool(layout.curve_by), bool(_refusal(layout, table))


def _refusal(layout: LayoutSpec, table: Table) -> str:
    """Return why `optimize` cannot give a table a layout; "" if it can."""
    try:
        check_rewrite(table, layout)
    except PruneError as error:
        return str(error)
    return ""


def _orders_to_tune(tried: Sequence[Tried]) -> list[Tried]:
    """Return the orders to tune: the best few, and the current order of the table.

    Finer pages are tried for each order, because an order that is not the best with coarse pages may be the best with
    fine ones.
    """
    near = [it for it in tried if it.bytes <= _NEARLY_AS_GOOD * tried[0].bytes][:_TUNED]
    return [*near, *(it for it in tried if _tolerance(it) > _NEARLY_EQUAL and it not in near)]


def _simplest(tried: Sequence[Tried]) -> Tried:
    """Return the simplest of the layouts that read hardly more than the best."""
    least = min(it.bytes for it in tried)
    return min((it for it in tried if it.bytes <= _tolerance(it) * least), key=lambda it: (*_complexity(it), it.bytes))


def _with_stated_ties(workspace: Workspace, best: Tried, columns: Sequence[str]) -> Tried:
    """Add a key that orders rows with equal keys, if the savings of the layout depend on their order.

    A layout does not state the order of rows with equal keys, and writers need not keep their present order.
    """
    if not best.candidate.layout.sort_by:
        return best
    rows = np.random.default_rng(0).permutation(workspace.sample.rows)
    shuffled = workspace.on(workspace.sample.take(rows))
    if try_out(shuffled, best.candidate).bytes <= best.bytes / WORTH_IT:
        return best
    longer = [try_out(shuffled, it) for it in with_another_key(best.candidate, columns)]
    stated = min(longer, key=lambda it: it.bytes, default=best)
    return best if stated.bytes > best.bytes / WORTH_IT else try_out(workspace, stated.candidate)


def _same_order(candidate: Candidate, other: Candidate) -> bool:
    keys = ("partition_by", "sort_by", "zorder_by", "hilbert_by")
    return all(getattr(candidate.layout, key) == getattr(other.layout, key) for key in keys)


def _tolerance(it: Tried) -> float:
    """Return the factor of the fewest bytes up to which a layout may be preferred as simpler."""
    layout = it.candidate.layout
    if layout.sort_by and not layout.partition_by:
        return _SORT_FOR_CURVE
    return _NEARLY_EQUAL if layout.curve_by or layout.partition_by else 1 / WORTH_IT


def _without_idle_keys(tried: Sequence[Tried]) -> list[Tried]:
    """Drop sort orders that read hardly less than a prefix of their keys."""
    bytes_of_keys = {(it.candidate.layout.partition_by, it.candidate.layout.sort_by): it.bytes for it in tried}

    def is_idle(it: Tried) -> bool:
        layout = it.candidate.layout
        shorter = (layout.sort_by[:i] for i in range(1, len(layout.sort_by)))
        return any(
            bytes_of_keys.get((layout.partition_by, key), math.inf) <= _NEARLY_EQUAL * it.bytes for key in shorter
        )

    return [it for it in tried if not is_idle(it)]


def _complexity(tried: Tried) -> tuple[int, int, int]:
    layout = tried.candidate.layout
    return len(layout.partition_by), len(layout.curve_by) + len(layout.sort_by), len(layout.curve_by)


def _share_of(queries: Sequence[Query], name: str) -> str:
    runs = sum(query.runs for query in queries)
    on = sum(query.runs for query in queries if (name,) in query.paths())
    return f"{on / runs:.0%} of the runs filter on {name}"


def _advice(
    table: Table, workspace: Workspace, simulations: Sequence[Tried], own: Tried | None, skipped: dict[str, int]
) -> LayoutAdvice:
    queries, runs = workspace.queries, np.array([query.runs for query in workspace.queries])
    today = np.array([query.today for query in queries], np.float64)
    whole = np.array([query.whole for query in queries], np.float64)
    share = (
        np.minimum(_lower_bound_rows(workspace) / workspace.sample.total, 1.0)
        if workspace.sample.rows
        else np.ones(len(runs))
    )
    parts = _parts(workspace)
    unsure = _margin(workspace, parts, simulations[0]) if simulations else 0.0
    ranking = tuple(_ranked_layout(tried, unsure, runs, today, table) for tried in simulations)
    rewrite = round(2 * workspace.table_bytes)
    best, saved = (ranking[0], float(runs @ today) - ranking[0].bytes) if ranking else (None, 0.0)
    pays = math.ceil(rewrite / saved) if saved > 0 else None
    keep_reason = ""
    if best is not None:
        same_codec = _codec_of_most(table.read_all()) == LayoutSpec().compression
        keep_reason = why_kept(
            float(runs @ today), _bytes_of_present_layout(table, workspace), best, pays, same_codec=same_codec
        )
    advised = None if keep_reason else best
    then = simulations[0].simulated.read if advised else today
    queries_bytes = _bytes_of_queries(queries, then, share)
    dearer = _dearer(queries_bytes)
    filtered = {path[0] for path in filtered_columns(queries)}
    return LayoutAdvice(
        table=table.name,
        named=table.name,
        semantics=table.semantics,
        rows=workspace.sample.total,
        sampled_rows=workspace.sample.rows,
        advised=advised,
        verdict=verdict(float(runs @ today), ranking, keep_reason=keep_reason, dearer=dearer),
        today=round(float(runs @ today)),
        lower_bound=round(float(runs @ np.minimum(whole * share, np.minimum(today, then)))),
        whole=round(float(runs @ whole)),
        ranking=ranking,
        queries=queries_bytes,
        rewrite_bytes=rewrite,
        runs_to_pay=pays,
        dearer=dearer,
        own_dearer=() if own is None else _dearer(_bytes_of_queries(queries, own.simulated.read, share)),
        unsupported=_unsupported(queries),
        reasons=reasons(simulations[0].candidate, workspace.table_bytes, filtered) if advised else {},
        skipped=skipped,
        own=None if own is None else _ranked_layout(own, _margin(workspace, parts, own), runs, today, table),
    )


def _unsupported(queries: Sequence[Query]) -> tuple[UnsupportedPart, ...]:
    by_bytes = sorted(queries, key=lambda query: -query.runs * query.today)
    parts = [
        UnsupportedPart(leaf.sql, leaf.reason, remedy_of(leaf)) for query in by_bytes for leaf in query.unsupported
    ]
    return tuple(dict.fromkeys(parts))


def _bytes_of_queries(
    queries: Sequence[Query], then: NDArray[np.float64], share: NDArray[np.float64]
) -> tuple[QueryBytes, ...]:
    """Return the bytes of each query today and in a layout.

    `share`: for each query, the minimum share of its bytes that it must read in any layout.
    """
    least = np.minimum(share * [query.whole for query in queries], then)
    return tuple(
        QueryBytes(query.where, query.runs, query.today, round(bytes_), min(query.today, round(lowest)), query.whole)
        for query, bytes_, lowest in zip(queries, then.tolist(), least.tolist(), strict=True)
    )


def _dearer(queries: Sequence[QueryBytes]) -> tuple[QueryBytes, ...]:
    dearer = (it for it in queries if it.is_dearer)
    return tuple(sorted(dearer, key=lambda it: it.runs * (it.today - it.advised)))


def _lost_filters(index: MetadataIndex, advised: RankedLayout | None) -> tuple[str, ...]:
    """Return a note on bloom filters that the table has and the advised layout lacks."""
    if advised is None:
        return ()
    blooms = {name.casefold() for name in advised.layout.bloom}
    names = [
        column.name for column in index.groups.columns if (index.footers.chunks(column).bloom_filter[:, 0] > 0).any()
    ]
    lost = [name for name in names if name.casefold() not in blooms]
    if not lost:
        return ()
    keys = ", ".join(f"{name}: 0.01" for name in lost)
    return (f"the table has bloom filters on {listed(lost)}, which the advised layout lacks: add bloom: {{{keys}}}",)


def _bytes_of_present_layout(table: Table, workspace: Workspace) -> float:
    """Simulate the present layout; return the bytes that the workload reads in it."""
    index = table.read_all()
    groups = np.flatnonzero(index.groups.row_count > 0)
    layout = LayoutSpec(
        partition_by=[column.path[0] for column in table.partitions if column.path in workspace.sample.columns],
        row_group_rows=max(1, round(float(index.groups.row_count[groups].mean()))),
        page_rows=_page_rows(table, index, groups[:: max(1, len(groups) // _SAMPLED_ROW_GROUPS)]),
    )
    return try_out(workspace, Candidate(layout, "")).bytes


def _codec_of_most(index: MetadataIndex) -> str:
    """Return the codec that compresses the most bytes of a table."""
    sizes = Counter[str]()
    for column in index.groups.columns:
        chunks = index.footers.chunks(column)
        for codec in np.unique(chunks.codec).tolist():
            name = (codec_name(codec) or "no codec").lower()
            sizes[name] += int(chunks.compressed_bytes[chunks.codec == codec].sum())
    return max(sizes, key=lambda name: sizes[name], default=LayoutSpec().compression)


def _other_codec(index: MetadataIndex, today: int, as_it_is: float) -> tuple[str, ...]:
    """Return a note if a rewrite with the default codec of layouts would save many bytes."""
    codec, most = LayoutSpec().compression, _codec_of_most(index)
    if most == codec or as_it_is >= _LESS_BY_CODEC * today:
        return ()
    read = f"{bytes_text(round(as_it_is))} instead of {bytes_text(today)}"
    return (
        f"most bytes are compressed with {most}; rewritten with {codec} in the same order, queries would read {read}",
    )


def _page_rows(table: Table, index: MetadataIndex, groups: NDArray[np.int64]) -> int:
    """Return the mean rows per page of the first column with offset indexes.

    Without any offset index, returns the mean rows per row group.
    """
    for column in table.columns:
        (located,) = index.page_indexes.locations([column], groups)
        if len(located.first_row):
            return max(1, round(float(index.groups.row_count[groups].sum()) / len(located.first_row)))
    return max(1, round(float(index.groups.row_count[groups].mean())))


def _lower_bound_rows(workspace: Workspace) -> np.ndarray:
    """Return the fewest rows that each query can read in any layout: the selected rows, rounded up to whole pages."""
    few = workspace.on(workspace.sample.thinned(_FEW_ROWS))
    page = FINEST_PAGES
    rows: np.ndarray = np.ceil(few.matching_rows() / page) * page
    return rows


def _ranked_layout(tried: Tried, margin: float, runs: np.ndarray, today: np.ndarray, table: Table) -> RankedLayout:
    dearer = (tried.simulated.read >= 2 * today) & (tried.simulated.read > 0)
    return RankedLayout(
        title=tried.candidate.title,
        why=tried.candidate.why,
        bytes=round(tried.bytes),
        low=max(0, round(tried.bytes * (1 - margin))),
        high=round(tried.bytes * (1 + margin)),
        twice_as_dear=float(runs @ dearer / runs.sum()),
        layout=tried.candidate.layout,
        refused=_refusal(tried.candidate.layout, table),
    )


def _parts(workspace: Workspace) -> list[Workspace]:
    """Return parts of the sample, to derive the sampling error from the differences of their results.

    Empty if the sample is the whole table or too small.
    """
    sample = workspace.sample
    if sample.rate >= 1 or sample.rows < _PARTS * 100:
        return []
    step = _PARTS * max(1, sample.rows // (_PARTS * _FEW_ROWS))
    starts = (part * step // _PARTS for part in range(_PARTS))
    return [workspace.on(sample.take(np.arange(start, sample.rows, step))) for start in starts]


def _margin(workspace: Workspace, parts: Sequence[Workspace], tried: Tried) -> float:
    """Estimate twice the standard error of a layout's bytes, as a share of these bytes.

    Returns 0 if the sample is the whole table, 1 if the sample is too small to estimate the error.
    """
    if not parts:
        return 0.0 if workspace.sample.rate >= 1 else 1.0
    bytes_ = [try_out(part, tried.candidate).bytes for part in parts]
    return 2 * float(np.std(bytes_, ddof=1)) / math.sqrt(_PARTS) / max(tried.bytes, 1.0)
