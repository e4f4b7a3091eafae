"""Result of a write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from parquet_core.errors import WrongUse

Mode = Literal["append", "overwrite", "replace_partitions", "error"]


def check_mode(mode: object, where: object | None = None) -> None:
    """Raise WrongUse for an unknown mode, and for `where` with a mode other than overwrite.

    >>> check_mode("overwrit")
    Traceback (most recent call last):
    parquet_core.errors.WrongUse: mode='overwrit': choose one of 'append', 'overwrite', 'replace_partitions', 'error'
    """
    if mode not in get_args(Mode):
        raise WrongUse(f"mode={mode!r}: choose one of {', '.join(map(repr, get_args(Mode)))}")
    if where is not None and mode != "overwrite":
        raise WrongUse(
            f"where: only for mode 'overwrite' (--mode overwrite), not {mode!r}; to write only some rows, filter them "
            "first: df.where(..), or --select"
        )


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Files and figures of a write.

    `files`: new files in the order of the sort key.
    `removed`: replaced files, including summary files.
    `version`: Delta version or Iceberg snapshot that has the rows. None for a plain table.
    """

    table: str
    files: tuple[str, ...]
    rows: int
    bytes: int
    row_groups: int
    removed: tuple[str, ...]
    version: int | None = None

    def figures(self, *, prefix: str = "") -> dict[str, int]:
        """Return the figures of the new files, by name."""
        figures = {"files": len(self.files), "row_groups": self.row_groups, "bytes": self.bytes}
        return {f"{prefix}{name}": value for name, value in figures.items()}
