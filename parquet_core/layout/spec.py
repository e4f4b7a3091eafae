"""What is asked of a table's layout, and what is found to be otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from parquet_core.errors import LayoutError


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

    `sort_by`: top-level columns, ascending, nulls first. `bloom`: column to false-positive
    probability. `row_group_rows` and `page_rows` are upper limits in rows, `row_group_bytes` and
    `page_bytes` in buffered bytes; whichever is reached first ends the row group or page.
    `files`: how many files to aim for, None to leave it to Spark.
    """

    sort_by: tuple[str, ...] = ()
    bloom: dict[str, float] = field(default_factory=dict)
    page_rows: int = 20_000
    page_bytes: int = 1 << 20
    row_group_rows: int | None = None
    row_group_bytes: int = 32 << 20
    files: int | None = None
    compression: str = "zstd"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sort_by", tuple(self.sort_by))
        for column, probability in self.bloom.items():
            if not 0 < probability < 1:
                raise LayoutError(
                    f"bloom[{column!r}] = {probability}: a false-positive probability lies between 0 and 1, e.g. 0.01"
                )
        for name in ("page_rows", "page_bytes", "row_group_rows", "row_group_bytes", "files"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise LayoutError(f"{name} = {value}: must be at least 1")
