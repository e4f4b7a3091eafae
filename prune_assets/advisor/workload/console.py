"""Print a workload: costs of tables, and query shapes with examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted
from prune_assets.advisor.workload.costs import costs_of, needless_bytes
from prune_assets.advisor.workload.query_shapes import ALL_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from prune_assets.advisor.workload.costs import TableCost
    from prune_assets.advisor.workload.query_shapes import QueryShape, Workload

SHOWN_SHAPES = 10
SHOWN_COLUMNS = 6


def print_workload(workload: Workload, console: Console, *, price_per_tib: float | None = None) -> None:
    """Print the cost and the query shapes of each table, and the parts that were left out."""
    costs = costs_of(workload, price_per_tib=price_per_tib)
    if not costs:
        console.print(_without_queries(workload), highlight=False)
    else:
        _print_costs(costs, console)
        if workload.since:
            console.print(f"from {workload.since[:19]} to {workload.until[:19]} UTC", style="dim", highlight=False)
    for cost in costs:
        _print_shapes(cost, console)
    for left_out in _left_out(workload) if costs else ():
        console.print(f"\nleft out: {left_out}", highlight=False)
    if workload.not_understood:
        console.print("\nnot understood, and left out:", highlight=False)
        for reason, count in workload.not_understood.items():
            console.print(f"  {count:>7,}  {printable(reason)}", highlight=False, markup=False)


def _without_queries(workload: Workload) -> str:
    read = f"no query {'that is understood ' if workload.not_understood else ''}read a table"
    return "; ".join([read, *(f"left out: {reason}" for reason in _left_out(workload))])


def _left_out(workload: Workload) -> Iterator[str]:
    """Yield descriptions of the queries and applications that are not counted."""
    if workload.own_queries:
        of = "of prune-assets itself (skip reports, optimize, verify)"
        yield f"{counted(workload.own_queries, 'query', 'queries')} {of}"
    if workload.other_applications:
        yield f"{counted(workload.other_applications, 'application')} of other names or users"


def _print_costs(costs: list[TableCost], console: Console) -> None:
    from rich.table import Table

    has_price = any(cost.price_a_day is not None for cost in costs)
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    titles = [
        "table",
        "queries",
        "shapes",
        "bytes of files opened",
        "without need",
        "a day",
        *(["price a day"] if has_price else []),
    ]
    for title in titles:
        grid.add_column(title, overflow="fold", justify="left" if title == "table" else "right")
    for cost in costs:
        row = [
            _name(cost),
            f"{cost.runs:,.10g}",
            f"{len(cost.shapes):,}",
            _bytes(cost.totals.bytes_read),
            _without_need(cost.needless_bytes, cost.totals.bytes_read),
            _bytes(cost.bytes_a_day),
        ]
        grid.add_row(*row, *([f"{cost.price_a_day or 0:,.2f}"] if has_price else []))
    console.print(grid, highlight=False, markup=False)


def _print_shapes(cost: TableCost, console: Console) -> None:
    console.print(f"\n{_name(cost)}", highlight=False, markup=False, style="bold")
    for shape in cost.shapes[:SHOWN_SHAPES]:
        lost = _without_need(needless_bytes(shape.totals), shape.totals.bytes_read)
        facts = [
            f"{shape.runs:,.10g} x",
            *([f"{_bytes(shape.totals.bytes_read)} of files opened"] if lost or shape.statement else []),
        ]
        facts += [f"{lost} without need"] if lost else []
        facts += [_reads(shape)]
        facts += [f"joined on {', '.join(shape.joined_on)}"] if shape.joined_on and not shape.statement else []
        facts += [f"left out: {', '.join(map(printable, shape.left_out))}"] if shape.left_out else []
        example = _example(shape)
        _print_indented(_title(shape), 2, console)
        for line in (", ".join(facts), *([f"such as {example}"] if example else [])):
            _print_indented(line, 4, console, style="dim")
    if len(cost.shapes) > SHOWN_SHAPES:
        console.print(f"  ... {len(cost.shapes) - SHOWN_SHAPES:,} more shapes", highlight=False, style="dim")


def _title(shape: QueryShape) -> str:
    if shape.statement:
        condition = f" WHERE {shape.shape}" if shape.shape else ""
        return printable(f"{shape.statement} on {', '.join(shape.joined_on)}{condition}")
    return printable(shape.shape) or ("a filter that is not understood" if shape.left_out else "all rows")


def _print_indented(text: str, by: int, console: Console, *, style: str = "") -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(text, style=style), (0, 0, 0, by)))


def _reads(shape: QueryShape) -> str:
    suffix = "" if all(predicate.columns is None for predicate in shape.predicates) else ", not all in each run"
    if shape.columns == ALL_COLUMNS:
        return f"reads all columns{suffix}"
    more = len(shape.columns) - SHOWN_COLUMNS
    shown = printable(", ".join(shape.columns[:SHOWN_COLUMNS])) or "no column"
    return f"reads {shown}{f' and {more:,} more' if more > 0 else ''}{suffix}"


def _example(shape: QueryShape) -> str:
    """Return the most frequent predicate of a shape; "" if it equals the shape."""
    runs: dict[str, float] = {}
    for predicate in shape.predicates:
        runs[predicate.where] = runs.get(predicate.where, 0.0) + predicate.runs
    most = max(runs, key=lambda where: runs[where], default=shape.shape)
    return "" if most == shape.shape else printable(most)


def _name(cost: TableCost) -> str:
    names = f" ({', '.join(cost.names)})" if cost.names and cost.table not in cost.names else ""
    return printable(f"{redacted(cost.table)}{names}")


def _bytes(count: int | None) -> str:
    return "" if count is None else bytes_text(count)


def _without_need(lost: int | None, read: int | None) -> str:
    if lost is None or not read:
        return ""
    return f"{bytes_text(lost)} ({lost / read:.0%})"
