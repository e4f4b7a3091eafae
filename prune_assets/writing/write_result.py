"""What a write did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["append", "overwrite", "replace_partitions", "error"]


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write added: `files` in the order of the sort key; `removed` are those that it replaced, summaries too.

    `version`: that of a Delta table which has the rows, None of a plain one.
    """

    table: str
    files: tuple[str, ...]
    rows: int
    bytes: int
    row_groups: int
    removed: tuple[str, ...]
    version: int | None = None
