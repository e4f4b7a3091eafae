"""Facts about a table from its footers, and selection of columns by name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import LayoutError, UnknownColumn
from parquet_core.inspection.column import describe_column
from parquet_core.inspection.facts import TableFile, TableInspection, Writer
from parquet_core.inspection.probe import probe_filters, probed_column
from parquet_core.inspection.sizes import size_classes
from parquet_core.layout.bound_layout import find_column
from parquet_core.printable import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn


def inspect_table(
    table: str, index: MetadataIndex, columns: Sequence[LeafColumn], *, bloom: str | None = None
) -> TableInspection:
    """Describe a table and the chosen columns from the footers.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from parquet_core.dataset.opening import read_dataset
    >>> from parquet_core.inspection import choose_columns, inspect_table
    >>> table = tempfile.mkdtemp()
    >>> for part in range(2):
    ...     pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-{part}.parquet")
    >>> index = read_dataset(table)
    >>> found = inspect_table(table, index, choose_columns(index, ["id"]))
    >>> found.rows, found.columns[0].overlap_depth
    (2000, 2.0)

    `bloom`: a value to look up in the bloom filters of one column. Raises WrongUse, MalformedFile and StorageFailure.
    """
    writers = list(dict.fromkeys(footer_kind.created_by for footer_kind in index.groups.distinct_provenances()))
    index_of = {name: i for i, name in enumerate(writers)}
    writer = np.array([index_of.get(footer_kind.created_by, -1) for footer_kind in index.groups.provenances], np.int64)[
        index.groups.provenance_ids
    ]
    return TableInspection(
        path=redacted(table),
        bytes=sum(file.size for file in index.groups.files),
        rows=int(index.groups.row_count.sum()),
        row_groups=len(index),
        partitions=tuple(column.name for column in index.groups.partitions),
        schema_file=None if index.groups.summary is None else redacted(index.groups.summary.path),
        writers=tuple(
            Writer(name, count)
            for name, count in zip(writers, np.bincount(writer, minlength=len(writers)).tolist(), strict=True)
        ),
        sizes=size_classes(index.groups.sizes_of_files()),
        differences=_differences(index),
        all_columns=len(index.groups.columns),
        columns=tuple(describe_column(index, column) for column in columns),
        probe=None if bloom is None else probe_filters(index, probed_column(index, columns), bloom),
        files=_files(index, writer),
    )


def _files(index: MetadataIndex, writer: np.ndarray) -> tuple[TableFile, ...]:
    rows = np.zeros(len(index.groups.files), np.int64)
    np.add.at(rows, index.groups.file, index.groups.row_count)
    groups = np.bincount(index.groups.file, minlength=len(index.groups.files))
    columns = rows.tolist(), groups.tolist(), writer.tolist()
    return tuple(
        TableFile(redacted(file.path), file.size, *facts)
        for file, *facts in zip(index.groups.files, *columns, strict=True)
    )


def _differences(index: MetadataIndex) -> tuple[str, ...]:
    """Return how file schemas differ from the table's, with numbers of files."""
    files = Counter(index.groups.provenance_ids.tolist())
    forms = [_form(column) for column in index.groups.columns]
    files_by_difference: Counter[str] = Counter()
    for footer_kind, count in files.items():
        columns = index.groups.provenances[footer_kind].columns
        if [_form(column) for column in columns] != forms:
            for difference in _differences_of(columns, index.groups.columns):
                files_by_difference[difference] += count
    return tuple(
        f"{count:,} of {len(index.groups.files):,} files: {difference}"
        for difference, count in files_by_difference.items()
    )


def _differences_of(columns: Sequence[LeafColumn], table: Sequence[LeafColumn]) -> Iterator[str]:
    by_path = {column.path: column for column in columns}
    for column in table:
        leaf = by_path.pop(column.path, None)
        if leaf is None:
            yield f"column {column.name} is not there"
        elif _form(leaf) != _form(column):
            yield f"column {column.name} is {_type_text(leaf)}, in the table {_type_text(column)}"
    for leaf in by_path.values():
        yield f"column {leaf.name} ({_type_text(leaf)}) is not in the table's schema"


def _form(column: LeafColumn) -> tuple[object, ...]:
    levels = column.max_definition_level, column.max_repetition_level
    return column.path, column.physical, column.type, column.byte_width, levels


def _type_text(column: LeafColumn) -> str:
    type_text = column.physical.name if column.type is None else f"{column.type} stored as {column.physical.name}"
    return type_text if column.max_definition_level else f"{type_text}, required"


def choose_columns(index: MetadataIndex, names: Sequence[str]) -> tuple[LeafColumn, ...]:
    """Return the leaves with these dotted names; all leaves if `names` is empty.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from parquet_core.dataset.opening import read_dataset
    >>> from parquet_core.inspection import choose_columns
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": [1], "at": [{"x": 1, "y": 2}]}), f"{table}/part-0.parquet")
    >>> [column.name for column in choose_columns(read_dataset(table), ["at"])]
    ['at.x', 'at.y']

    The name of a struct, list or map selects all of its leaves. Raises UnknownColumn for a column that does not exist;
    the message suggests a name or lists the columns.
    """
    if not names:
        return index.groups.columns
    chosen = {column.path for name in names for column in _under(index, name)}
    return tuple(column for column in index.groups.columns if column.path in chosen)


def _under(index: MetadataIndex, name: str) -> Sequence[LeafColumn]:
    exact = [column for column in index.groups.columns if column.name == name or column.name.startswith(f"{name}.")]
    try:
        return exact or [find_column(name, index, "--columns")]
    except LayoutError as error:
        raise UnknownColumn(str(error)) from None
