"""Measure how far advised layouts are from the best of all candidate layouts.

Candidates are all sort keys of up to two columns and all z-orders of up to three columns, each of them written. Rules
of thumb are measured too: sort by the most filtered column, z-order by the three most filtered columns, partition by
the date. Layouts are written without Spark, all with the same page size, so that only row orders differ. Advice uses
half of the rows of each table. Planned bytes are stored in a file, so that an interrupted run resumes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from benchmarks.advisor_workloads import DIRECTORY, KINDS, ROWS, WORKLOADS, workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from benchmarks.advisor_workloads import Kind
    from prune_assets import LayoutSpec

NAME = "advisor: regret"
_SAMPLED = ROWS // 2
_PAGE_ROWS = 5_000
# Number of columns that candidates use: the columns on which most queries filter.
_COLUMNS = 5


class Plans:
    """Planned bytes of one table per layout; each layout is written once for all workloads."""

    def __init__(self, name: str, kind: Kind, wheres: list[str]) -> None:
        self.name, self.rows, self.wheres = name, kind.rows(), wheres
        self.file, self.source = DIRECTORY / f"{name}.json", DIRECTORY / f"{name}-source"
        self.known: dict[str, dict[str, int]] = json.loads(self.file.read_text()) if self.file.exists() else {}
        if not self.source.is_dir():
            # The source has pages and dictionaries as Spark writes them, with rows in arrival order.
            import pyarrow.parquet as pq

            import prune_assets as pr

            once = DIRECTORY / f"{name}-raw.parquet"
            pq.write_table(self.rows, once)
            self.write(pr.LayoutSpec(), self.source, given=str(once))
            once.unlink()

    def bytes(self, layout: LayoutSpec | None, wheres: list[str]) -> NDArray[np.int64]:
        """Return the bytes that each query reads in a layout; None for the current layout."""
        key = "source" if layout is None else repr(layout)
        if not {*wheres} <= self.known.get(key, {}).keys():
            target = self.source if layout is None else DIRECTORY / f"{self.name}-written"
            if layout is not None:
                shutil.rmtree(target, ignore_errors=True)
                self.write(layout, target, given=str(self.source))
            self.known[key] = _planned(str(target), self.wheres)
            self.file.write_text(json.dumps(self.known))
        return np.array([self.known[key][where] for where in wheres])

    def write(self, layout: LayoutSpec, target: Path, *, given: str) -> None:
        """Write the rows in a layout."""
        from prune_assets.advisor.queries import costs_of
        from prune_assets.advisor.trial_write import write_without_spark
        from prune_assets.spark.lower_predicate import semantics_for
        from prune_assets.tables.opening import open_table

        table = open_table(given, semantics=semantics_for(None))
        per_row = sum(cost.data for cost in costs_of(table.read_all()).values())
        write_without_spark(self.rows, target, layout, table=table, bytes_per_row=per_row)


def _planned(table: str, wheres: list[str]) -> dict[str, int]:
    from prune_assets.planner.plan_read import plan_opened
    from prune_assets.spark.lower_predicate import semantics_for
    from prune_assets.tables.opening import open_table

    opened = open_table(table, semantics=semantics_for(None))
    return {
        where: int(plan_opened(opened, where=where, session=None, depth="pages").kept.bytes.sum())
        for where in dict.fromkeys(wheres)
    }


def regret(tables: Sequence[str] = tuple(KINDS)) -> Table:
    """Advise workloads, write all candidate layouts, and compare the bytes read."""
    os.environ["PRUNE_CACHE_DIR"] = str((Path(".bench") / "cache").absolute())
    titles = (
        "workload",
        "predicates",
        "advised",
        "best of all",
        "regret",
        "(a) sort",
        "(b) z-order",
        "(c) by date",
        "today",
    )
    table, rows = Table(*titles), []
    for name, kind in ((name, KINDS[name]) for name in tables):
        drawn = [workload(kind, number) for number in range(WORKLOADS)]
        plans = Plans(name, kind, [where for wheres in drawn for where in wheres])
        for number, wheres in enumerate(drawn):
            rows.append(_row(f"{name} {number}", kind, plans, wheres))
            table.add_row(*map(str, rows[-1].values()))
            print(json.dumps(rows[-1]), flush=True)
    regrets = np.array([row["regret"] for row in rows])
    table.caption = (
        f"{np.mean(regrets <= 1.1):.0%} of {len(rows)} workloads within 1.1; median {np.median(regrets):.2f}, "
        f"largest {regrets.max():.2f}"
    )
    return table


def _row(title: str, kind: Kind, plans: Plans, wheres: list[str]) -> dict[str, Any]:
    import prune_assets as pr

    advice = pr.advise(str(plans.source), workload=wheres, sample_rows=_SAMPLED)
    today = plans.bytes(None, wheres).sum()
    chosen = None if advice.advised is None else replace(advice.advised.layout, page_rows=_PAGE_ROWS)
    advised = plans.bytes(chosen, wheres).sum()
    rivals = {_title(it): plans.bytes(it, wheres).sum() for it in _rivals(wheres, plans.rows)}
    best = min(rivals, key=lambda it: rivals[it])
    rules = [plans.bytes(it, wheres).sum() / advised for it in _rules(kind, wheres, plans.rows)]
    return {
        "workload": title,
        "predicates": len(wheres),
        "advised": "nothing" if advice.advised is None else advice.advised.title,
        "best": best,
        "regret": round(float(advised / min(rivals[best], today)), 3),
        **{name: round(float(ratio), 2) for name, ratio in zip("abc", rules, strict=True)},
        "today": round(float(today / advised), 2),
    }


def _title(layout: LayoutSpec) -> str:
    return ", ".join([*layout.sort_by, *(["z: " + ", ".join(layout.zorder_by)] if layout.zorder_by else [])])


def _most_filtered(wheres: list[str], rows: pa.Table) -> list[str]:
    found = Counter(name for where in wheres for name in rows.column_names if name in where.replace("(", " ").split())
    return [name for name, _ in found.most_common()]


def _rivals(wheres: list[str], rows: pa.Table) -> list[LayoutSpec]:
    import prune_assets as pr

    names, base = _most_filtered(wheres, rows)[:_COLUMNS], pr.LayoutSpec(page_rows=_PAGE_ROWS)
    keys = [*((name,) for name in names), *permutations(names, 2)]
    curves = [*combinations(names, 2), *combinations(names, 3)]
    return [*(replace(base, sort_by=key) for key in keys), *(replace(base, zorder_by=key) for key in curves)]


def _rules(kind: Kind, wheres: list[str], rows: pa.Table) -> list[LayoutSpec]:
    import prune_assets as pr

    names, base = _most_filtered(wheres, rows), pr.LayoutSpec(page_rows=_PAGE_ROWS)
    curve = {"zorder_by": names[:3]} if len(names) > 1 else {"sort_by": names}
    return [replace(base, sort_by=names[:1]), replace(base, **curve), replace(base, partition_by=[kind.date], files=1)]
