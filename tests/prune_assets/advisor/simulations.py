"""Layouts simulated on the tables of tests: each table is opened, planned and sampled once."""

from __future__ import annotations

from functools import lru_cache

from prune_assets.advisor.queries import costs_of, queries_of
from prune_assets.advisor.sample import encoded_rows, take_sample
from prune_assets.advisor.simulate import Workspace
from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate
from prune_assets.spark.lower_predicate import semantics_for
from prune_assets.tables.opening import open_table


@lru_cache(maxsize=2)
def _opened(source, wheres):
    table = open_table(source, semantics=semantics_for(None))
    queries = queries_of(table, [QueryShape(source, w, (), 1.0, (RanPredicate(w),)) for w in wheres], {})
    return table, queries, costs_of(table.read_all())


@lru_cache(maxsize=2)
def _workspace(source, wheres, sample_rows, is_encoded):
    table, queries, costs = _opened(source, wheres)
    paths = dict.fromkeys(path for query in queries for path in query.paths())
    sample = take_sample(table, list(paths), sample_rows)
    encoded = encoded_rows(table, queries, list(sample.columns), costs) if is_encoded else None
    return Workspace(sample, queries, costs, encoded)


def workspace_of(source, wheres, sample_rows, *, is_encoded=True):
    """Return the workspace that simulates queries on a sample; `is_encoded`: encode rows to find sizes of columns."""
    return _workspace(source, tuple(wheres), sample_rows, is_encoded)
