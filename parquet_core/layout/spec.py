"""Layouts (`LayoutSpec`) and the findings of checks (`Finding`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from parquet_core.errors import LayoutError, WrongUse
from parquet_core.layout.sort_key import SortKey, parse_sort_key
from parquet_core.printable import shown

if TYPE_CHECKING:
    from parquet_core.fix import Fix

# Codecs of Spark's Parquet writer; the last two require an additional library.
CODECS = ("zstd", "snappy", "gzip", "lz4", "lz4_raw", "none", "uncompressed", "brotli", "lzo")
# Codecs whose compression level parquet-java reads from options, each with its highest level.
LEVELS = {"zstd": 22, "gzip": 9}
# A curve through more columns does not prune on any of them.
MOST_CURVE_COLUMNS = 5
_COLUMN_LISTS = ("sort_by", "zorder_by", "hilbert_by", "partition_by")
_COUNTS = ("page_rows", "page_bytes", "row_group_bytes", "target_file_bytes")
# A bloom filter skips a whole row group or nothing. Data with filters get this many row groups, unless row groups would
# have fewer rows than the minimum.
_FEWEST_ROW_GROUPS = 8
_FEWEST_ROWS = 100_000
_OPTIONAL_COUNTS = ("row_group_rows", "files", "column_index_truncate_length", "statistics_truncate_length")


class Severity(StrEnum):
    """Severity of a finding; an `error` violates the layout.

    >>> from prune_assets import Severity
    >>> [str(severity) for severity in Severity], Severity.WARN == "warn"
    (['info', 'warn', 'error'], True)
    """

    INFO = "info"
    WARN = "warn"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Rank of the severity, 0 for info."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact that a check reports about a table.

    >>> from prune_assets import Finding, Severity
    >>> finding = Finding("files.small", Severity.WARN, "lake/orders", "12 of 14 files are small", "merge them")
    >>> finding.severity == "warn", finding.code.partition(".")[0]
    (True, 'files')

    `code`: stable identifier, for filters.
    `location`: file, row group and column, if they apply.
    `remedy`: the next step; empty only for severity `info`.
    `columns`: the affected columns; () if the finding does not concern columns.
    `fix`: the remedy as a value, for tools that word it themselves; None if the remedy is only text.
    """

    code: str
    severity: Severity
    location: str
    message: str
    remedy: str = ""
    columns: tuple[str, ...] = ()
    fix: Fix | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.fix is not None and not self.remedy:
            object.__setattr__(self, "remedy", str(self.fix))

    def with_fix(self, fix: Fix) -> Finding:
        """Return a copy with the remedy replaced by `fix`."""
        return replace(self, remedy="", fix=fix)


def refuse_unknown(keys: Iterable[object], allowed: Sequence[str], error: type[WrongUse] = LayoutError) -> None:
    """Raise an error that lists all unknown keys, with suggestions.

    >>> refuse_unknown(["sort_bye", "files", "zz"], ["sort_by", "files"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    parquet_core.errors.LayoutError: unknown key 'sort_bye'; did you mean 'sort_by'? unknown key 'zz'; known ...
    """
    unknown = {shown(key): get_close_matches(str(key), allowed, n=1) for key in keys if key not in allowed}
    problems = [f"unknown key {key}; did you mean {close[0]!r}?" for key, close in unknown.items() if close]
    if others := [key for key, close in unknown.items() if not close]:
        problems.append(
            f"unknown key{'s' * (len(others) > 1)} {' and '.join(others)}; known keys are {', '.join(allowed)}"
        )
    if problems:
        raise error(" ".join(problems))


