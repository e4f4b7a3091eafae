"""The layout that is asked for (`LayoutSpec`), and what a check finds (`Finding`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from parquet_core.errors import LayoutError
from parquet_core.printable import shown

# The codecs of Spark's Parquet writer; it needs a library of its own for the last two.
CODECS = ("zstd", "snappy", "gzip", "lz4", "lz4_raw", "none", "uncompressed", "brotli", "lzo")


class Severity(StrEnum):
    """How much a finding matters: an `error` breaks a promise of the layout."""

    INFO = "info"
    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about a table's layout that somebody should know.

    `code` is stable and made for filters; `location` names file, row group and column where they
    apply; `remedy` is empty only for severity `info`.
    """

    code: str
    severity: Severity
    location: str
    message: str
    remedy: str = ""


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
    `sort_by`: top-level columns, ascending, nulls first, inside of each partition.
    `bloom`: columns that get a bloom filter, each with its false-positive probability.
    `row_group_rows`, `page_rows`: upper limits in rows; `row_group_bytes`, `page_bytes`: in buffered bytes. Whichever
    is reached first ends the row group or page.
    `files`: how many files to aim for, None to choose by the size of the data.
    `compression`: a codec of Spark's writer.

    A check proves order, bloom filters, column indexes and the limits in rows; the limits in bytes,
    `files`, `compression` and `partition_by` guide the writer and are not proven.
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

    def __post_init__(self) -> None:
        self._check_columns()
        for name in ("page_rows", "page_bytes", "row_group_rows", "row_group_bytes", "files"):
            value = getattr(self, name)
            optional = name in {"row_group_rows", "files"}
            if not (value is None and optional) and (not isinstance(value, int) or value < 1):
                raise LayoutError(f"{name} = {shown(value)}: must be a whole number of at least 1")
        if self.compression not in CODECS:
            raise LayoutError(f"compression = {shown(self.compression)}: choose one of {', '.join(CODECS)}")

    def _check_columns(self) -> None:
        """Check the columns that are named, and keep them apart from what the caller may change."""
        if not isinstance(self.bloom, Mapping):
            raise LayoutError(
                f"bloom = {shown(self.bloom)}: give each column its false-positive probability, e.g. 0.01"
            )
        for key in ("sort_by", "partition_by"):
            names = getattr(self, key)
            named = isinstance(names, Sequence) and not isinstance(names, str | bytes)
            if not named or not all(isinstance(name, str) for name in names):
                raise LayoutError(f"{key} = {shown(names)}: give a list of column names, e.g. ['l_shipdate']")
            object.__setattr__(self, key, tuple(names))
        for name in self.partition_by:
            if name in self.sort_by or name in self.bloom:
                raise LayoutError(
                    f"partition_by = {name}: stands in sort_by or bloom too, and all rows of a file have the same "
                    "value of it; leave it out there"
                )
        for column, probability in self.bloom.items():
            if not isinstance(probability, float) or not 0 < probability < 1:
                raise LayoutError(
                    f"bloom[{shown(column)}] = {shown(probability)}: "
                    "a false-positive probability lies between 0 and 1, e.g. 0.01"
                )
        object.__setattr__(self, "bloom", dict(self.bloom))
