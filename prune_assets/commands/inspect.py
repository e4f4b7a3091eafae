"""`prune inspect`: the metadata of a file or a table, page indexes and bloom filters included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from parquet_core.printable import printable
from prune_assets.report.output import rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.schema import TableColumn
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn


@click.command()
@click.argument("target", metavar="FILE|TABLE", type=click.Path(readable=False))
@click.option(
    "--column",
    "names",
    multiple=True,
    metavar="NAME",
    help="A column or a struct to show in detail; repeat it for several.",
)
@click.option("--pages", is_flag=True, help="List the pages of these columns; for a FILE only.")
@click.option(
    "--bloom",
    metavar="VALUE",
    help="Show which row groups certainly lack this value, by the bloom filters of one column.",
)
@click.option(
    "--version",
    type=click.IntRange(min=0),
    metavar="N",
    help="A version of a Delta table; by default the latest.",
)
@click.option(
    "--timestamp",
    metavar="TIME",
    help="The version of a Delta table at a time with a zone, e.g. 2024-01-31T12:00:00+00:00.",
)
@click.option(
    "--orphans", is_flag=True, help="Also list the files in the directories of a Delta table that no version names."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON of schema inspection/1.")
def inspect(
    *,
    target: str,
    names: tuple[str, ...],
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
      prune inspect lake/orders/part-00000.parquet --column day --pages
      prune inspect lake/orders --column id --bloom 7
    """
    from prune_assets.tables.delta import delta_table

    if version is not None and timestamp is not None:
        raise click.UsageError("--version and --timestamp cannot be combined; pass one of them")
    delta = delta_table(target, version=version, timestamp=timestamp)
    if delta is None and orphans:
        raise click.UsageError(f"--orphans: {target} is not a Delta table, so it has no log that names files")
    if delta is not None:
        if pages or bloom is not None:
            asked = "--pages" if pages else "--bloom"
            raise click.UsageError(
                f"{asked}: {target} is a Delta table, and only its log is shown; name one of its files"
            )
        _show_delta(delta.snapshot, names, orphans=orphans, as_json=as_json)
        return
    from parquet_core.dataset.opening import read_dataset
    from parquet_core.inspection import choose_columns

    index = read_dataset(target)
    is_file = _is_file(target, index)
    if pages and not is_file:
        raise click.UsageError(f"--pages: {target} is a table; pages are listed for one file, such as {_first(index)}")
    columns = choose_columns(index, names)
    if not is_file:
        _show_table(target, index, columns, bloom=bloom, as_json=as_json)
    elif as_json:
        _print_file_json(index, columns, pages=pages, bloom=bloom)
    else:
        _show_file(index, columns, chosen=bool(names), pages=pages, bloom=bloom)


def _show_delta(snapshot: Snapshot, names: tuple[str, ...], *, orphans: bool, as_json: bool) -> None:
    from deltalog.inspection import inspect_snapshot, with_orphans

    found = inspect_snapshot(snapshot, _chosen(snapshot, names))
    if orphans:
        found = with_orphans(found)
    if as_json:
        from prune_assets.report.inspection.json_form import table_json

        click.echo(table_json(found))
    else:
        from prune_assets.report.inspection.delta import print_delta

        click.echo(rendered(lambda console: print_delta(found, console)))


def _chosen(snapshot: Snapshot, names: tuple[str, ...]) -> list[TableColumn]:
    from prune_assets.planner.columns import resolve

    columns = snapshot.schema.columns
    found: dict[TableColumn, None] = {}
    for name in names:
        low = name.casefold()
        here = [column for column in columns if f"{column.leaf.name.casefold()}.".startswith(f"{low}.")]
        if not here:
            top = resolve(name, snapshot.schema.leaves)
            here = [column for column in columns if column.leaf.path[0] == top]
        found |= dict.fromkeys(here)
    return list(found) if names else list(columns)


def _is_file(target: str, index: MetadataIndex) -> bool:
    from parquet_core.storage import local_path

    path = local_path(target) if target.lower().startswith("file:") else target
    return [file.path for file in index.files] == [path]


def _first(index: MetadataIndex) -> str:
    return printable(index.files[0].path)


def _show_table(
    target: str, index: MetadataIndex, columns: Sequence[LeafColumn], *, bloom: str | None, as_json: bool
) -> None:
    from parquet_core.inspection import inspect_table

    found = inspect_table(target, index, columns, bloom=bloom)
    if as_json:
        from prune_assets.report.inspection.json_form import table_json

        click.echo(table_json(found))
    else:
        from prune_assets.report.inspection.console import print_table

        click.echo(rendered(lambda console: print_table(found, console)))


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


def _show_file(
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
