"""Bytes that a workload reads of a table: as measured, and as planned now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import WrongUse
from prune_assets.advisor.advise import shapes_of
from prune_assets.advisor.queries import queries_of
from prune_assets.advisor.workload.costs import needless_bytes
from prune_assets.cache_directory import metadata_cache
from prune_assets.spark.lower_predicate import semantics_for
from prune_assets.tables.opening import open_table, retry_on_stale_listing

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from prune_assets.advisor.workload.query_shapes import Workload
    from prune_assets.sql.semantics import SparkSemantics


class WorkloadReads(NamedTuple):
    """Bytes that one run of a workload reads: as planned, and without pruning (`whole`).

    `needless`: measured bytes that selected no row; None if unknown.
    """

    runs: float
    today: int
    whole: int
    needless: int | None


def workload_reads(
    location: str | os.PathLike[str], workload: Workload | Sequence[str], semantics: SparkSemantics | None = None
) -> WorkloadReads:
    """Plan a workload on the current table.

    All values are 0 if the workload has no query on the table.
    """
    return retry_on_stale_listing(lambda: _plan_workload(location, workload, semantics))


def _plan_workload(
    location: str | os.PathLike[str], workload: Workload | Sequence[str], semantics: SparkSemantics | None
) -> WorkloadReads:
    table = open_table(location, semantics=semantics_for(None, semantics), cache=metadata_cache())
    try:
        shapes = shapes_of(table, workload)
    except WrongUse:
        return WorkloadReads(0, 0, 0, 0)
    queries = queries_of(table, shapes, {})
    lost = [size for shape in shapes if (size := needless_bytes(shape.totals)) is not None]
    return WorkloadReads(
        runs=sum(shape.runs for shape in shapes),
        today=round(sum(query.runs * query.today for query in queries)),
        whole=round(sum(query.runs * query.whole for query in queries)),
        needless=sum(lost) if lost else None,
    )
