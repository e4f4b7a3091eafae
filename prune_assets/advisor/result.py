"""The result of `advise`: a ranking of layouts for a workload, and the advised layout."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
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
from prune_assets.sql.semantics import SparkSemantics  # noqa: TC001 - read from JSON by its type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from prune_assets.advisor.apply import AppliedAdvice
    from prune_assets.advisor.outcome import AdviceOutcome
    from prune_assets.advisor.workload.query_shapes import Workload

SCHEMA = "layout-advice/1"
_SHOWN = 5
# A layout is marked if at least this share of the runs would read twice their bytes or more.
DEAR = 0.1
_LONGEST_SQL = 70
# Maximum number of queries on an HTML page; then of queries per verified layout, with the largest prediction errors.
_PAGE_QUERIES, _PAGE_VERIFIED = 100, 20
# Maximum number of queries that are shown as saving most bytes, and of queries that are shown as reading most
# additional bytes. A query is shown only if its bytes change by at least `_WORTH_SAYING` of the bytes without pruning.
_SHOWN_CHANGES = 3
_WORTH_SAYING = 0.01
_SHOWN_UNSUPPORTED = 5
# A query is named if its bytes grow by more than this factor, to more than this number.
_DEARER, _DEARER_BYTES = 2, 32 << 10


@dataclass(frozen=True, slots=True)
class QueryBytes:
    """A predicate, its runs, and the bytes of one run.

    `today`: bytes with the present files.
    `advised`: bytes with the advised layout.
    `lower_bound`: bytes if the selected rows were adjacent.
    `whole`: bytes without pruning.
    """

    where: str
    runs: float
    today: int
    advised: int
    lower_bound: int
    whole: int

    @property
    def is_dearer(self) -> bool:
        """True if a run reads more than twice today's bytes in the advised layout."""
        return self.advised > max(_DEARER * self.today, _DEARER_BYTES)

    def __str__(self) -> str:
        sql = clipped(printable(self.where), _LONGEST_SQL)
        return f"{bytes_text(self.today)} -> {bytes_text(self.advised)}  {sql}"


@dataclass(frozen=True, slots=True)
class PromisedShape:
    """Queries that differ only in constants, with the bytes of one run.

    `today`, `advised`: planned bytes today and in the advised layout.
    `rows_read`: rows that the queries' scans returned; planned rows if not measured.
    `bytes_read`: bytes of opened files; None if not measured.
    """

    shape: str
    runs: float
    today: float
    advised: float
    rows_read: float
    bytes_read: float | None


