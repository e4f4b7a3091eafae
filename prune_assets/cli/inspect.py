"""`prune inspect`: show the metadata of a file or a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from parquet_core.printable import printable
from prune_assets.cli.row_selection import listed_names, version_options
from prune_assets.report.output import json_text, rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from prune_assets.tables.table import Table


@click.command()
@click.argument("target", metavar="FILE|TABLE", type=click.Path(readable=False))
@click.option("--columns", metavar="A,B", help="Columns or structs to show in detail.")
@click.option("--pages", is_flag=True, help="List the pages of these columns; for a FILE only.")
@click.option(
    "--bloom",
    metavar="VALUE",
    help="Show which row groups certainly lack this value, by the bloom filters of one column.",
)
@version_options
@click.option(
    "--orphans", is_flag=True, help="Also list the files in the directories of a Delta table that no version names."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema inspection/1.")
def inspect(
    *,
    target: str,
    columns: str | None,
    pages: bool,
    bloom: str | None,
    version: int | None,
    timestamp: str | None,
    orphans: bool,
    as_json: bool,
) -> None:
    """Show the metadata of FILE or TABLE, page indexes and bloom filters included.

    Of a Delta table this reads the log only. For example:

    \b
      prune inspect lake/orders
      prune inspect lake/orders/part-00000.parquet --columns day --pages
      prune inspect lake/orders --columns id --bloom 7
    """
    from prune_assets.tables.examination import InspectOptions
    from prune_assets.tables.opening import open_as_written

    names = tuple(listed_names("--columns", columns) or ())
    opened = open_as_written(target, version=version, timestamp=timestamp)
    given = {"pages": pages, "bloom": bloom is not None, "orphans": orphans}
    for option, why in opened.format.not_inspected.items():
        if given[option]:
            raise click.UsageError(f"--{option}: {target} {why}")
    examination = opened.format.examination()
    is_file = examination.is_file(opened)
    if pages and not is_file:
        first = printable(opened.read_all().groups.files[0].path)
        raise click.UsageError(f"--pages: {target} is a table; pages are listed for one file, such as {first}")
    if is_file:
        _show_file(opened, names, pages=pages, bloom=bloom, as_json=as_json)
        return
    inspection = examination.inspect(opened, InspectOptions(names, bloom, orphans))
    click.echo(json_text(inspection.facts) if as_json else rendered(inspection.print_to))


def _show_file(opened: Table, names: Sequence[str], *, pages: bool, bloom: str | None, as_json: bool) -> None:
    from parquet_core.inspection import choose_columns

    index = opened.read_all()
    columns = choose_columns(index, names)
    if as_json:
        _print_file_json(index, columns, pages=pages, bloom=bloom)
    else:
        _print_file(index, columns, chosen=bool(names), pages=pages, bloom=bloom)


def _print_file_json(index: MetadataIndex, columns: Sequence[LeafColumn], *, pages: bool, bloom: str | None) -> None:
    import numpy as np

    from parquet_core.inspection import inspect_file, read_row_groups
    from prune_assets.report.inspection.json_form import file_json

    found = inspect_file(index, columns, bloom=bloom)
    # Everything is read before the first part is printed.
    groups = read_row_groups(index, columns, np.arange(len(index)), pages=pages)
    for part in file_json(found, groups):
        click.echo(part, nl=False)
    click.echo()


def _print_file(
    index: MetadataIndex, columns: Sequence[LeafColumn], *, chosen: bool, pages: bool, bloom: str | None
) -> None:
    import numpy as np

    from parquet_core.inspection import inspect_file, read_row_groups
    from prune_assets.report.inspection.console import SHOWN_BLOCKS, SHOWN_ROW_GROUPS, print_file

    found = inspect_file(index, columns, bloom=bloom)
    closely = columns[:SHOWN_BLOCKS] if chosen or pages or len(columns) <= SHOWN_BLOCKS else ()
    positions = np.arange(min(len(index), SHOWN_ROW_GROUPS))
    groups = [] if bloom is not None else list(read_row_groups(index, closely, positions, pages=pages))
    click.echo(rendered(lambda console: print_file(found, groups, console, pages=pages)))
