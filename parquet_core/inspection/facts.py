"""Facts about a file or table as plain data.

They are the only source of JSON and console output. None always means unknown or absent, never 0 or empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from parquet_core.inspection.sizes import SizeClass  # noqa: TC001 - its JSON Schema is made from the types

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHEMA = "inspection/1"

Repetition = Literal["required", "optional", "repeated"]
Dictionary = Literal["complete", "partial", "none"]
Order = Literal["unordered", "ascending", "descending"]
Verdict = Literal["absent", "maybe", "unknown"]


@dataclass(frozen=True, slots=True)
class Hex:
    """Bytes that are not text, as two hexadecimal digits each.

    The bytes are invalid UTF-8, or their type is not text.
    """

    hex: str


# Values are never shortened. Dates, times, timestamps (UTC timestamps end in Z), decimals, and the floats that JSON
# lacks are strings.
Value: TypeAlias = str | int | float | bool | Hex | None


@dataclass(frozen=True, slots=True)
class KeyValue:
    """One entry of the footer's key-value metadata; `bytes`: length of the value."""

    key: str
    bytes: int
    value: str


@dataclass(frozen=True, slots=True)
class SortingColumn:
    """One entry of a row group's `sorting_columns`."""

    column: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """Smallest, median and largest size; the median is rounded down."""

    min: int
    median: int
    max: int

    @staticmethod
    def of(values: NDArray[np.int64]) -> Spread | None:
        """Return the spread of numbers; None for an empty array.

        >>> Spread.of(np.array([3, 1, 9]))
        Spread(min=1, median=3, max=9)
        """
        if len(values) == 0:
            return None
        return Spread(int(values.min()), int(np.median(values)), int(values.max()))


@dataclass(frozen=True, slots=True)
class PageSummary:
    """Data pages of a column in the row groups that have an offset index."""

    count: int
    rows: Spread | None
    compressed_bytes: Spread | None


