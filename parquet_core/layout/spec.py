"""The layout that is asked for (`LayoutSpec`), and what a check finds (`Finding`)."""

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

# The codecs of Spark's Parquet writer; it needs a library of its own for the last two.
CODECS = ("zstd", "snappy", "gzip", "lz4", "lz4_raw", "none", "uncompressed", "brotli", "lzo")
# The codecs with a level that parquet-java takes from its options, and the highest.
LEVELS = {"zstd": 22, "gzip": 9}
# A curve through more columns narrows none of them.
MOST_CURVE_COLUMNS = 5
_COLUMN_LISTS = ("sort_by", "zorder_by", "hilbert_by", "partition_by")
_COUNTS = ("page_rows", "page_bytes", "row_group_bytes", "target_file_bytes")
# A bloom filter skips a whole row group or nothing, so data with filters get so many, unless these become too small.
_FEWEST_ROW_GROUPS = 8
_FEWEST_ROWS = 100_000
_OPTIONAL_COUNTS = ("row_group_rows", "files", "column_index_truncate_length", "statistics_truncate_length")


class Severity(StrEnum):
    """How much a finding matters: an `error` breaks a promise of the layout.

    >>> from prune_assets import Severity
    >>> [str(severity) for severity in Severity], Severity.WARN == "warn"
    (['info', 'warn', 'error'], True)
    """

    INFO = "info"
    WARN = "warn"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """The place in the order of severities, 0 for info."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about a table that somebody should know.

    >>> from prune_assets import Finding, Severity
    >>> finding = Finding("files.small", Severity.WARN, "lake/orders", "12 of 14 files are small", "merge them")
    >>> finding.severity == "warn", finding.code.partition(".")[0]
    (True, 'files')

    `code`: stable, and made for filters.
    `location`: file, row group and column, where they apply.
    `remedy`: what to do; empty only for severity `info`. `columns`: those that it is about, where it is about columns.
    `fix`: the remedy as a value, for tools with words of their own; None if `remedy` is text alone.
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
        """Return the finding with another remedy."""
        return replace(self, remedy="", fix=fix)


def refuse_unknown(keys: Iterable[object], known: Sequence[str], error: type[WrongUse] = LayoutError) -> None:
    """Raise an error that names all keys that are not known, and says which are meant.

    >>> refuse_unknown(["sort_bye", "files", "zz"], ["sort_by", "files"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    parquet_core.errors.LayoutError: unknown key 'sort_bye'; did you mean 'sort_by'? unknown key 'zz'; known are ...
    """
    unknown = {shown(key): get_close_matches(str(key), known, n=1) for key in keys if key not in known}
    said = [f"unknown key {key}; did you mean {close[0]!r}?" for key, close in unknown.items() if close]
    if others := [key for key, close in unknown.items() if not close]:
        said.append(f"unknown key{'s' * (len(others) > 1)} {' and '.join(others)}; known are {', '.join(known)}")
    if said:
        raise error(" ".join(said))


@dataclass(frozen=True, slots=True)
class LayoutSpec:
    """The layout that a write produces and a check proves.

    >>> from prune_assets import LayoutSpec
    >>> layout = LayoutSpec(sort_by=["day", "id"], bloom={"id": 0.01}, row_group_rows=100_000)
    >>> layout.sort_by
    ('day', 'id')

    What cannot be is refused at once:

    >>> LayoutSpec(sort_by="day")
    Traceback (most recent call last):
    parquet_core.errors.LayoutError: sort_by = 'day': give a list of column names, e.g. ['l_shipdate']

    `partition_by`: top-level columns whose values part the table into directories; none of them is in `sort_by`.
    `sort_by`: top-level columns in the words of SQL: `"day"`, `"amount DESC"`, `"id ASC NULLS LAST"`; without them
    ascending, and as in Spark nulls come first ascending and last descending. A name that ends like that stands in
    backquotes. The order holds inside of each partition.
    `zorder_by`, `hilbert_by`: two to five columns instead of `sort_by`, when queries filter by each of them alone: rows
    lie along a Z-order or Hilbert curve through the ranks of their values, so that skew does no harm.
    `bloom`: columns that get a bloom filter, each with its false-positive probability.
    `dictionary`: columns for which dictionary encoding is on (true) or off (false); for the others the writer decides.
    It is off for the columns of `bloom`: parquet-java writes no bloom filter of a dictionary-encoded column chunk.
    `row_group_rows`, `page_rows`: upper limits in rows. Whichever limit is reached first ends the row group or page.
    Without `row_group_rows`, a write with bloom filters aims for eight row groups, each of at least 100,000 rows, since
    a filter skips a whole row group or nothing.
    `row_group_bytes`, `page_bytes`: upper limits in buffered bytes.
    `files`: how many files a write aims for, None to aim for files of `target_file_bytes` each. Each partition has at
    least one; `optimize` gives each partition that it rewrites its share of `files`, by bytes.
    `target_file_bytes`: the size to aim for where `files` does not say how many.
    `compression`: a codec of Spark's writer.
    `compression_level`: of zstd (1 to 22) and gzip (1 to 9); None for the writer's own.
    `column_index_truncate_length`, `statistics_truncate_length`: bytes after which the bounds of texts are cut, in
    column indexes and in the statistics of row groups; None for the writer's own, which is 64 and never.

    A check proves the order inside of each partition, bloom filters, column indexes and the limits in rows, and along a
    curve how many row groups an equality keeps; a check of the whole table also proves that it is partitioned by the
    columns of `partition_by`, if the layout names some. It does not prove the limits in bytes, encodings and
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
        """Refuse what is no option, and say which is meant."""
        refuse_unknown(options, tuple(cls.__dataclass_fields__))
        return object.__new__(cls)

    def rows_of_row_group(self, rows: int) -> int | None:
        """Return the most rows of a row group in data of so many rows; None where only bytes limit it.

        >>> LayoutSpec(sort_by=["day"], bloom={"id": 0.01}).rows_of_row_group(4_000_000)
        500000
        """
        if self.row_group_rows is not None or not self.bloom:
            return self.row_group_rows
        return max(_FEWEST_ROWS, -(-rows // _FEWEST_ROW_GROUPS))

    @property
    def sort_keys(self) -> tuple[SortKey, ...]:
        """The columns of `sort_by`, with direction and place of nulls."""
        return tuple(map(parse_sort_key, self.sort_by))

    @property
    def sort_columns(self) -> tuple[str, ...]:
        """The names of the columns in `sort_by`."""
        return tuple(key.column for key in self.sort_keys)

    @property
    def curve_by(self) -> Sequence[str]:
        """The columns of the curve, of whichever kind."""
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
            raise LayoutError(f"compression_level = {shown(level)}: of {self.compression}, {allowed}")
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
        """Check the columns that are named, and keep them apart from what the caller may change."""
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
                raise LayoutError(f"{key} = {shown(list(columns))}: {twice} stands twice; leave one out")
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
