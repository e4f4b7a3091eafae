"""Order a DataFrame by a layout, and write it to a new directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_core.errors import LayoutError
from parquet_core.layout.sort_key import SortKey
from parquet_core.spark_rules.partition_inference import NULL_DIRECTORY
from prune_assets.spark.columns import column_of
from prune_assets.spark.spark_session import temporary_option
from prune_assets.spark.spark_versions import (
    check_row_group_rows,
    in_tasks_by_number,
    limits_row_group_rows,
    observation,
)
from prune_assets.spark.stores import explaining, options_for, spark_uri
from prune_assets.tables.writes.curves import bits_per_column, curve_positions
from prune_assets.tables.writes.data_size import file_count, row_group_rows
from prune_assets.tables.writes.measuring import measure
from prune_assets.tables.writes.ranges import at_partitions, cuts, distinct_per_row_group, ranks_of, values_at
from prune_assets.tables.writes.sort_order import Ordered, order_codes, rank_expression, sort_expression, sortable
from prune_assets.tables.writes.write_options import write_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.tables.writes.measuring import MeasuredData
    from prune_assets.tables.writes.ranges import Codes
    from prune_assets.tables.writes.write_options import WriteLayout


# Temporary column for the position on the curve while rows are sorted.
CURVE = "__prune_assets_curve"

_TIMESTAMP_TYPE = "spark.sql.parquet.outputTimestampType"


def arrange(df: DataFrame, layout: LayoutSpec, bound: WriteLayout) -> tuple[DataFrame, dict[str, str]]:
    """Return the data in the order of the layout, and writer options. Takes one pass over the data.

    Strings to partition by are replaced by their directory names. Otherwise Spark would compute the names of a column
    with nulls itself and sort again by them, which loses the order inside partitions.
    """
    check_row_group_rows(df.sparkSession, layout.row_group_rows)
    keys = (*bound.keys, *map(SortKey, bound.curve_by))
    if not keys and not bound.bloom and layout.files is not None:
        options = write_options(layout, bound, row_group_rows=layout.row_group_rows, distinct={})
        return df.repartition(layout.files), options
    directory_names = {name: _directory_text(name) for name in bound.partition_by if _is_text(df, name)}
    named = (
        df.withColumns(directory_names) if directory_names else df
    )  # withColumns of Spark Connect refuses an empty dict
    measured = measure(named, bound, keys, files=layout.files)
    codes = [order_codes(measured.keys.column(i), key) for i, key in enumerate(keys)]
    partitions = ranks_of(codes[: len(bound.partition_by)], len(measured.random))
    if bound.curve_by:
        named, order = along_curve(named, layout, bound, measured, codes)
        codes[len(bound.partition_by) :] = [order]
    key_ranks = ranks_of(codes, len(measured.random))
    is_limited = limits_row_group_rows(df.sparkSession)
    spark_options = _options(layout, bound, measured, key_ranks, partitions, is_limited=is_limited)
    files = file_count(measured.size, layout)
    if not keys:
        return df.repartition(files), spark_options
    cut = [row for row, _ in cuts(key_ranks, measured.drawn, files)]
    starts = at_partitions(cut, key_ranks, measured.drawn, partitions, files)
    bounds = values_at(measured, [row for row, _ in starts], range(len(bound.keys)))
    if bound.curve_by:
        bounds = [(*before, int(order[row])) for before, (row, _) in zip(bounds, starts, strict=True)]
    # A partition's first file begins at the bare partition values, so rows missing from the sample stay in it too.
    whole = len(bound.partition_by)
    bounds = [values[:whole] if is_first else values for values, (_, is_first) in zip(bounds, starts, strict=True)]
    if bound.curve_by:
        return _sort_into_ranges(named, (*bound.keys, SortKey(CURVE)), bounds).drop(CURVE), spark_options
    return _sort_into_ranges(named, keys, bounds), spark_options


def _options(
    layout: LayoutSpec,
    bound: WriteLayout,
    measured: MeasuredData,
    key_ranks: Codes,
    partitions: Codes,
    *,
    is_limited: bool,
) -> dict[str, str]:
    if not bound.bloom:
        return write_options(layout, bound, row_group_rows=layout.row_group_rows, distinct={})
    group_rows = row_group_rows(measured.size, layout, is_limited=is_limited)
    counts = distinct_per_row_group(measured, key_ranks, partitions, group_rows=group_rows)
    limit, distinct = group_rows if is_limited else None, dict(zip(bound.bloom, counts, strict=True))
    return write_options(layout, bound, row_group_rows=limit, distinct=distinct)


def _sort_into_ranges(df: DataFrame, keys: Sequence[SortKey], bounds: Sequence[tuple[Any, ...]]) -> DataFrame:
    """Return the rows with one task per range of the keys, sorted within each task."""
    ordered = [Ordered(sortable(df, key.column), key) for key in keys]
    file = rank_expression(ordered, bounds, range(len(bounds) + 1))
    return in_tasks_by_number(df, len(bounds) + 1, file).sortWithinPartitions(*map(sort_expression, keys))


def _is_text(df: DataFrame, name: str) -> bool:
    return df.schema[name].dataType.typeName() in {"string", "char", "varchar"}


def _directory_text(name: str) -> Column:
    from pyspark.sql import functions as fn

    column = column_of(name, nested=False)
    return fn.coalesce(fn.nullif(column, fn.lit("")), fn.lit(NULL_DIRECTORY))


def merged_options(of_layout: dict[str, str], others: Mapping[str, str] | None) -> dict[str, str]:
    """Merge the options of a layout and the caller's options. Raises LayoutError for an option in both."""
    for key in others or {}:
        if key in of_layout:
            raise LayoutError(f"options[{key!r}]: the layout sets it to {of_layout[key]}; change the layout instead")
    return {**of_layout, **(others or {})}


