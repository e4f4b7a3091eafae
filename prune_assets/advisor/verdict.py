"""Explain in words whether a layout is worth its rewrite, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.layout.spec import LayoutSpec
from parquet_core.quantities import bytes_text
from prune_assets.advisor.candidates import WORTH_IT, row_group_bytes_for

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from prune_assets.advisor.candidates import Candidate
    from prune_assets.advisor.result import QueryBytes, RankedLayout

# A curve, or finer pages alone, must reduce the bytes to less than this share of today's bytes. A curve or pages that
# save less are not advised; without them, queries read at most a quarter more bytes.
_WORTH_A_CURVE, _WORTH_FINER_PAGES = 0.8, 0.8
# If the simulated present layout reads less than the first share of today's bytes, errors of the simulation do not
# explain the difference. Below the second share, another codec does not explain the difference either.
_BEYOND_ERROR, _BEYOND_CODEC = 0.85, 0.2
# Maximum number of workload runs after which an advised rewrite pays.
MOST_RUNS_TO_PAY = 1_000
# Number of queries that a verdict names.
_NAMED = 10


def verdict(today: float, ranking: Sequence[RankedLayout], *, keep_reason: str, dearer: Sequence[QueryBytes]) -> str:
    """Return the advice and its reason in one line.

    `ranking`: layouts; the first is the best that may be advised.
    `keep_reason`: why today's layout is kept; "" if the best is advised.
    `dearer`: queries that read more than twice their bytes in the best layout.
    """
    if not ranking:
        return "do nothing: no column that the workload filters on can be read without Spark"
    best, now, anew = ranking[0], bytes_text(round(today)), _better_in_new_table(ranking)
    if keep_reason:
        return f"do nothing: {keep_reason}{anew}"
    return f"{best.title}: queries read {bytes_text(best.bytes)} instead of {now}{_dearer(dearer)}{anew}"


def why_kept(
    today: float, as_it_is: float, best: RankedLayout, runs_to_pay: int | None, *, same_codec: bool = True
) -> str:
    """Return why the best layout is not advised; "" if it is advised.

    `today`, `as_it_is`: bytes that the workload reads today, as planned and as simulated. The best layout must be
    better than both. Errors of the simulation affect `as_it_is` too, so an applied layout is not advised again. If
    `as_it_is` is much less than `today`, today's encodings cause the difference, and a rewrite saves it in any order.
    `same_codec`: if False, the codec may cause most of the difference, which is no reason for another layout.
    """
    needed, title = _needed(best.layout), best.title
    read, now = bytes_text(best.bytes), bytes_text(round(today))
    if best.bytes >= needed * today:
        return _not_worth_it(best, today, needed)
    is_error = as_it_is > (_BEYOND_ERROR if same_codec else _BEYOND_CODEC) * today
    if best.bytes >= needed * as_it_is and is_error:
        return f"{title} saves less than {1 - needed:.0%} of the reads of the current layout, if both are simulated"
    if best.high >= needed * today:
        sure = f"{bytes_text(best.low)} to {bytes_text(best.high)}"
        return (
            f"it is uncertain whether {title} saves {1 - needed:.0%}: queries read {now} today, and would read {sure}"
        )
    if runs_to_pay is None or runs_to_pay > MOST_RUNS_TO_PAY:
        return (
            f"{title} reads {read} instead of {now}, and pays for its rewrite after {runs_to_pay} runs of the workload"
        )
    return ""


def _needed(layout: LayoutSpec) -> float:
    """Return the share of today's bytes below which a layout is advised; curves cost each write more than sorts."""
    if layout.curve_by:
        return _WORTH_A_CURVE
    return WORTH_IT if layout.sort_by or layout.partition_by else _WORTH_FINER_PAGES


def _dearer(queries: Sequence[QueryBytes]) -> str:
    if not queries:
        return ""
    more = f", and {len(queries) - _NAMED:,} more" if len(queries) > _NAMED else ""
    return f"; more than twice as expensive: {', '.join(map(str, queries[:_NAMED]))}{more}"


def _not_worth_it(best: RankedLayout, today: float, needed: float) -> str:
    """Describe that the best layout saves too little, with both rounded numbers of bytes."""
    now, then = bytes_text(round(today)), bytes_text(best.bytes)
    if now == then or best.bytes >= today:
        than = "as much" if now == then else f"{then} and so more"
        return f"no layout reads less than the {now} of today; the best layout, {best.title}, reads {than}"
    saved = f"saves {1 - best.bytes / today:.0%}, and a rewrite is worth it from {1 - needed:.0%} on"
    return f"queries read {now} today, and {then} with the best layout, {best.title}: it {saved}"


def _better_in_new_table(ranking: Sequence[RankedLayout]) -> str:
    """Return a clause on a layout that reads much less but needs a new table; "" without such a layout."""
    best = min((ranked for ranked in ranking if ranked.refused), key=lambda ranked: ranked.bytes, default=None)
    if best is None or ranking[0].refused or best.bytes >= WORTH_IT * ranking[0].bytes:
        return ""
    return f"; {best.title} would read {bytes_text(best.bytes)}, but needs a new table (prune write)"


def reasons(best: Candidate, table_bytes: float, filtered: Container[str]) -> dict[str, str]:
    """Return the reason for each key of an advised layout.

    `filtered`: names of the columns that queries filter by.
    """
    layout, why = best.layout, best.why
    key_reasons = {key: why for key in ("partition_by", "sort_by", "zorder_by", "hilbert_by") if getattr(layout, key)}
    if layout.partition_by:
        is_filtered = any(name in filtered for name in layout.partition_by)
        key_reasons["partition_by"] = (
            "queries filter on these few values, so they skip whole directories"
            if is_filtered
            else "the table has these directories; no query filters on them"
        )
    if layout.bloom:
        key_reasons["bloom"] = "queries look for single values; a bloom filter rules out the row groups that lack them"
    key_reasons["page_rows"] = f"a query reads whole pages of {layout.page_rows:,} rows"
    key_reasons["row_group_bytes"] = _why_row_groups(layout.row_group_bytes, table_bytes)
    key_reasons["target_file_bytes"] = "few files to list and to open"
    return key_reasons


def _why_row_groups(size: int, table_bytes: float) -> str:
    if size == LayoutSpec().row_group_bytes:
        return "row groups small enough to be skipped, large enough to be read at once"
    if size == row_group_bytes_for(table_bytes):
        return f"one task of Spark reads a row group; small ones let several share {bytes_text(round(table_bytes))}"
    return "a dictionary or bloom filter rules out a whole row group or nothing, so small ones skip more"
