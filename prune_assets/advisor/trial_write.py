"""Write rows in a layout without Spark, with the order, files, row groups and pages that Spark would write.

Files are cut by number of rows, so rows with equal keys may be in two files. A column chunk is dictionary-encoded if a
dictionary would save bytes in its first page, as in parquet-java. Bounds of long strings are not truncated, because
Arrow does not truncate them.
"""

from __future__ import annotations

import inspect
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from parquet_core.arrow_arrays import from_numpy
from parquet_core.errors import UnsupportedFeature
from parquet_core.spark_rules.partition_inference import NULL_DIRECTORY
from parquet_core.storage.partition_discovery import escape
from prune_assets.advisor.sample import sample_of
from prune_assets.advisor.sizes import page_options
from prune_assets.simulation.cut import cut_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.simulation.cut import Cut
    from prune_assets.tables.table import Table

# Number of row groups whose first pages decide on dictionaries; Arrow decides once for all row groups of a file.
_VOTES = 6


def write_without_spark(
    rows: pa.Table, directory: Path, layout: LayoutSpec, *, table: Table, bytes_per_row: float
) -> None:
    """Write rows of a table in a layout into a new directory.

    `bytes_per_row`: size that determines the numbers of files and row groups.

    Raises UnsupportedFeature if only Spark, or a newer pyarrow, can write the layout.
    """
    _check(rows, layout)
    keys = {name.casefold() for name in (*layout.partition_by, *layout.sort_columns, *layout.curve_by)}
    every = dict.fromkeys(column.path for column in (*table.columns, *table.partitions))
    paths = [path for path in every if len(path) == 1 and path[0].casefold() in keys]
    cut = cut_of(sample_of(table, paths, rows, len(rows)), layout, bytes_per_row)
    partitions = [path[0] for name in layout.partition_by for path in paths if path[0].casefold() == name.casefold()]
    starts = cut.group[np.searchsorted(cut.file, np.arange(int(cut.file[-1]) + 1))]
    ends = np.append(starts[1:], cut.total)
    for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        part = rows.take(from_numpy(cut.order[start:end]))
        folder = directory.joinpath(*(f"{name}={_directory(part[name][0].as_py())}" for name in partitions))
        folder.mkdir(parents=True, exist_ok=True)
        _write(part.drop_columns(partitions), folder / f"part-{index:05}.parquet", layout, _group_rows(cut, start))


def _group_rows(cut: Cut, start: int) -> int:
    """Return the rows of the first row group of a file, which is its largest."""
    return int(cut.group_rows[np.searchsorted(cut.group, start)])


def _check(rows: pa.Table, layout: LayoutSpec) -> None:
    parameters = inspect.signature(pq.ParquetWriter).parameters
    for option in ("max_rows_per_page", *(("bloom_filter_options",) if layout.bloom else ())):
        if option not in parameters:
            raise UnsupportedFeature(
                f"pyarrow {pa.__version__} does not support {option}; update pyarrow, or verify with Spark"
            )
    for name in layout.partition_by:
        arrow_type = rows.schema.field(name).type
        if not (pa.types.is_integer(arrow_type) or pa.types.is_string(arrow_type) or pa.types.is_date(arrow_type)):
            raise UnsupportedFeature(f"partition_by: {name} is {arrow_type}; only Spark writes its directories")


def _write(part: pa.Table, file: Path, layout: LayoutSpec, group_rows: int) -> None:
    blooms = {
        name: {"ndv": _most_values(part[name], group_rows), "fpp": probability}
        for name, probability in layout.bloom.items()
    }
    pq.write_table(
        part,
        file,
        row_group_size=group_rows,
        write_page_index=True,
        use_dictionary=[name for name in with_dictionary(part, layout, group_rows) if name not in blooms],
        **page_options(layout),
        **({"bloom_filter_options": blooms} if blooms else {}),
    )


def _most_values(column: pa.ChunkedArray, group_rows: int) -> int:
    groups = range(0, max(len(column), 1), group_rows)
    return max(1, *(int(pc.count_distinct(column.slice(start, group_rows)).as_py()) for start in groups))


def with_dictionary(part: pa.Table, layout: LayoutSpec, group_rows: int) -> list[str]:
    """Return the Parquet paths of columns for which parquet-java keeps a dictionary in most row groups."""
    without, votes = {name for name, has in layout.dictionary.items() if not has}, Counter[str]()
    starts = range(0, max(len(part), 1), group_rows)
    starts = starts[:: max(1, len(starts) // _VOTES)]
    for start in starts:
        first = part.slice(start, min(layout.page_rows, group_rows))
        leaves = [leaf for name in part.column_names for leaf in _leaves(name, first[name].combine_chunks())]
        votes.update(path for path, values in leaves if _pays(values))
    return [path for path, count in votes.items() if path not in without and 2 * count > len(starts)]


def _leaves(path: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    if pa.types.is_struct(values.type):
        for field, part in zip(values.type, values.flatten(), strict=True):
            yield from _leaves(f"{path}.{field.name}", part)
    elif pa.types.is_map(values.type):
        yield from _leaves(f"{path}.key_value.key", values.keys)
        yield from _leaves(f"{path}.key_value.value", values.items)
    elif pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        yield from _leaves(f"{path}.list.element", values.flatten())
    else:
        yield path, values


def _pays(first: pa.Array) -> bool:
    """Return True if a dictionary of the first page saves bytes compared with plain values."""
    if pa.types.is_boolean(first.type) or pa.types.is_nested(first.type) or not len(first):
        return False
    values = pc.unique(first)
    # Nulls have no dictionary index.
    index_bytes = (len(first) - first.null_count) * max(len(values) - 1, 1).bit_length() / 8
    return bool(_plain_bytes(values) + index_bytes < _plain_bytes(first))


def _plain_bytes(values: pa.Array | pa.ChunkedArray) -> int:
    count = len(values) - values.null_count
    try:
        size: int = count * values.type.bit_width // 8
    except ValueError:
        size = 4 * count + (pc.sum(pc.binary_length(values)).as_py() or 0)
    return size


def _directory(value: object) -> str:
    return NULL_DIRECTORY if value is None or value == "" else escape(str(value))