@dataclass(frozen=True, slots=True)
class WriterFault:
    """A known fault of a writer that may affect a column.

    `code`: id of the bug report in the writer's issue tracker. `source`: address of the report.
    `untrusted`: the statistics that are not trusted.
    `row_groups`: the number of row groups that the fault may affect.
    """

    code: str
    writer: str
    untrusted: tuple[str, ...]
    what: str
    source: str
    row_groups: int


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A leaf of the schema, with facts from all row groups.

    `type`: Arrow type. None if the type is unsupported.
    `repetition`: repetition of the whole path, not only of the leaf.
    `untrusted`: reasons why bounds are not trusted, one for each kind of file. Empty if bounds are trusted.
    `writer_faults`: known faults of the files' writers, which make single statistics untrusted.
    `unsupported`: why predicates on the column do not prune. Empty if they do.
    `lower`, `upper`, `null_count`, `nan_count`: None unless known for every row group.
    `encrypted`, `with_bounds`, `with_column_index`, `with_offset_index`, `with_bloom_filter`: numbers of row groups.
    `without_bounds`: number of row groups that may hold a value and lack bounds.
    `overlap_depth`: the depth of a row group is the largest number of row groups that may share one of its values;
    `overlap_depth` is the average depth. 1.0 means no overlap. A row group without bounds counts as holding every
    value. None if no row group has bounds.
    `pages`, `uncompressed_bytes`: None for a table.
    """

    name: str
    path: tuple[str, ...]
    physical: str
    type_length: int | None
    type: str | None
    repetition: Repetition
    max_definition_level: int
    max_repetition_level: int
    column_order: str | None
    untrusted: tuple[str, ...]
    writer_faults: tuple[WriterFault, ...]
    unsupported: str
    values: int
    compressed_bytes: int
    uncompressed_bytes: int | None
    codecs: tuple[str, ...]
    encodings: tuple[str, ...]
    lower: Value
    upper: Value
    null_count: int | None
    nan_count: int | None
    row_groups: int
    encrypted: int
    with_bounds: int
    without_bounds: int
    with_column_index: int
    with_offset_index: int
    with_bloom_filter: int
    overlap_depth: float | None
    pages: PageSummary | None


@dataclass(frozen=True, slots=True)
class PageFacts:
    """One data page.

    `first_row`: row in the row group; `offset`: byte offset in the file.
    """

    first_row: int
    rows: int
    offset: int
    compressed_bytes: int
    lower: Value
    upper: Value
    null_count: int | None
    nan_count: int | None


@dataclass(frozen=True, slots=True)
class PageIndexFacts:
    """The page index of a column chunk.

    `reason`: why the column index is not used, empty if it is used. `count` and the sizes of pages come from the offset
    index.
    `boundary_order`: the declared order.
    `recomputed_order`: the order of the bounds, None if some are unknown.
    `pages`: None unless single pages were requested.
    """

    reason: str
    count: int | None
    boundary_order: Order | None
    recomputed_order: Order | None
    bound_bytes: int
    column_index_bytes: int | None
    offset_index_bytes: int | None
    pages: tuple[PageFacts, ...] | None


@dataclass(frozen=True, slots=True)
class BloomFacts:
    """The bloom filter of a column chunk.

    `reason`: why the filter is missing or not trusted, empty if it is trusted.
    `bytes`: size of the bitset.
    `fill`: share of set bits.
    `estimated_fpp`: probability that the filter reports an absent value as present.
    `estimated_distinct`: number of distinct values, None if every bit is set.
    """

    reason: str
    bytes: int | None = None
    blocks: int | None = None
    fill: float | None = None
    estimated_fpp: float | None = None
    estimated_distinct: int | None = None


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """One column in one row group.

    `values`: number of level entries, nulls included.
    `value_bytes`: unencoded bytes of byte array values.
    `data_pages`: number of pages according to the encoding statistics.
    `dictionary`: "complete" if every data page uses the dictionary.
    `lower`, `upper`: trusted bounds.
    `min_exact`, `max_exact`: True if the bound is a value of the chunk.
    """

    column: str
    encrypted: bool
    values: int
    compressed_bytes: int
    uncompressed_bytes: int | None
    value_bytes: int | None
    codec: str | None
    encodings: tuple[str, ...]
    data_pages: int | None
    dictionary: Dictionary | None
    lower: Value
    upper: Value
    min_exact: bool | None
    max_exact: bool | None
    null_count: int | None
    nan_count: int | None
    page_index: PageIndexFacts
    bloom_filter: BloomFacts


@dataclass(frozen=True, slots=True)
class RowGroupFacts:
    """One row group.

    `compressed_bytes`: bytes of all its columns.
    `chunks`: the chosen columns.

    >>> import tempfile
    >>> import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    >>> from parquet_core.dataset.opening import read_dataset
    >>> from parquet_core.inspection import read_row_groups
    >>> path = f"{tempfile.mkdtemp()}/part-0.parquet"
    >>> pq.write_table(pa.table({"id": range(1000), "day": range(1000)}), path, row_group_size=400)
    >>> index = read_dataset(path)
    >>> groups = read_row_groups(index, index.groups.columns[:1], np.arange(len(index)), pages=False)
    >>> [(group.index, group.rows, len(group.chunks)) for group in groups]
    [(0, 400, 1), (1, 400, 1), (2, 200, 1)]
    """

    index: int
    rows: int
    compressed_bytes: int
    sorting_columns: tuple[SortingColumn, ...]
    chunks: tuple[ChunkFacts, ...]


@dataclass(frozen=True, slots=True)
class ProbeFacts:
    """Answer of the bloom filter of one row group.

    `verdict`: only `absent` is certain.
    `reason`: why the answer is unknown.
    """

    file: str
    row_group: int
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class BloomProbe:
    """Lookup of one value in the bloom filters of a column."""

    column: str
    value: str
    row_groups: tuple[ProbeFacts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInspection:
    """Facts about one file.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from parquet_core.dataset.opening import read_dataset
    >>> from parquet_core.inspection import inspect_file
    >>> path = f"{tempfile.mkdtemp()}/part-0.parquet"
    >>> pq.write_table(pa.table({"id": range(1000), "day": range(1000)}), path, row_group_size=100)
    >>> index = read_dataset(path)
    >>> file = inspect_file(index, index.groups.columns[:1])
    >>> file.row_group_count, file.all_columns, [column.name for column in file.columns]
    (10, 2, ['id'])

    `rows`: sum over the row groups.
    `footer_rows`: the footer's total.
    `all_columns`: number of leaves in the schema.
    `columns`: the chosen leaves.
    """

    schema: str = SCHEMA
    kind: Literal["file"] = "file"
    path: str
    bytes: int
    footer_bytes: int
    rows: int
    footer_rows: int
    created_by: str
    key_values: tuple[KeyValue, ...]
    row_group_count: int
    row_group_rows: Spread | None
    row_group_bytes: Spread | None
    all_columns: int
    columns: tuple[ColumnFacts, ...]
    probe: BloomProbe | None
    row_groups: tuple[RowGroupFacts, ...]


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file of a table; `writer`: index into `writers`."""

    path: str
    bytes: int
    rows: int
    row_groups: int
    writer: int


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer named in footers, and the number of files with its name."""

    created_by: str
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInspection:
    """Facts about a table, from the footers of its files.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from parquet_core.dataset.opening import read_dataset
    >>> from parquet_core.inspection import inspect_table
    >>> table = tempfile.mkdtemp()
    >>> for part in range(2):
    ...     pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-{part}.parquet")
    >>> index = read_dataset(table)
    >>> found = inspect_table(table, index, index.groups.columns)
    >>> len(found.files), found.row_groups, found.differences
    (2, 2, ())

    `differences`: how the schemas of files differ from the table's.
    `partitions`: columns in directory names.
    `schema_file`: the file without data that gives the schema, None if the first data file does.
    """

    schema: str = SCHEMA
    kind: Literal["table"] = "table"
    path: str
    bytes: int
    rows: int
    row_groups: int
    partitions: tuple[str, ...]
    schema_file: str | None
    writers: tuple[Writer, ...]
    sizes: tuple[SizeClass, ...]
    differences: tuple[str, ...]
    all_columns: int
    columns: tuple[ColumnFacts, ...]
    probe: BloomProbe | None
    files: tuple[TableFile, ...]