@dataclass(frozen=True, slots=True)
class RankedLayout:
    """A layout and the bytes that one run of the workload reads in it.

    `low`, `high`: limits of the bytes by the sampling error.
    `why`: why the layout was tried.
    `twice_as_dear`: share of the runs that would read at least twice their bytes of today.
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

    `print` shows the advice, `layout_yaml()` returns the layout as YAML.

    >>> import random, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table, draw = tempfile.mkdtemp(), random.Random(1)
    >>> rows = {"shop": [draw.randrange(500) for _ in range(100_000)]}
    >>> pq.write_table(pa.table(rows), f"{table}/part-0.parquet", write_page_index=True, max_rows_per_page=10_000)
    >>> advice = pr.advise(table, workload=["shop = 7"])
    >>> advice.advised.layout.sort_by, advice.layout_yaml().splitlines()[1][:17]
    (('shop',), 'sort_by: ["shop"]')

    `advised`: the layout to change to. None if the present layout should stay, for the reason in `verdict`.
    `today`: bytes that one run of the workload reads today.
    `lower_bound`: bytes that this run would read if its selected rows were adjacent.
    `whole`: bytes that this run would read without pruning.
    `rewrite_bytes`: bytes that a rewrite reads and writes.
    `runs_to_pay`: number of workload runs after which the rewrite has paid. None if it never pays.
    `dearer`: queries that would read more than twice their bytes in the advised layout, most added bytes first.
    `own_dearer`: queries that would read more than twice their bytes in the user's layout.
    `unsupported`: conditions of the workload that do not prune in any layout, with the reason, most bytes first.
    `reasons`: reason for each key of the advised layout.
    `skipped`: number of predicates that do not fit the table, by reason.
    `verified`: results of `verify` for the first layouts.
    `promised`: bytes that each query shape reads today and should read in the advised layout; `outcome` compares them
    with later reads.
    `notes`: for example that the queries ran on another table of this name.
    `own`: the layout that was passed to `advise`. None if no layout was passed.
    `named`: the table as it was passed to `advise`.
    `semantics`: the settings with which the queries were planned.
    """

    table: str
    named: str
    semantics: SparkSemantics
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

    def verify(
        self, *, workload: Workload | Sequence[str], session: SparkSession | None = None, on_sample: bool = False
    ) -> LayoutAdvice:
        """Write the first three layouts and your own, and plan the queries on them.

        Returns the advice with the results. Each layout is written into a temporary folder next to the table, which is
        removed afterwards; every query is planned on it.

        >>> import random, tempfile
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> import prune_assets as pr
        >>> table, draw = tempfile.mkdtemp(), random.Random(1)
        >>> rows = {"id": range(100_000), "shop": [draw.randrange(500) for _ in range(100_000)]}
        >>> pq.write_table(pa.table(rows), f"{table}/part-0.parquet", write_page_index=True, max_rows_per_page=10_000)
        >>> advice = pr.advise(table, workload=["shop = 7"])
        >>> verified = advice.verify(workload=["shop = 7"]).verified[0]
        >>> verified.title.startswith("sort by shop"), round(abs(verified.predicted - verified.planned), 2)
        (True, 0.0)

        `workload`: as in `advise`.
        `session`: writes the layouts as `optimize` does, and counts the rows that its scans return; without it Arrow
        writes them.
        `on_sample`: write evenly spread blocks, at most two million rows, and predict for these rows. A sample of a
        table in a store is written on this machine.

        Raises WrongUse for a table that is too large to be written completely without Spark, or is in a store;
        UnsupportedFeature for a column or a layout that only Spark can write.
        """
        from prune_assets.advisor.verify import verified_on

        return replace(self, verified=verified_on(self, workload, session=session, on_sample=on_sample))

    def apply(
        self, *, workload: Workload | Sequence[str], session: SparkSession | None = None, budget: int | None = None
    ) -> AppliedAdvice:
        """Rewrite the table into the advised layout, and plan the workload again.

        `spark` is a SparkSession here:

        >>> import tempfile
        >>> import prune_assets as pr
        >>> table, queries = tempfile.mkdtemp(), ["shop = 7", "shop = 123"]
        >>> visits = spark.range(200_000).selectExpr("id", "hash(id) % 500 AS shop")
        >>> written = pr.write(visits, table, layout=pr.LayoutSpec(files=2))
        >>> advice = pr.advise(table, workload=queries)
        >>> done = advice.apply(workload=queries, session=spark)
        >>> done.now < 0.3 * done.before
        True

        `workload`: as in `advise`. `session`: as in `optimize`. The rewrite is `optimize` with `full` and the advised
        layout; a layout that `optimize` refuses, such as a layout with other partitions than the table's, raises an
        error; advice made with `in_place` has no such layout. With `budget` and an advised sort key, only files that
        break the order are rewritten, at most `budget` bytes of them, and later calls continue; for any other layout
        the budget must cover the whole table.

        Raises WrongUse if nothing is advised or the budget is too small, and the errors of `optimize`.
        """
        from prune_assets.advisor.apply import apply

        return apply(self, workload, session=session, budget=budget)

    def outcome(self, workload: Workload) -> AdviceOutcome:
        """Compare a workload that ran after the advice was applied with the promised bytes.

        >>> import tempfile
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> import prune_assets as pr
        >>> from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate, ScanTotals, Workload
        >>> table = tempfile.mkdtemp()
        >>> rows = {"shop": [i * 7919 % 500 for i in range(100_000)]}
        >>> pq.write_table(pa.table(rows), f"{table}/part-0.parquet", write_page_index=True, max_rows_per_page=20_000)
        >>> advice = pr.advise(table, workload=["shop = 7"])
        >>> ran = QueryShape(table, "shop = ?", (), 4.0, (RanPredicate("shop = 9", 4.0),), ScanTotals(rows_read=20_000))
        >>> print(advice.outcome(Workload((ran,))))  # doctest: +ELLIPSIS
        /...: promised ...% fewer bytes, measured 95% fewer by the rows scanned over 4 queries

        Raises WrongUse if none of the advised queries ran, or if the workload has several tables of this name, but not
        this table.
        """
        from prune_assets.advisor.outcome import outcome_of

        return outcome_of(self, workload)

    def to_json(self) -> str:
        """Return the advice as JSON of schema layout-advice/1."""
        names = {"table": redacted(self.table), "named": redacted(self.named)}
        return json_text({"schema": SCHEMA} | asdict(self) | names)

    @staticmethod
    def read(file: str | os.PathLike[str]) -> LayoutAdvice:
        """Read a file that `prune advise --save` wrote.

        Raises WrongUse if the file is not advice.
        """
        try:
            return LayoutAdvice.from_json(Path(file).read_bytes(), source=os.fspath(file))
        except OSError as error:
            step = "save advice with `prune advise .. --save FILE`"
            raise WrongUse(f"{os.fspath(file)}: {error.strerror}; {step}") from None

    @staticmethod
    def from_json(text: str | bytes, *, source: str = "advice") -> LayoutAdvice:
        """Parse advice from JSON; `source`: its name in messages. Raises WrongUse if the document is not advice."""
        try:
            document = msgspec.json.decode(text)
            if document.get("schema") != SCHEMA:
                raise WrongUse(
                    f"{source}: not advice of schema {SCHEMA}; save advice with `prune advise .. --save FILE`"
                )
            return msgspec.convert(document, LayoutAdvice)
        except (msgspec.MsgspecError, AttributeError) as error:
            raise WrongUse(f"{source}: not advice ({error}); save advice with `prune advise .. --save FILE`") from None

    def layout_yaml(self) -> str:
        """Return the advised layout as a `layout.yaml`, with a reason for each key; "" if no layout is advised."""
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
        yield from (f"  more than twice as expensive in your layout: {query}" for query in self.own_dearer)
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
        """Return the rows of a bar chart of the compared layouts: title, bytes, and a note on each."""
        rows = [("no pruning", self.whole, ""), ("today, and if nothing is done", self.today, "")]
        rows += [(it.title, it.bytes, _note(it)) for it in self.ranking[:_SHOWN]]
        rows += [(own_title(it), it.bytes, _note(it)) for it in ([] if self.own is None else [self.own])]
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
        for title, changed in (("gain most", gain), ("lose most", lose)):
            for query in changed:
                yield f"  {title}: {query}"


def own_title(own: RankedLayout) -> str:
    """Return the title of the user's layout."""
    return f"your layout: {own.title}"


def _note(bar: RankedLayout) -> str:
    unsure = "" if bar.high - bar.low < bar.bytes / 50 else f" ({bytes_text(bar.low)} to {bytes_text(bar.high)})"
    dear = f"; {bar.twice_as_dear:.0%} of the runs read at least twice the bytes" if bar.twice_as_dear >= DEAR else ""
    return unsure + dear + ("; needs a new table" if bar.refused else "")


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
