"""`prune write`: copy a table into another one that has a layout, through Spark."""

from __future__ import annotations

from pathlib import Path

import click

from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted
from prune_assets.layout_file import load_layout
from prune_assets.session.progress import showing_progress


@click.command()
@click.argument("source", type=click.Path(readable=False))
@click.argument("table", type=click.Path(readable=False))
@click.option(
    "--layout",
    "layout_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The layout to write, a YAML file.",
)
@click.option(
    "--format",
    "table_format",
    type=click.Choice(["parquet", "delta"]),
    help="By default the format of TABLE, or parquet where it is new.",
)
@click.option(
    "--mode",
    type=click.Choice(["append", "overwrite", "replace_partitions", "error"]),
    default="error",
    show_default=True,
    help="What happens to the rows of TABLE; error refuses a TABLE that has rows.",
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
    import warnings

    import prune_assets as pr
    from prune_assets.session.spark_session import spark_session

    # Of PySpark's own about pandas, which nothing here asks for.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    layout = load_layout(layout_file)
    spark = spark_session()
    with showing_progress(spark):
        frame = pr.read(spark, source, where=rows)
        done = pr.write(frame, table, layout=layout, format=table_format, mode=mode, where=where)  # type: ignore[arg-type]  # click holds mode to its choices
    files, groups = counted(len(done.files), "file"), counted(done.row_groups, "row group")
    parts = f"{counted(done.rows, 'row')} in {files}, {groups}, {bytes_text(done.bytes)}"
    version = "" if done.version is None else f"version {done.version}, "
    click.echo(f"{printable(redacted(table))}: {version}{parts}; {counted(len(done.removed), 'file')} replaced")
