"""What advice says in words: whether a layout is worth its rewrite, and why its keys are as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.layout.spec import LayoutSpec
from parquet_core.quantities import bytes_text
from prune_assets.advisor.candidates import WORTH_IT, row_group_bytes_for
from prune_assets.advisor.result import DEAR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.advisor.candidates import Candidate
    from prune_assets.advisor.result import RankedLayout


def verdict(today: float, ranking: Sequence[RankedLayout]) -> str:
    """Return what to do, and why, in one line; the first of the ranking is the best that may be advised."""
    if not ranking:
        return "do nothing: no column that the workload filters on can be read without Spark"
    best, now, anew = ranking[0], bytes_text(round(today)), _better_anew(ranking)
    if best.bytes >= WORTH_IT * today:
        return f"do nothing: {_not_worth_it(best, today)}{anew}"
    if best.high >= WORTH_IT * today:
        sure = f"{bytes_text(best.low)} to {bytes_text(best.high)}"
        return f"do nothing: it is not sure that {best.title} reads less than the {now} of today ({sure}){anew}"
    dear = (
        f"; {best.twice_as_dear:.0%} of the runs then read twice as much or more" if best.twice_as_dear >= DEAR else ""
    )
    return f"{best.title}: queries read {bytes_text(best.bytes)} instead of {now}{dear}{anew}"


def _not_worth_it(best: RankedLayout, today: float) -> str:
    """Compare the bytes of today and of the best layout, as rounded, in words."""
    now, then = bytes_text(round(today)), bytes_text(best.bytes)
    if now == then or best.bytes >= today:
        than = "as much" if now == then else f"{then} and so more"
        return f"no layout reads less than the {now} of today; the best of them, {best.title}, reads {than}"
    return f"queries read {now} today, and {then} with the best layout, {best.title}: not worth a rewrite"


def _better_anew(ranking: Sequence[RankedLayout]) -> str:
    """Return what a new table would read much less than the best layout of this one, in words."""
    best = min((one for one in ranking if one.refused), key=lambda one: one.bytes, default=None)
    if best is None or ranking[0].refused or best.bytes >= WORTH_IT * ranking[0].bytes:
        return ""
    return f"; {best.title} would read {bytes_text(best.bytes)}, but needs a new table (prune write)"


def reasons(best: Candidate, table_bytes: float) -> dict[str, str]:
    """Return why the keys of an advised layout are as they are."""
    layout, why = best.layout, best.why
    found = {key: why for key in ("partition_by", "sort_by", "zorder_by", "hilbert_by") if getattr(layout, key)}
    if layout.partition_by:
        found["partition_by"] = "queries filter on these few values, so they skip whole directories"
    if layout.bloom:
        found["bloom"] = "queries look for single values; a bloom filter rules out the row groups that lack them"
    found["page_rows"] = f"a query reads whole pages of {layout.page_rows:,} rows"
    found["row_group_bytes"] = _why_row_groups(layout.row_group_bytes, table_bytes)
    found["target_file_bytes"] = "few files to list and to open"
    return found


def _why_row_groups(size: int, table_bytes: float) -> str:
    if size == LayoutSpec().row_group_bytes:
        return "row groups small enough to be skipped, large enough to be read at once"
    if size == row_group_bytes_for(table_bytes):
        return f"one task of Spark reads a row group; small ones let several share {bytes_text(round(table_bytes))}"
    return "a dictionary or bloom filter rules out a whole row group or nothing, so small ones skip more"
