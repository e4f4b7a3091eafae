"""Compare the measured bytes of a workload with the bytes that advice promised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parquet_core.errors import WrongUse
from parquet_core.printable import printable, redacted
from prune_assets.advisor.result import PromisedShape
from prune_assets.advisor.same_table import notes_on, shapes_on
from prune_assets.advisor.workload.constants import shape_of
from prune_assets.advisor.workload.same_shape import same_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.advisor.queries import Query
    from prune_assets.advisor.result import LayoutAdvice
    from prune_assets.advisor.workload.query_shapes import QueryShape, Workload


@dataclass(frozen=True, slots=True)
class AdviceOutcome:
    """Savings of a later workload, compared with the workload of the advice. Figures are None if unknown.

    >>> print(AdviceOutcome("lake/orders", runs=412.0, others=0.0, promised=0.82, rows=0.79, bytes=None))
    lake/orders: promised 82% fewer bytes, measured 79% fewer by the rows scanned over 412 queries

    `runs`: number of queries whose shapes the advice knew.
    `others`: number of queries of other shapes.
    `promised`: share of the bytes that the advice promised to save for these runs.
    `rows`: share of the bytes saved, estimated from the rows that scans returned, which reflects skipped pages. Queries
    that read more bytes per row have more weight.
    `bytes`: share of the bytes saved, by the size of opened files.
    `notes`: for example that the queries ran on another table of this name.
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
        measurement = f"measured {' and '.join(measured)}" if measured else "nothing was measured"
        others = f"; {self.others:,.10g} queries of other shapes are not counted" if self.others else ""
        return (
            f"{printable(redacted(self.table))}: promised {_fewer(self.promised)} bytes, {measurement} "
            f"over {self.runs:,.10g} {'query' if self.runs == 1 else 'queries'}{others}"
            + "".join(f"\nnote: {note}" for note in self.notes)
        )


def _fewer(share: float) -> str:
    return f"{abs(share):.0%} {'fewer' if share >= 0 else 'more'}"


def outcome_of(advice: LayoutAdvice, workload: Workload) -> AdviceOutcome:
    """Return the result of `LayoutAdvice.outcome`, which documents the errors."""
    promises = _promises_by_form(advice.promised)
    ran = _by_shape(shapes_on(advice.table, workload=workload))
    pairs = [(promises[name], shapes) for name, shapes in ran.items() if name in promises]
    if not pairs:
        raise WrongUse(f"{redacted(advice.table)}: no query of the advice ran; give a workload of its queries")
    return AdviceOutcome(
        advice.table,
        runs=sum(shape.runs for _, shapes in pairs for shape in shapes),
        others=sum(shape.runs for name, shapes in ran.items() if name not in promises for shape in shapes),
        promised=_saved([(_runs(shapes) * promise.today, _runs(shapes) * promise.advised) for promise, shapes in pairs])
        or 0.0,
        rows=_saved([_by_rows(shapes, promise) for promise, shapes in pairs]),
        bytes=_saved([_measured(shapes, "bytes_read", promise.bytes_read) for promise, shapes in pairs]),
        notes=notes_on(advice.table, workload=workload),
    )


def promised_shapes(
    queries: Sequence[Query], advised: Sequence[float], shapes: Sequence[QueryShape]
) -> tuple[PromisedShape, ...]:
    """Return each query shape with its planned bytes, today and in the advised layout, and its measured bytes."""
    together: dict[str, list[tuple[Query, float]]] = {}
    for query, bytes_ in zip(queries, advised, strict=True):
        together.setdefault(_form(query.where), []).append((query, bytes_))
    ran = _by_shape(shapes)
    promises = []
    for name, pairs in together.items():
        runs = sum(query.runs for query, _ in pairs)
        rows = sum(query.runs * query.rows for query, _ in pairs) / runs
        measured = _a_run(ran.get(name, ()), "rows_read")
        promises.append(
            PromisedShape(
                shape_of(pairs[0][0].where),
                runs,
                sum(query.runs * query.today for query, _ in pairs) / runs,
                sum(query.runs * bytes_ for query, bytes_ in pairs) / runs,
                rows if measured is None else measured,
                _a_run(ran.get(name, ()), "bytes_read"),
            )
        )
    return tuple(promises)


def _by_shape(shapes: Sequence[QueryShape]) -> dict[str, list[QueryShape]]:
    """Group shapes by the normal form of their predicates, whichever columns they read."""
    groups: dict[str, list[QueryShape]] = {}
    for shape in shapes:
        if shape.predicates:
            groups.setdefault(_form(shape.predicates[0].where or "true"), []).append(shape)
    return groups


def _form(where: str) -> str:
    return same_shape(shape_of(where))


def _promises_by_form(promised: Sequence[PromisedShape]) -> dict[str, PromisedShape]:
    """Return the promises by the normal form of their shapes. Advice of older versions may have several per form."""
    together: dict[str, list[PromisedShape]] = {}
    for promise in promised:
        together.setdefault(same_shape(promise.shape), []).append(promise)
    return {form: _added(group) for form, group in together.items()}


def _added(promises: Sequence[PromisedShape]) -> PromisedShape:
    def a_run(what: str) -> float | None:
        pairs = [(promise.runs, getattr(promise, what)) for promise in promises if getattr(promise, what) is not None]
        return sum(runs * value for runs, value in pairs) / sum(runs for runs, _ in pairs) if pairs else None

    means: dict[str, Any] = {what: a_run(what) for what in ("today", "advised", "rows_read", "bytes_read")}
    return replace(promises[0], runs=sum(promise.runs for promise in promises), **means)


def _runs(shapes: Sequence[QueryShape]) -> float:
    return sum(shape.runs for shape in shapes)


def _a_run(shapes: Sequence[QueryShape], what: str) -> float | None:
    pairs = [(shape, getattr(shape.totals, what)) for shape in shapes if getattr(shape.totals, what) is not None]
    return sum(value for _, value in pairs) / _runs([shape for shape, _ in pairs]) if pairs else None


def _measured(shapes: Sequence[QueryShape], what: str, before: float | None) -> tuple[float, float] | None:
    """Return the total that the runs read before, and the total that they read now; None if unknown."""
    now = _a_run(shapes, what)
    return None if now is None or before is None else (_runs(shapes) * before, _runs(shapes) * now)


def _by_rows(shapes: Sequence[QueryShape], promise: PromisedShape) -> tuple[float, float] | None:
    """Return the bytes read before, and an estimate of the bytes read now by the rows that were scanned; else None."""
    measured = _measured(shapes, "rows_read", promise.rows_read)
    if measured is None or not measured[0]:
        return None
    before = _runs(shapes) * promise.today
    return before, before * measured[1] / measured[0]


def _saved(pairs: Sequence[tuple[float, float] | None]) -> float | None:
    known_pairs = [pair for pair in pairs if pair is not None]
    before, now = sum(pair[0] for pair in known_pairs), sum(pair[1] for pair in known_pairs)
    return 1 - now / before if before else None
