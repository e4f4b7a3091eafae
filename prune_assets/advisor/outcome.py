"""Compare the measured bytes of a workload with promised bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parquet_core.errors import WrongUse
from parquet_core.printable import printable, redacted
from prune_assets.advisor.result import LayoutAdvice, PromisedShape
from prune_assets.advisor.same_table import notes_on, shapes_on
from prune_assets.advisor.workload.constants import shape_of
from prune_assets.advisor.workload.same_shape import same_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.advisor.queries import Query
    from prune_assets.advisor.workload.query_shapes import QueryShape, Workload


@dataclass(frozen=True, slots=True)
class AdviceOutcome:
    """Savings of a later workload, compared with the workload that advice was made for.

    >>> from prune_assets import AdviceOutcome
    >>> print(AdviceOutcome("lake/orders", runs=412.0, others=0.0, promised=0.82, rows=0.79, bytes=None))
    lake/orders: promised 82% fewer bytes, measured 79% fewer by the rows scanned over 412 queries

    `runs`: queries whose shapes the advice knew; `others`: queries of other shapes. `promised`: share of the bytes that
    the advice promised to save, for these runs. `rows`: share of the bytes saved, estimated from the rows that scans
    returned, which reflects skipped pages; queries that read more bytes per row have more weight. `bytes`: share saved
    by the size of opened files. None: the workload does not contain it. `notes`: for example that the queries ran on
    another table of this name.
    """

    table: str
    runs: float
    others: float
    promised: float
    rows: float | None
    bytes: float | None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        measured = [
            f"{_fewer(share)} {unit}"
            for share, unit in ((self.rows, "by the rows scanned"), (self.bytes, "by the size of opened files"))
            if share is not None
        ]
        found = f"measured {' and '.join(measured)}" if measured else "nothing was measured"
        others = f"; {self.others:,.10g} queries of other shapes are not counted" if self.others else ""
        return (
            f"{printable(redacted(self.table))}: promised {_fewer(self.promised)} bytes, {found} "
            f"over {self.runs:,.10g} {'query' if self.runs == 1 else 'queries'}{others}"
            + "".join(f"\nnote: {note}" for note in self.notes)
        )


def _fewer(share: float) -> str:
    return f"{abs(share):.0%} {'fewer' if share >= 0 else 'more'}"


def advice_outcome(advice: LayoutAdvice | str | os.PathLike[str], workload: Workload) -> AdviceOutcome:
    """Compare a workload that ran after advice was applied with the promised bytes.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate, ScanTotals, Workload
    >>> table = tempfile.mkdtemp()
    >>> rows = {"shop": [i * 7919 % 500 for i in range(100_000)]}
    >>> pq.write_table(pa.table(rows), f"{table}/part-0.parquet", write_page_index=True, max_rows_per_page=20_000)
    >>> advice = pr.advise(table, workload=["shop = 7"])
    >>> ran = QueryShape(table, "shop = ?", (), 4.0, (RanPredicate("shop = 9", 4.0),), ScanTotals(rows_read=20_000))
    >>> print(pr.advice_outcome(advice, Workload((ran,))))  # doctest: +ELLIPSIS
    /...: promised ...% fewer bytes, measured 95% fewer by the rows scanned over 4 queries

    `advice`: the advice, or the file that `prune advise --keep` wrote. Raises WrongUse if none of its queries ran, if
    they ran only on several tables of this name, or if the file is not advice.
    """
    if not isinstance(advice, LayoutAdvice):
        advice = read_advice(advice)
    known = _known(advice.promised)
    ran = _by_shape(shapes_on(advice.table, workload=workload))
    pairs = [(known[name], shapes) for name, shapes in ran.items() if name in known]
    if not pairs:
        raise WrongUse(f"{redacted(advice.table)}: no query of the advice ran; give a workload of its queries")
    return AdviceOutcome(
        advice.table,
        runs=sum(shape.runs for _, shapes in pairs for shape in shapes),
        others=sum(shape.runs for name, shapes in ran.items() if name not in known for shape in shapes),
        promised=_saved([(_runs(shapes) * one.today, _runs(shapes) * one.advised) for one, shapes in pairs]) or 0.0,
        rows=_saved([_by_rows(shapes, one) for one, shapes in pairs]),
        bytes=_saved([_measured(shapes, "bytes_read", one.bytes_read) for one, shapes in pairs]),
        notes=notes_on(advice.table, workload=workload),
    )


def read_advice(file: str | os.PathLike[str]) -> LayoutAdvice:
    """Read a file that `prune advise --keep` wrote.

    Raises WrongUse if the file is not advice.
    """
    try:
        return LayoutAdvice.from_json(Path(file).read_bytes(), source=os.fspath(file))
    except OSError as error:
        raise WrongUse(f"{os.fspath(file)}: {error.strerror}; save advice with `prune advise .. --keep FILE`") from None


def promised_shapes(
    queries: Sequence[Query], advised: Sequence[float], shapes: Sequence[QueryShape]
) -> tuple[PromisedShape, ...]:
    """Return the bytes of query shapes today, measured if known, and promised."""
    together: dict[str, list[tuple[Query, float]]] = {}
    for query, bytes_ in zip(queries, advised, strict=True):
        together.setdefault(_form(query.where), []).append((query, bytes_))
    ran = _by_shape(shapes)
    found = []
    for name, some in together.items():
        runs = sum(query.runs for query, _ in some)
        rows = sum(query.runs * query.rows for query, _ in some) / runs
        measured = _a_run(ran.get(name, ()), "rows_read")
        found.append(
            PromisedShape(
                shape_of(some[0][0].where),
                runs,
                sum(query.runs * query.today for query, _ in some) / runs,
                sum(query.runs * bytes_ for query, bytes_ in some) / runs,
                rows if measured is None else measured,
                _a_run(ran.get(name, ()), "bytes_read"),
            )
        )
    return tuple(found)


def _by_shape(shapes: Sequence[QueryShape]) -> dict[str, list[QueryShape]]:
    """Group shapes by the normal form of their predicates, whatever columns they read."""
    found: dict[str, list[QueryShape]] = {}
    for shape in shapes:
        if shape.predicates:
            found.setdefault(_form(shape.predicates[0].where or "true"), []).append(shape)
    return found


def _form(where: str) -> str:
    return same_shape(shape_of(where))


def _known(promised: Sequence[PromisedShape]) -> dict[str, PromisedShape]:
    """Return the promises by the normal form of their shapes.

    Advice of older versions may have several per form.
    """
    together: dict[str, list[PromisedShape]] = {}
    for one in promised:
        together.setdefault(same_shape(one.shape), []).append(one)
    return {form: _added(some) for form, some in together.items()}


def _added(some: Sequence[PromisedShape]) -> PromisedShape:
    def a_run(what: str) -> float | None:
        known = [(one.runs, getattr(one, what)) for one in some if getattr(one, what) is not None]
        return sum(runs * value for runs, value in known) / sum(runs for runs, _ in known) if known else None

    means: dict[str, Any] = {what: a_run(what) for what in ("today", "advised", "rows_read", "bytes_read")}
    return replace(some[0], runs=sum(one.runs for one in some), **means)


def _runs(shapes: Sequence[QueryShape]) -> float:
    return sum(shape.runs for shape in shapes)


def _a_run(shapes: Sequence[QueryShape], what: str) -> float | None:
    known = [(shape, getattr(shape.totals, what)) for shape in shapes if getattr(shape.totals, what) is not None]
    return sum(value for _, value in known) / _runs([shape for shape, _ in known]) if known else None


def _measured(shapes: Sequence[QueryShape], what: str, before: float | None) -> tuple[float, float] | None:
    """Return the totals of the runs before and now; None if unknown."""
    now = _a_run(shapes, what)
    return None if now is None or before is None else (_runs(shapes) * before, _runs(shapes) * now)


def _by_rows(shapes: Sequence[QueryShape], one: PromisedShape) -> tuple[float, float] | None:
    """Return the bytes of the runs before, and scaled by the scanned rows.

    None if unknown.
    """
    found = _measured(shapes, "rows_read", one.rows_read)
    if found is None or not found[0]:
        return None
    before = _runs(shapes) * one.today
    return before, before * found[1] / found[0]


def _saved(pairs: Sequence[tuple[float, float] | None]) -> float | None:
    known = [pair for pair in pairs if pair is not None]
    before, now = sum(pair[0] for pair in known), sum(pair[1] for pair in known)
    return 1 - now / before if before else None