def write_parquet(df: DataFrame, path: str, options: Mapping[str, str], *, partition_by: Sequence[str] = ()) -> int:
    """Write files to a directory that does not exist yet; return the number of rows that Spark wrote."""
    from pyspark.sql import functions as fn

    passed = observation(df)
    # Rows are counted after the shuffle, because the count would include the range sampling before the shuffle.
    counted = df.observe(passed, fn.count(fn.lit(1)).alias("rows"))
    session = df.sparkSession
    with temporary_option(session, _TIMESTAMP_TYPE, "TIMESTAMP_MICROS"), explaining(session, path):
        counted.write.options(**options_for(session, path), **options).mode("error").partitionBy(*partition_by).parquet(
            spark_uri(path)
        )
    return int(passed.get["rows"])


def along_curve(
    df: DataFrame, layout: LayoutSpec, bound: WriteLayout, measured: MeasuredData, codes: Sequence[Codes]
) -> tuple[DataFrame, Codes]:
    """Add each row's position on the curve as a column; also return the positions of the sample.

    `codes`: for each key column, partition columns first, integers that sort like the values of the sample's rows.
    """
    first, bits = len(bound.partition_by), bits_per_column(len(bound.curve_by))
    cells, of_sample = [], np.zeros(measured.keys.num_rows, np.int64)
    for i, name in enumerate(bound.curve_by):
        cut = cuts(codes[first + i], measured.drawn, 1 << bits)
        shift = bits * (len(bound.curve_by) - 1 - i)
        ranks = [0, *(range_number << shift for _, range_number in cut)]
        rows = [row for row, _ in cut]
        column = [Ordered(sortable(df, name), SortKey(name))]
        cells.append(rank_expression(column, values_at(measured, rows, [first + i]), ranks))
        above = np.searchsorted(codes[first + i][rows], codes[first + i], side="right")
        of_sample += np.array(ranks)[above]
    positions = curve_positions(len(bound.curve_by), hilbert=bool(layout.hilbert_by))
    return df.withColumn(CURVE, _look_up_cell(positions, sum(cells[1:], cells[0]))), positions[of_sample]


def _look_up_cell(positions: Codes, cell: Column) -> Column:
    from pyspark.sql import functions as fn

    # One string literal, which the optimizer turns into an array once; a literal per position would take a second.
    return fn.get(fn.split(fn.lit(",".join(map(str, positions))), ",").cast("array<int>"), cell)
