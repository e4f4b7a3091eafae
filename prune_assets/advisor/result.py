"""What an advisor found: a ranking of layouts for a workload, and the layout that it advises."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.output import json_text
from prune_assets.report.quantities import clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_core.layout.spec import LayoutSpec

SCHEMA = "layout-advice/1"
_SHOWN = 5
# A layout that makes so many of the runs twice as dear says so.
DEAR = 0.1
_LONGEST_SQL = 70
# Queries that gain most, and lose most; less than this part of their bytes is no change.
_SHOWN_CHANGES = 3
_WORTH_SAYING = 0.01
# Points by which most predictions may be off.
_FIVE = 5


@dataclass(frozen=True, slots=True)
class QueryBytes:
    """A predicate, how often it runs, and the bytes of one run: today, in the advised layout, at least, and of all."""

    where: str
    runs: float
    today: int
    advised: int
    lower_bound: int
    whole: int


@dataclass(frozen=True, slots=True)
class RankedLayout:
    """A layout and the bytes that one run of the workload reads of it; `low`, `high`: as sure as the sample is.

    `why`: why it was tried. `twice_as_dear`: the share of the runs that would read at least twice what they read today.
    """

    title: str
    why: str
    bytes: int
    low: int
    high: int
    twice_as_dear: float
    layout: LayoutSpec


@dataclass(frozen=True, slots=True)
class VerifiedQuery:
    """A predicate on a layout that was written: bytes of one run and of its columns, as predicted and as planned.

    `rows_planned`: those that the plan reads. `rows_scanned`: those that Spark's scan returned, None where none ran.
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
        """The share of the bytes of its columns that was predicted."""
        return self.predicted / max(self.predicted_whole, 1)

    @property
    def planned_share(self) -> float:
        """The share of the bytes of its columns that is planned."""
        return self.planned / max(self.planned_whole, 1)

    @property
    def points(self) -> float:
        """How far the prediction is off, in points: hundredths of the bytes of the columns."""
        return 100 * (self.predicted_share - self.planned_share)


