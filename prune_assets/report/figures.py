"""List of the figures of a skip report; all code that shows, plots or stores figures uses this list."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from prune_assets.report.skip_report import SkipReport


class Figure(NamedTuple):
    """A figure of a report.

    `of`: function that computes the figure from a report; its result is None if unknown.
    """

    name: str
    unit: str
    description: str
    of: Callable[[SkipReport], float | None]


FIGURES = (
    Figure(
        "skipped_bytes_share",
        "from 0 to 1",
        "The share of the bytes that is skipped; 0 if the table has no bytes in the columns read.",
        lambda report: 0.0 if report.skipped_fraction is None else report.skipped_fraction,
    ),
    Figure("skipped_bytes", "bytes", "The bytes that are skipped.", lambda report: report.skipped_bytes),
    Figure(
        "planning_seconds",
        "seconds",
        "The planning time, without Spark's start and the first requests to a new session.",
        lambda report: report.seconds,
    ),
    Figure("total_files", "files", "The files of the table.", lambda report: report.total.files),
    Figure("kept_files", "files", "The files to read.", lambda report: report.kept.files),
    Figure(
        "total_rows",
        "rows",
        "The rows of the table; left out if files were not opened and no log counts their rows.",
        lambda report: report.total.rows,
    ),
    Figure("kept_rows", "rows", "The rows to read.", lambda report: report.kept.rows),
    Figure("total_bytes", "bytes", "The compressed bytes of the columns read.", lambda report: report.total.bytes),
    Figure("kept_bytes", "bytes", "The compressed bytes to read in these columns.", lambda report: report.kept.bytes),
)


def figures_of(report: SkipReport, *, prefix: str = "") -> dict[str, float]:
    """Return the known figures of a report, by name.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> figures = figures_of(pr.plan(table, where="id < 150").report, prefix="prune/")
    >>> figures["prune/kept_rows"], figures["prune/total_rows"], round(figures["prune/skipped_bytes_share"], 1)
    (200, 1000, 0.8)
    """
    figures = ((figure.name, figure.of(report)) for figure in FIGURES)
    return {f"{prefix}{name}": value for name, value in figures if value is not None}
