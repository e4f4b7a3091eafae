"""`prune write`: copy a table into another table with a layout, through Spark."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from parquet_core.errors import UnsupportedFeature
from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted
from prune_assets.cli.quantities import layout_option
from prune_assets.spark.progress import showing_progress, start_session
from prune_assets.tables.writes.format_names import WRITTEN
from prune_assets.writing.layout_file import load_layout, naming_layout_file

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_core.layout.spec import LayoutSpec


@click.command()
@click.argument("source", type=click.Path(readable=False))
@click.argument("table", type=click.Path(readable=False))
@layout_option("The layout to write, a YAML file.", required=True)
@click.option(
    "--format",
    "table_format",
    type=click.Choice(WRITTEN),
    help="By default the format of TABLE, or parquet if TABLE is new.",
)
@click.option(
    "--mode",
    type=click.Choice(["append", "overwrite", "replace_partitions", "error"]),
    default="error",
    show_default=True,
    help="How to treat existing rows of TABLE; error refuses a TABLE that has rows.",
)
@click.option(
    "--select",
    "rows",
    metavar="SQL",
    default="true",
    help="The rows of SOURCE to copy, as a condition; by default all.",
)
@click.option("--where", metavar="SQL", help="With --mode overwrite: the partitions to replace, as a condition.")
def write(
    *, source: str, table: str, layout_file: Path, table_format: str | None, mode: str, rows: str, where: str | None
) -> None:
    """Copy the rows of SOURCE into TABLE, with a layout.

    SOURCE is a directory of Parquet files or a Delta table. Either all rows are written, or TABLE stays as it was. For
    example:

    \b
      prune write lake/orders lake/orders_by_day --layout layout.yaml --format delta
      prune write raw lake/orders --layout layout.yaml --mode replace_partitions --select "day = DATE '2024-03-01'"
    """
    import prune_assets as pr
    from prune_assets.reading.nanoseconds import in_microseconds, nanoseconds_as_numbers
    from prune_assets.tables.target import refuse_place

    layout = load_layout(layout_file)
    if mode == "error":
        _refuse_existing(table, table_format)
    refuse_place(table, table_format)
    with naming_layout_file(layout_file):
        nanoseconds = _nanosecond_columns(source, layout, all_rows=rows == "true")
    if nanoseconds:
        click.echo(
            f"nanoseconds are rounded down to microseconds, because Spark has no nanoseconds: {', '.join(nanoseconds)}",
            err=True,
        )
    spark = start_session(source, table)
    reading = nanoseconds_as_numbers(spark) if nanoseconds else nullcontext()
    with naming_layout_file(layout_file), showing_progress(spark), reading:
        frame = pr.read(source, where="true" if nanoseconds else rows, session=spark)
        if nanoseconds:
            frame = in_microseconds(frame, nanoseconds).where(rows)
        done = pr.write(frame, table, layout=layout, format=table_format, mode=mode, where=where)  # type: ignore[arg-type]  # click holds mode to its choices
    files, groups = counted(len(done.files), "file"), counted(done.row_groups, "row group")
    parts = f"{counted(done.rows, 'row')} in {files}, {groups}, {bytes_text(done.bytes)}"
    version = "" if done.version is None else f"version {done.version}, "
    click.echo(f"{printable(redacted(table))}: {version}{parts}; {counted(len(done.removed), 'file')} replaced")


def _refuse_existing(table: str, table_format: str | None) -> None:
    """Refuse a table that has rows.

    The check runs before Spark starts, which takes far longer.
    """
    from prune_assets.tables.opening import format_at

    format_ = format_at(table)
    if table_format in {None, format_.name} and format_.writing is not None:
        format_.writing().refuse_existing(table)


def _nanosecond_columns(source: str, layout: LayoutSpec, *, all_rows: bool) -> dict[str, bool]:
    """Return the nanosecond columns of a plain source; refuse an unusable source.

    This runs before Spark starts.
    A source is unusable if it is missing or cannot be copied, or if it lacks a column of the layout. If only some rows
    are copied, a file that Spark cannot read is allowed, since its rows may not be among them.
    Returns an empty result without reading for a name without a slash, which may be in a catalog that only the session
    knows, and for formats that list their own files, because their columns have types of Spark.
    """
    from parquet_core.dataset.opening import read_dataset
    from parquet_core.dataset.unread_columns import extra_columns, refuse_unread_columns
    from prune_assets.cache_directory import metadata_cache
    from prune_assets.reading.nanoseconds import nanosecond_columns
    from prune_assets.tables.opening import format_at, retry_on_stale_listing
    from prune_assets.tables.writes.write_options import refuse_unknown_columns

    if not format_at(source).spark_lists_files or not ("/" in source or os.path.lexists(source)):
        return {}
    index = retry_on_stale_listing(lambda: read_dataset(source, cache=metadata_cache()))
    index.save()
    names = [column.path[0] for column in index.groups.columns] + [column.name for column in index.groups.partitions]
    refuse_unknown_columns(layout, list(dict.fromkeys(names)))
    if all_rows:
        refuse_unread_columns(index)
    for column in extra_columns(index):
        problem = (
            f"{redacted(index.groups.files[column.files[0]].path)}: column {column.name} is not in the table's schema"
        )
        if all_rows:
            merged = f"pr.write(spark.read.option('mergeSchema', True).parquet({redacted(source)!r}), ..)"
            raise UnsupportedFeature(f"{problem}, so Spark would not copy it; merge the schemas in Python: {merged}")
        click.echo(f"note: {problem}, and is not copied", err=True)
    return nanosecond_columns(printable(redacted(source)), index)
