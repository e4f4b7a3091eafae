"""Rows along a Z-order or Hilbert curve: by the ranks of their values, so that skew does no harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.layout.sort_key import SortKey
from prune_assets.writing.curves import bits_per_column, curve_positions
from prune_assets.writing.ranges import cuts, values_at
from prune_assets.writing.sort_order import Ordered, rank_expression, sortable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.writing.measuring import Measured
    from prune_assets.writing.write_options import BoundLayout

    Codes = NDArray[np.int64]

# The position on the curve, a column for as long as rows are put in order.
CURVE = "__prune_assets_curve"


def along_curve(
    df: DataFrame, layout: LayoutSpec, bound: BoundLayout, measured: Measured, codes: Sequence[Codes]
) -> tuple[DataFrame, Codes]:
    """Return the data with the position of each row on the curve, and those of the sample.

    `codes`: the order of the sample's rows by each column of the key, the partition columns first.
    """
    first, bits = len(bound.partition_by), bits_per_column(len(bound.curve_by))
    cells, of_sample = [], np.zeros(measured.keys.num_rows, np.int64)
    for i, name in enumerate(bound.curve_by):
        cut = cuts(codes[first + i], measured.drawn, 1 << bits)
        shift = bits * (len(bound.curve_by) - 1 - i)
        ranks = [0, *(number << shift for _, number in cut)]
        rows = [row for row, _ in cut]
        column = [Ordered(sortable(df, name), SortKey(name))]
        cells.append(rank_expression(column, values_at(measured, rows, [first + i]), ranks))
        above = np.searchsorted(codes[first + i][rows], codes[first + i], side="right")
        of_sample += np.array(ranks)[above]
    positions = curve_positions(len(bound.curve_by), hilbert=bool(layout.hilbert_by))
    return df.withColumn(CURVE, _looked_up(positions, sum(cells[1:], cells[0]))), positions[of_sample]


def _looked_up(positions: Codes, cell: Column) -> Column:
    from pyspark.sql import functions as fn

    # One text, which the optimizer makes an array of once: a literal for each would take a second.
    return fn.get(fn.split(fn.lit(",".join(map(str, positions))), ",").cast("array<int>"), cell)
