"""What the metadata of a file or a table say, as plain data: the one source of its JSON and console forms.

None is unknown or absent throughout, never 0 or empty.
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
    """Bytes that are no UTF-8 text, or no text by their type: two digits each."""

    hex: str


# Whole, never cut. Dates, times, timestamps (UTC ones end in Z) and decimals are texts, and so are the floats that
# JSON lacks.
Value: TypeAlias = str | int | float | bool | Hex | None


@dataclass(frozen=True, slots=True)
class KeyValue:
    """One entry of the footer's key-value metadata; `bytes` of the value."""

    key: str
    bytes: int
    value: str


@dataclass(frozen=True, slots=True)
class SortingColumn:
    """One column that a row group declared sort order."""

    column: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """How far sizes differ; the median is rounded down."""

    min: int
    median: int
    max: int

    @staticmethod
    def of(numbers: NDArray[np.int64]) -> Spread | None:
        """Sum numbers up; None without any.

        >>> Spread.of(np.array([3, 1, 9]))
        Spread(min=1, median=3, max=9)
        """
        if len(numbers) == 0:
            return None
        return Spread(int(numbers.min()), int(np.median(numbers)), int(numbers.max()))


@dataclass(frozen=True, slots=True)
class PageSummary:
    """The data pages of a column in the row groups that locate them by an offset index."""

    count: int
    rows: Spread | None
    compressed_bytes: Spread | None


@dataclass(frozen=True, slots=True)
class WriterFault:
    """A known fault of a writer that may affect a column.

    `code`: the report in the writer's tracker, at `source`. `untrusted`: the statistics that are not trusted.
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
    """A leaf of the schema, and what all row groups together say of it.

    `type`: the Arrow type, None when the column's is not understood. `repetition` is that of the whole path.
    `untrusted`: why bounds are not believed, one reason for each kind of file that has one; empty when they are.
    `writer_faults`: known faults of the files' writers, which take single statistics away.
    `unsupported`: why predicates do not prune on it, empty when they do. `lower`, `upper`, `null_count` and
    `nan_count` are known when every row group lets them be. `with_...` and `encrypted` count row groups,
    `without_bounds` those that may hold a value and have no bounds.
    `overlap_depth`: for an average row group, how many hold the value of it that most hold; 1.0 is no overlap,
    None where no row group has bounds, and one without counts as holding every value.
    `pages` and `uncompressed_bytes` are None for a table.
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
    """One data page: `first_row` counts inside the row group, `offset` is that in the file."""

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

    `reason`: why the column index says nothing, empty when it does. `count` and the sizes of the pages come from
    the offset index. `boundary_order` is the one claimed, `recomputed_order` that of the bounds, None when some
    are unknown. `pages` is None unless pages were asked for.
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

    `reason`: why there is none to be believed, empty when there is. `bytes` of its bitset. `fill`: share of the
    bits set. `estimated_fpp`: probability that a value which is not there is found. `estimated_distinct` is None
    when every bit is set.
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

    `values` counts level entries, nulls included. `value_bytes`: unencoded bytes of byte array values. `data_pages`
    comes from the encoding statistics. `dictionary`: whether every data page uses it. Bounds are the trusted ones;
    `min_exact` and `max_exact` tell whether they occur.
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
    """One row group; `compressed_bytes` are those of all its columns, `chunks` those of the chosen ones.

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
    """What the filter of one row group says: `absent` is certain; `reason` is why the answer is unknown."""

    file: str
    row_group: int
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class BloomProbe:
    """One value, asked of the bloom filters of a column."""

    column: str
    value: str
    row_groups: tuple[ProbeFacts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInspection:
    """What one file says of itself.

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

    `rows`: the sum over the row groups; `footer_rows`: what the footer claims as a whole. `all_columns` counts the
    leaves of the schema, `columns` are the chosen ones.
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
    """One file of a table; `writer` numbers an entry of `writers`."""

    path: str
    bytes: int
    rows: int
    row_groups: int
    writer: int


@dataclass(frozen=True, slots=True)
class Writer:
    """Who wrote some files of a table, as these say."""

    created_by: str
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInspection:
    """What the files of a table say of it; `differences`: how the schemas of files differ from the table's.

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

    `partitions`: columns that stand in directory names. `schema_file`: the file without data that gives the
    schema, None when the first data file does.
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