@dataclass(frozen=True, slots=True)
class VerifiedLayout:
    """A layout that was written: the share of the bytes that one run of the workload reads, predicted and planned.

    `writer`: Spark or pyarrow. `rows`: those that were written. `median_error`: of the queries, in points.
    `within_five`: the share of the queries whose prediction is off by at most five points.
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
        """Return the queries whose prediction is off most."""
        return sorted(self.queries, key=lambda it: -abs(it.points))[:count]

    def __str__(self) -> str:
        return (
            f"{self.title}: predicted {self.predicted:.1%}, planned {self.planned:.1%} of the bytes; queries are off "
            f"by {self.median_error:.1f} points (median), {self.within_five:.0%} of them by at most 5"
        )


def verified_layout(title: str, queries: Sequence[VerifiedQuery], *, rows: int, writer: str) -> VerifiedLayout:
    """Sum up the queries on a layout that was written."""
    errors = [abs(one.points) for one in queries]
    return VerifiedLayout(
        title=title,
        writer=writer,
        rows=rows,
        predicted=_share((one.runs * one.predicted, one.runs * one.predicted_whole) for one in queries),
        planned=_share((one.runs * one.planned, one.runs * one.planned_whole) for one in queries),
        median_error=median(errors),
        within_five=sum(error <= _FIVE for error in errors) / len(errors),
        queries=tuple(queries),
    )


def _share(pairs: Iterable[tuple[float, float]]) -> float:
    parts, wholes = zip(*pairs, strict=True)
    return float(sum(parts) / max(sum(wholes), 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutAdvice:
    """Which layout reads the fewest bytes for a workload; `print` shows it, `layout_yaml()` writes it down.

    >>> import random, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table, draw = tempfile.mkdtemp(), random.Random(1)
    >>> rows = {"shop": [draw.randrange(500) for _ in range(100_000)]}
    >>> pq.write_table(pa.table(rows), f"{table}/part-0.parquet", write_page_index=True, max_rows_per_page=10_000)
    >>> advice = pr.advise(table, workload=["shop = 7"])
    >>> advice.advised.layout.sort_by, advice.layout_yaml().splitlines()[1][:17]
    (('shop',), 'sort_by: ["shop"]')

    `advised`: None for doing nothing, because of what `verdict` says. `today`, `lower_bound`, `whole`: bytes that one
    run of the workload reads today, would read if the rows that it selects lay together, and reads without pruning.
    `rewrite_bytes`: what a rewrite reads and writes. `runs_to_pay`: after so many runs of the workload it has paid.
    `reasons`: of each key of the advised layout. `skipped`: predicates that do not fit the table, by the reason.
    `verified`: the first layouts as `verify_advice` wrote them.
    """

    table: str
    rows: int
    sampled_rows: int
    advised: RankedLayout | None
    verdict: str
    today: int
    lower_bound: int
    whole: int
    ranking: tuple[RankedLayout, ...]
    queries: tuple[QueryBytes, ...]
    rewrite_bytes: int
    runs_to_pay: int | None
    reasons: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    verified: tuple[VerifiedLayout, ...] = ()

    def to_json(self) -> str:
        """Return all of it as JSON of schema layout-advice/1."""
        return json_text({"schema": SCHEMA} | asdict(self) | {"table": redacted(self.table)})

    def layout_yaml(self) -> str:
        """Return the advised layout as a `layout.yaml`, with a reason beside each key; empty where none is advised."""
        if self.advised is None:
            return ""
        lines = [f"# {_one_line(self.verdict)}"]
        for key, reason in self.reasons.items():
            value = getattr(self.advised.layout, key)
            value = dict(value) if isinstance(value, dict) else list(value) if isinstance(value, tuple) else value
            lines.append(f"{key}: {json.dumps(value)}  # {_one_line(reason)}")
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """Return one page that loads nothing."""
        from prune_assets.advisor.page import page

        return page(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{printable(redacted(self.table))}: {self.verdict}"
        sampled = "all rows" if self.sampled_rows == self.rows else f"a sample of {self.sampled_rows:,} rows"
        yield f"simulated on {sampled} of {self.rows:,}, for {counted(len(self.queries), 'predicate')}"
        yield ""
        yield "one run of the workload reads"
        for title, size, note in self.bars():
            share = round(24 * size / max(self.whole, 1))
            yield f"  {bytes_text(size):>10}  {'█' * share}{'░' * (24 - share)}  {title}{note}"
        if self.advised is not None:
            pays = "never pays" if self.runs_to_pay is None else f"pays after {counted(self.runs_to_pay, 'run')}"
            yield ""
            yield f"the rewrite reads and writes {bytes_text(self.rewrite_bytes)}; it {pays} of the workload"
            yield from self._changes()
            yield ""
            yield from self.layout_yaml().splitlines()
        yield from self._verified()
        for reason, count in self.skipped.items():
            yield f"left out {counted(count, 'predicate')}: {printable(reason)}"

    def _verified(self) -> Iterator[str]:
        for one in self.verified[:1]:
            yield ""
            yield f"verified by writing {one.rows:,} rows with {one.writer} and planning the queries on them"
        for one in self.verified:
            yield f"  {printable(str(one))}"
            (worst,) = one.worst(1)
            if abs(worst.points) > _FIVE:
                where = clipped(printable(worst.where), _LONGEST_SQL)
                yield f"    most: predicted {worst.points:+.1f} points for  {where}"
            if any(it.rows_scanned is not None for it in one.queries):
                ran = [it for it in one.queries if it.rows_scanned is not None]
                planned, scanned = sum(it.rows_planned for it in ran), sum(it.rows_scanned or 0 for it in ran)
                queries = counted(len(ran), "query", "queries")
                yield f"    Spark scanned {scanned:,} rows for {queries}; {planned:,} were planned"
        best = min(self.verified, key=lambda it: it.planned, default=None)
        if best is not None and best is not self.verified[0]:
            yield f"  as written, {printable(best.title)} reads least"

    def bars(self) -> list[tuple[str, int, str]]:
        """Return what is compared: a title, its bytes, and what should be known of it."""
        rows = [("no pruning", self.whole, ""), ("today, and if nothing is done", self.today, "")]
        rows += [(one.title, one.bytes, _note(one)) for one in self.ranking[:_SHOWN]]
        return [*rows, ("lower bound: selected rows lie together", self.lower_bound, "")]

    def _changes(self) -> Iterator[str]:
        by_gain = sorted(self.queries, key=lambda it: it.runs * (it.advised - it.today))
        gain = [it for it in by_gain if it.today - it.advised > it.whole * _WORTH_SAYING][:_SHOWN_CHANGES]
        lose = [it for it in by_gain[::-1] if it.advised - it.today > it.whole * _WORTH_SAYING][:_SHOWN_CHANGES]
        for title, some in (("gain most", gain), ("lose most", lose)):
            for one in some:
                sql = clipped(printable(one.where), _LONGEST_SQL)
                yield f"  {title}: {bytes_text(one.today)} -> {bytes_text(one.advised)}  {sql}"


def _note(one: RankedLayout) -> str:
    unsure = "" if one.high - one.low < one.bytes / 50 else f" ({bytes_text(one.low)} to {bytes_text(one.high)})"
    dear = f"; {one.twice_as_dear:.0%} of the runs read twice as much or more" if one.twice_as_dear >= DEAR else ""
    return unsure + dear


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
