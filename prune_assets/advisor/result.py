"""The result of `advise`: a ranking of layouts for a workload, and the advised layout."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import msgspec

from parquet_core.errors import WrongUse
from parquet_core.layout.spec import LayoutSpec  # noqa: TC001 - read from JSON by its type
from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted
from prune_assets.advisor.verified import VerifiedLayout, verified_lines
from prune_assets.report.output import json_text
from prune_assets.report.quantities import clipped
from prune_assets.report.skip_report import UnsupportedPart  # noqa: TC001 - read from JSON by its type

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = "layout-advice/1"
_SHOWN = 5
# A layout that at least doubles the bytes of this share of the runs is marked.
DEAR = 0.1
_LONGEST_SQL = 70
# Maximum queries on an HTML page, and queries of each verified layout, largest prediction errors first.
_PAGE_QUERIES, _PAGE_VERIFIED = 100, 20
# Number of queries shown that gain or lose most; a smaller change than this share of their bytes is not shown.
_SHOWN_CHANGES = 3
_WORTH_SAYING = 0.01
_SHOWN_UNSUPPORTED = 5
# A query is named if its bytes grow by more than this factor, to more than this number.
_DEARER, _DEARER_BYTES = 2, 32 << 10


@dataclass(frozen=True, slots=True)
class QueryBytes:
    """A predicate, its runs, and the bytes of one run.

    `today`: bytes of the present files. `lower_bound`: bytes if the selected rows were adjacent. `whole`: bytes without
    pruning.
    """

    where: str
    runs: float
    today: int
    advised: int
    lower_bound: int
    whole: int

    @property
    def is_dearer(self) -> bool:
        """Whether the advised layout more than doubles its bytes."""
        return self.advised > max(_DEARER * self.today, _DEARER_BYTES)

    def __str__(self) -> str:
        sql = clipped(printable(self.where), _LONGEST_SQL)
        return f"{bytes_text(self.today)} -> {bytes_text(self.advised)}  {sql}"


@dataclass(frozen=True, slots=True)
class PromisedShape:
    """Queries that differ only in constants, with the bytes of one run.

    `today`, `advised`: planned bytes today and in the advised layout.
    `rows_read`: rows that its scans returned, as measured or else as planned. `bytes_read`: bytes of opened files, None
    if not measured.
    """

    shape: str
    runs: float
    today: float
    advised: float
    rows_read: float
    bytes_read: float | None


@dataclass(frozen=True, slots=True)
class RankedLayout:
    """A layout and the bytes that one run of the workload reads.

    `low`, `high`: limits of the sampling error.
    `why`: why it was tried. `twice_as_dear`: share of the runs that would read at least twice their bytes of today.
    `refused`: why `optimize` cannot make this layout, so that it needs a new table; "" if it can.
    """

    title: str
    why: str
    bytes: int
    low: int
    high: int
    twice_as_dear: float
    layout: LayoutSpec
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutAdvice:
    """The layout that reads the fewest bytes for a workload.

    `print` shows it, `layout_yaml()` returns its YAML.

    >>> import random, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table, draw = tempfile.mkdtemp(), random.Random(1)
    >>> rows = {"shop": [draw.randrange(500) for _ in range(100_000)]}
    >>> pq.write_table(pa.table(rows), f"{table}/part-0.parquet", write_page_index=True, max_rows_per_page=10_000)
    >>> advice = pr.advise(table, workload=["shop = 7"])
    >>> advice.advised.layout.sort_by, advice.layout_yaml().splitlines()[1][:17]
    (('shop',), 'sort_by: ["shop"]')

    `advised`: None to keep the present layout, for the reason in `verdict`. `today`, `lower_bound`, `whole`: bytes that
    one run of the workload reads today, would read if its selected rows were adjacent, and reads without pruning.
    `rewrite_bytes`: bytes that a rewrite reads and writes. `runs_to_pay`: number of workload runs after which the
    rewrite has paid; None if it never pays. `dearer`: queries that would read more than twice their bytes in the
    advised layout, most added bytes first; `own_dearer`: such queries of the user's layout.
    `unsupported`: conditions of the workload that do not prune in any layout, with the reason, most bytes first.
    `reasons`: reason for each key of the advised layout. `skipped`: number of predicates that do not fit the table, by
    reason.
    `verified`: results of `verify_advice` for the first layouts. `promised`: bytes of query shapes today and promised,
    which `advice_outcome` compares with later reads. `notes`: for example that the queries ran on another table of this
    name. `own`: the layout that was passed to `advise`; None without one.
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
    dearer: tuple[QueryBytes, ...] = ()
    own_dearer: tuple[QueryBytes, ...] = ()
    unsupported: tuple[UnsupportedPart, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    verified: tuple[VerifiedLayout, ...] = ()
    promised: tuple[PromisedShape, ...] = ()
    notes: tuple[str, ...] = ()
    own: RankedLayout | None = None

    def to_json(self) -> str:
        """Return the advice as JSON of schema layout-advice/1."""
        return json_text({"schema": SCHEMA} | asdict(self) | {"table": redacted(self.table)})

    @staticmethod
    def from_json(text: str | bytes, *, source: str = "advice") -> LayoutAdvice:
        """Parse advice from JSON; `source` names it in messages. Raises WrongUse for another document."""
        try:
            document = msgspec.json.decode(text)
            if document.get("schema") != SCHEMA:
                raise WrongUse(
                    f"{source}: not advice of schema {SCHEMA}; save advice with `prune advise .. --keep FILE`"
                )
            return msgspec.convert(document, LayoutAdvice)
        except (msgspec.MsgspecError, AttributeError) as error:
            raise WrongUse(f"{source}: not advice ({error}); save advice with `prune advise .. --keep FILE`") from None

    def layout_yaml(self) -> str:
        """Return the advised layout as a `layout.yaml`, with a reason for each key.

        Returns "" if no layout is advised.
        """
        if self.advised is None:
            return ""
        lines = [f"# {_one_line(self.verdict)}"]
        for key, reason in self.reasons.items():
            value = getattr(self.advised.layout, key)
            value = dict(value) if isinstance(value, dict) else list(value) if isinstance(value, tuple) else value
            lines.append(f"{key}: {json.dumps(value)}  # {_one_line(reason)}")
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """Return a self-contained HTML page."""
        from prune_assets.report.html import template_environment

        environment, most = template_environment(), max(self.whole, 1)
        environment.filters["text"] = lambda value: printable(redacted(value))
        bars = [(title, size, note, max(1000 * size // most, 3 if size else 0)) for title, size, note in self.bars()]
        queries = sorted(self.queries, key=lambda it: it.runs * (it.advised - it.today))[:_PAGE_QUERIES]
        template = environment.get_template("layout_advice.html.j2")
        return template.render(
            advice=self, bars=bars, queries=queries, shown_verified=_PAGE_VERIFIED, shown_unsupported=_PAGE_QUERIES
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{printable(redacted(self.table))}: {self.verdict}"
        sampled = "all rows" if self.sampled_rows == self.rows else f"a sample of {self.sampled_rows:,} rows"
        yield f"simulated on {sampled} of {self.rows:,}, for {counted(len(self.queries), 'predicate')}"
        yield ""
        yield "one run of the workload reads, of the columns that its queries read"
        for title, size, note in self.bars():
            share = round(24 * size / max(self.whole, 1))
            yield f"  {bytes_text(size):>10}  {'█' * share}{'░' * (24 - share)}  {title}{note}"
        yield from (f"  more than twice as expensive in your layout: {one}" for one in self.own_dearer)
        if self.advised is not None:
            pays = "never pays" if self.runs_to_pay is None else f"pays after {counted(self.runs_to_pay, 'run')}"
            yield ""
            yield f"the rewrite reads and writes {bytes_text(self.rewrite_bytes)}; it {pays} of the workload"
            if self.advised.refused:
                yield f"optimize cannot give this table the layout: {printable(redacted(self.advised.refused))}"
            yield from self._changes()
            yield ""
            yield from self.layout_yaml().splitlines()
        yield from verified_lines(self.verified)
        yield from self._not_pruned()
        for reason, count in self.skipped.items():
            yield f"left out {counted(count, 'predicate')}: {printable(reason)}"
        yield from (f"note: {note}" for note in self.notes)

    def bars(self) -> list[tuple[str, int, str]]:
        """Return the compared layouts: title, bytes, and a note on each."""
        rows = [("no pruning", self.whole, ""), ("today, and if nothing is done", self.today, "")]
        rows += [(one.title, one.bytes, _note(one)) for one in self.ranking[:_SHOWN]]
        rows += [(own_title(one), one.bytes, _note(one)) for one in ([] if self.own is None else [self.own])]
        return [*rows, ("lower bound: selected rows stored together", self.lower_bound, "")]

    def compared(self) -> tuple[RankedLayout, ...]:
        """Return all simulated layouts: the ranking, then the layout that the user gave."""
        return (*self.ranking, *([] if self.own is None else [self.own]))

    def _not_pruned(self) -> Iterator[str]:
        for part in self.unsupported[:_SHOWN_UNSUPPORTED]:
            yield f"does not prune: {clipped(printable(part.sql), _LONGEST_SQL)}: {printable(part.because)}"
        if (more := len(self.unsupported) - _SHOWN_UNSUPPORTED) > 0:
            yield f"does not prune: {counted(more, 'other condition')}"

    def _changes(self) -> Iterator[str]:
        by_gain = sorted(self.queries, key=lambda it: it.runs * (it.advised - it.today))
        gain = [it for it in by_gain if it.today - it.advised > it.whole * _WORTH_SAYING][:_SHOWN_CHANGES]
        lose = [it for it in by_gain[::-1] if it.advised - it.today > it.whole * _WORTH_SAYING][:_SHOWN_CHANGES]
        for title, some in (("gain most", gain), ("lose most", lose)):
            for one in some:
                yield f"  {title}: {one}"


def own_title(own: RankedLayout) -> str:
    """Return the title of the user's layout."""
    return f"your layout: {own.title}"


def _note(one: RankedLayout) -> str:
    unsure = "" if one.high - one.low < one.bytes / 50 else f" ({bytes_text(one.low)} to {bytes_text(one.high)})"
    dear = f"; {one.twice_as_dear:.0%} of the runs read at least twice the bytes" if one.twice_as_dear >= DEAR else ""
    return unsure + dear + ("; needs a new table" if one.refused else "")


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
