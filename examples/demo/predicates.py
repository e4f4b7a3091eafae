"""The four predicates of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import dagster as dg

from prune_assets.dagster import Choice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prune_assets.report.skip_report import SkipReport

NARROW_RANGE = "l_shipdate BETWEEN DATE '1995-03-13' AND DATE '1995-03-15'"
# The where-clause of TPC-H query 6 with the parameters of its validation run.
Q6 = (
    "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR "
    "AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24"
)
LOOKUPS = 20
SEED = 20_261_121


@dataclass(frozen=True, slots=True)
class Lookup:
    """A planned point lookup."""

    key: int
    report: SkipReport


def seeded_keys(lineitem: Path) -> list[int]:
    """Draw existing order keys; the same data gives the same keys."""
    import numpy as np
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    keys = np.sort(pc.unique(pq.read_table(lineitem, columns=["l_orderkey"])["l_orderkey"]).to_numpy())
    drawn = np.random.default_rng(SEED).choice(keys, size=min(LOOKUPS, len(keys)), replace=False)
    return [int(key) for key in drawn]


def plan_lookups(table: Path, keys: Sequence[int]) -> list[Lookup]:
    """Plan a point lookup of each key without Spark, sorted by kept bytes, ascending."""
    from prune_assets.planner.explain.plan import plan

    lookups = [Lookup(key, plan(str(table), where=f"l_orderkey = {key}").report) for key in keys]
    return sorted(lookups, key=lambda lookup: lookup.report.kept.bytes)


def choose_point_lookup(table: Path, lineitem: Path) -> Choice:
    """Choose the seeded lookup with median kept bytes, and report the mean of all lookups."""
    lookups = plan_lookups(table, seeded_keys(lineitem))
    reports = [lookup.report for lookup in lookups]
    median = lookups[len(lookups) // 2]
    rows = [
        dg.TableRecord(
            {
                "l_orderkey": lookup.key,
                "kept bytes": lookup.report.kept.bytes,
                "kept row groups": lookup.report.kept.row_groups,
                "index bytes": lookup.report.index_bytes,
                "bloom bytes": lookup.report.bloom_bytes,
            }
        )
        for lookup in lookups
    ]
    return Choice(
        f"l_orderkey = {median.key}",
        {
            "lookups": dg.MetadataValue.table(rows),
            "lookups_planned": len(lookups),
            "mean_kept_bytes": _mean([report.kept.bytes for report in reports]),
            "mean_kept_fraction": _mean([report.kept.bytes / report.total.bytes for report in reports]),
            "mean_index_bytes": _mean([report.index_bytes for report in reports]),
            "mean_bloom_bytes": _mean([report.bloom_bytes for report in reports]),
        },
    )


def choose_or_columns(lineitem: Path) -> Choice:
    """Select one order or one day: bounds of one column alone exclude nothing."""
    return Choice(f"l_orderkey = {seeded_keys(lineitem)[0]} OR l_shipdate = DATE '1998-08-02'")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