@dataclass(frozen=True, slots=True)
class LayoutSpec:
    """The layout that a write produces and a check proves.

    >>> from prune_assets import LayoutSpec
    >>> layout = LayoutSpec(sort_by=["day", "id"], bloom={"id": 0.01}, row_group_rows=100_000)
    >>> layout.sort_by
    ('day', 'id')

    Invalid options raise LayoutError:

    >>> LayoutSpec(sort_by="day")
    Traceback (most recent call last):
    parquet_core.errors.LayoutError: sort_by = 'day': give a list of column names, e.g. ['l_shipdate']

    `partition_by`: top-level columns whose values split the table into directories. They must not be in `sort_by`.
    `sort_by`: top-level columns in SQL syntax, such as `"day"`, `"amount DESC"` or `"id ASC NULLS LAST"`. The default
    is ascending; as in Spark, nulls come first if ascending and last if descending. Put a name that ends with such
    words into backquotes. Rows are sorted within each partition.
    `zorder_by`, `hilbert_by`: two to five columns instead of `sort_by`, for queries that filter by each of them alone.
    Rows follow a Z-order or Hilbert curve through the ranks of their values, so skewed values do no harm.
    `bloom`: columns that get a bloom filter, each with its false-positive probability.
    `dictionary`: columns for which dictionary encoding is on (true) or off (false); the writer decides for the others.
    It is off for the columns of `bloom`: parquet-java writes no bloom filter for a dictionary-encoded column chunk.
    `row_group_rows`, `page_rows`: upper limits in rows. The limit that is reached first ends the row group or page.
    Without `row_group_rows`, a write with bloom filters aims for eight row groups, each of at least 100,000 rows, since
    a filter skips a whole row group or nothing.
    `row_group_bytes`, `page_bytes`: upper limits in buffered bytes.
    `files`: number of files that a write aims for, None for files of `target_file_bytes` each. Each partition has at
    least one file. `optimize` gives each partition that it rewrites its share of `files`, by bytes.
    `target_file_bytes`: file size to aim for if `files` is None.
    `compression`: a codec of Spark's writer.
    `compression_level`: level for zstd (1 to 22) or gzip (1 to 9); None for the writer's default.
    `column_index_truncate_length`, `statistics_truncate_length`: bytes after which bounds of strings are cut, in column
    indexes and in row-group statistics; None for the writer's defaults, which are 64 bytes and no limit.

    A check proves the order within each partition, bloom filters, column indexes and the limits in rows. For a curve it
    reports how many row groups an equality keeps. A check of the whole table also proves that the table is partitioned
    by the columns of `partition_by`, if the layout names any. It does not prove limits in bytes, encodings and
    compression.
    """

    sort_by: Sequence[str] = ()
    bloom: Mapping[str, float] = field(default_factory=dict)
    page_rows: int = 20_000
    page_bytes: int = 1 << 20
    row_group_rows: int | None = None
    row_group_bytes: int = 32 << 20
    files: int | None = None
    compression: str = "zstd"
    partition_by: Sequence[str] = ()
    zorder_by: Sequence[str] = ()
    hilbert_by: Sequence[str] = ()
    target_file_bytes: int = 128 << 20
    dictionary: Mapping[str, bool] = field(default_factory=dict)
    compression_level: int | None = None
    column_index_truncate_length: int | None = None
    statistics_truncate_length: int | None = None

    def __new__(cls, *_: object, **options: object) -> Self:
        """Raise LayoutError for unknown options, with suggestions."""
        refuse_unknown(options, tuple(cls.__dataclass_fields__))
        return object.__new__(cls)

    def rows_of_row_group(self, rows: int) -> int | None:
        """Return the row limit of row groups; None if unlimited.

        `rows`: rows of the data to write.

        >>> LayoutSpec(sort_by=["day"], bloom={"id": 0.01}).rows_of_row_group(4_000_000)
        500000
        """
        if self.row_group_rows is not None or not self.bloom:
            return self.row_group_rows
        return max(_FEWEST_ROWS, -(-rows // _FEWEST_ROW_GROUPS))

    @property
    def sort_keys(self) -> tuple[SortKey, ...]:
        """Parsed columns of `sort_by`, with direction and place of nulls."""
        return tuple(map(parse_sort_key, self.sort_by))

    @property
    def sort_columns(self) -> tuple[str, ...]:
        """Names of the columns in `sort_by`."""
        return tuple(key.column for key in self.sort_keys)

    @property
    def curve_by(self) -> Sequence[str]:
        """Columns of `zorder_by` or `hilbert_by`, whichever is set."""
        return self.zorder_by or self.hilbert_by

    def __post_init__(self) -> None:
        self._check_columns()
        self._check_curve()
        self._check_encodings()
        for name in (*_COUNTS, *_OPTIONAL_COUNTS):
            value = getattr(self, name)
            if not (value is None and name in _OPTIONAL_COUNTS) and (not isinstance(value, int) or value < 1):
                raise LayoutError(f"{name} = {shown(value)}: must be a whole number of at least 1")

    def _check_curve(self) -> None:
        filled = [name for name in ("sort_by", "zorder_by", "hilbert_by") if getattr(self, name)]
        if len(filled) > 1:
            raise LayoutError(f"{' and '.join(filled)}: rows have one order; choose one of them")
        if self.curve_by and not 2 <= len(self.curve_by) <= MOST_CURVE_COLUMNS:
            raise LayoutError(
                f"{filled[0]} = {shown(list(self.curve_by))}: a curve runs through 2 to {MOST_CURVE_COLUMNS} columns; "
                "use sort_by for one"
            )

    def _check_encodings(self) -> None:
        if self.compression not in CODECS:
            raise LayoutError(f"compression = {shown(self.compression)}: choose one of {', '.join(CODECS)}")
        most, level = LEVELS.get(self.compression), self.compression_level
        if level is not None and (most is None or not isinstance(level, int) or not 1 <= level <= most):
            allowed = "no level can be set" if most is None else f"a whole number from 1 to {most}"
            raise LayoutError(f"compression_level = {shown(level)}: for {self.compression}, {allowed}")
        if not isinstance(self.dictionary, Mapping) or not all(
            isinstance(name, str) and isinstance(on, bool) for name, on in self.dictionary.items()
        ):
            raise LayoutError(f"dictionary = {shown(self.dictionary)}: give each column true or false")
        object.__setattr__(self, "dictionary", dict(self.dictionary))
        for name, on in self.dictionary.items():
            if on and name.casefold() in {column.casefold() for column in self.bloom}:
                raise LayoutError(
                    f"dictionary[{name}] = true: {name} is in bloom too, and parquet-java writes no bloom filter of a "
                    "chunk that is dictionary-encoded; leave it out of one of them"
                )

    def _check_columns(self) -> None:
        """Validate the named columns, and copy mutable arguments."""
        if not isinstance(self.bloom, Mapping):
            raise LayoutError(
                f"bloom = {shown(self.bloom)}: give each column its false-positive probability, e.g. 0.01"
            )
        for key in _COLUMN_LISTS:
            names = getattr(self, key)
            named = isinstance(names, Sequence) and not isinstance(names, str | bytes)
            if not named or not all(isinstance(name, str) for name in names):
                raise LayoutError(f"{key} = {shown(names)}: give a list of column names, e.g. ['l_shipdate']")
            object.__setattr__(self, key, tuple(names))
        parsed = self.sort_columns
        for key, columns in (("sort_by", parsed), *((key, getattr(self, key)) for key in _COLUMN_LISTS[1:])):
            if twice := next((name for name in columns if columns.count(name) > 1), None):
                raise LayoutError(f"{key} = {shown(list(columns))}: {twice} is listed twice; remove one")
        for name in self.partition_by:
            if name in {*parsed, *self.curve_by, *self.bloom}:
                raise LayoutError(
                    f"{self._place_of(name)}: leave {name} out, because the table is partitioned by it: "
                    "all rows of a file have the same value"
                )
        for column, probability in self.bloom.items():
            if not isinstance(probability, float) or not 0 < probability < 1:
                raise LayoutError(
                    f"bloom[{shown(column)}] = {shown(probability)}: "
                    "a false-positive probability is between 0 and 1, e.g. 0.01"
                )
        object.__setattr__(self, "bloom", dict(self.bloom))

    def _place_of(self, column: str) -> str:
        if column in self.curve_by:
            return "zorder_by" if self.zorder_by else "hilbert_by"
        return "bloom" if column in self.bloom else "sort_by"
