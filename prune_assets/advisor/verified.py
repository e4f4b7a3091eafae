"""Predicted and planned bytes of each query on layouts that were written to compare them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.printable import printable
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.quantities import clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Limit of a good prediction, in percentage points.
_FIVE = 5
_LONGEST_SQL = 70
# Bytes of a page of a column; ratios of fewer bytes are meaningless.
_ONE_PAGE = 64 << 10
# A prediction is named if it is wrong by more than this factor.
_OFF = 2


@dataclass(frozen=True, slots=True)
class VerifiedQuery:
    """A predicate on a written layout, with predicted and planned bytes of one run.

    `predicted_whole`, `planned_whole`: bytes of all columns of the query.
    `rows_planned`: number of rows that the plan reads.
    `rows_scanned`: number of rows that Spark's scan returned. None if Spark did not run the query.
    """

    where: str
    runs: float
    predicted: int
    predicted_whole: int
    planned: int
    planned_whole: int
    rows_planned: int
    rows_scanned: int | None

    @property
    def predicted_share(self) -> float:
        """The predicted bytes as a share of all bytes of the query's columns."""
        return self.predicted / max(self.predicted_whole, 1)

    @property
    def planned_share(self) -> float:
        """The planned bytes as a share of all bytes of the query's columns."""
        return self.planned / max(self.planned_whole, 1)

    @property
    def ratio(self) -> float:
        """The larger of predicted and planned bytes divided by the smaller; 1 if both are less than a page."""
        few, many = sorted((self.predicted, self.planned))
        return many / max(few, 1) if many > _ONE_PAGE else 1.0

    @property
    def points(self) -> float:
        """The error of the predicted share in percentage points."""
        return 100 * (self.predicted_share - self.planned_share)


@dataclass(frozen=True, slots=True)
class VerifiedLayout:
    """A written layout, with the share of its unpruned bytes that a run reads: as predicted, and as planned.

    `writer`: Spark or pyarrow.
    `rows`: number of rows written.
    `median_error`: median of the queries' errors, in percentage points.
    `within_five`: share of the queries whose error is at most five points.
    """

    title: str
    writer: str
    rows: int
    predicted: float
    planned: float
    median_error: float
    within_five: float
    queries: tuple[VerifiedQuery, ...]

    def worst(self, count: int) -> list[VerifiedQuery]:
        """Return the `count` queries with the largest prediction errors."""
        return sorted(self.queries, key=lambda it: -abs(it.points))[:count]

    def __str__(self) -> str:
        return (
            f"{self.title}: predicted {self.predicted:.1%}, planned {self.planned:.1%} of the bytes; queries are off "
            f"by {self.median_error:.1f} points (median), {self.within_five:.0%} of them by at most 5"
        )


def verified_layout(title: str, queries: Sequence[VerifiedQuery], *, rows: int, writer: str) -> VerifiedLayout:
    """Aggregate the queries on a written layout. Raises WrongUse without queries."""
    if not queries:
        raise WrongUse(f"{title}: no predicate of the workload applies to the written table; verify with Spark")
    errors = [abs(query.points) for query in queries]
    return VerifiedLayout(
        title=title,
        writer=writer,
        rows=rows,
        predicted=_share((query.runs * query.predicted, query.runs * query.predicted_whole) for query in queries),
        planned=_share((query.runs * query.planned, query.runs * query.planned_whole) for query in queries),
        median_error=median(errors),
        within_five=sum(error <= _FIVE for error in errors) / len(errors),
        queries=tuple(queries),
    )


def _share(pairs: Iterable[tuple[float, float]]) -> float:
    parts, wholes = zip(*pairs, strict=True)
    return float(sum(parts) / max(sum(wholes), 1))


def verified_lines(verified: Sequence[VerifiedLayout]) -> Iterator[str]:
    """Yield printed lines: each layout, its largest errors, and the rows that Spark scanned."""
    for layout in verified[:1]:
        yield ""
        yield f"verified by writing {layout.rows:,} rows with {layout.writer} and planning the queries on them"
    for layout in verified:
        yield f"  {printable(str(layout))}"
        (worst,) = layout.worst(1)
        if abs(worst.points) > _FIVE:
            yield f"    most: predicted {worst.points:+.1f} points for  {clipped(printable(worst.where), _LONGEST_SQL)}"
        furthest = max(layout.queries, key=lambda it: it.ratio)
        if furthest.ratio > _OFF:
            sql = clipped(printable(furthest.where), _LONGEST_SQL)
            both = f"{bytes_text(furthest.predicted)} predicted, {bytes_text(furthest.planned)} planned"
            yield f"    furthest: {both}, {furthest.ratio:.1f} times, for  {sql}"
        ran = [it for it in layout.queries if it.rows_scanned is not None]
        if ran:
            planned, scanned = sum(it.rows_planned for it in ran), sum(it.rows_scanned or 0 for it in ran)
            queries = counted(len(ran), "query", "queries")
            yield f"    Spark scanned {scanned:,} rows for {queries}; {planned:,} were planned"
    best = min(verified, key=lambda it: it.planned, default=None)
    if best is not None and best is not verified[0]:
        yield f"  as written, {printable(best.title)} reads least"
