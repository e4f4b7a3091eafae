"""Errors that are raised on purpose; the packages above add their own.

PruneError
├── MalformedFile          the bytes violate the Parquet format
├── UnsupportedFeature     well formed, but not supported here
├── StorageFailure         the bytes could not be read or written (exit code 3)
│   ├── StaleListing           a file was deleted or changed after it was listed
│   ├── UncertainWrite         it is unknown whether the bytes were written
│   └── UnfinishedWrite        another write of the table is running, or was interrupted
├── StaleTable             a file changed between planning and reading
│   └── CommitConflict         another commit came first, and nothing was written
└── WrongUse               the caller can correct it (exit code 2)
    ├── UnknownColumn          no such column; the message suggests one
    ├── TableNotFound          the path is missing or holds no data file
    │   └── NoSuchPath             the storage has nothing at the path
    └── LayoutError            a layout that names a missing column, or that cannot be written

A message is one line: the place (file, row group, column, byte offset), then the problem, then the next step. If a
layer above carries out the next step, the last argument is a `Fix`, whose text comes from the layers above.
"""

from __future__ import annotations

from parquet_core.fix import Fix
from parquet_core.printable import one_line, redacted


class PruneError(Exception):
    """Base of all errors of this project.

    The message is one line, and never contains credentials from a URL.

    >>> import prune_assets as pr
    >>> try:
    ...     pr.plan("no/such/table", where="id = 1")
    ... except pr.PruneError as error:
    ...     print(error)
    no/such/table: no such file or directory; check the path
    """

    def __init__(self, *parts: object) -> None:
        super().__init__(*(one_line(redacted(part)) if isinstance(part, str) else part for part in parts))

    @property
    def problem(self) -> str:
        """The message without its remedy: the first argument of the exception."""
        return str(self.args[0]) if self.args else ""

    @property
    def remedy(self) -> str:
        """The text of the `Fix` in the second argument; empty if there is no `Fix`."""
        fix = self.args[1] if len(self.args) == 2 else None
        return one_line(redacted(str(fix))) if isinstance(fix, Fix) else ""

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}" if self.remedy else super().__str__()


class MalformedFile(PruneError):
    """The bytes violate the Parquet format."""


class UnsupportedFeature(PruneError):
    """The file is well formed but uses a feature that is not supported here."""


class StorageFailure(PruneError):
    """The storage could not read or write the bytes."""


class StaleListing(StorageFailure):
    """A file was deleted or changed after its table was listed."""


class UncertainWrite(StorageFailure):
    """A write was requested, and it is unknown whether the bytes were written."""


class UnfinishedWrite(StorageFailure):
    """Another write of the table is running, or an interrupted write must be finished first."""


class StaleTable(PruneError):
    """A file changed between planning and reading."""


class CommitConflict(StaleTable):
    """Another commit came first and conflicts with this one; nothing was written."""


class WrongUse(PruneError):
    """The request of the caller is impossible; the message names the correction."""


class UnknownColumn(WrongUse):
    """The predicate or the layout names a column that the table lacks."""


class TableNotFound(WrongUse):
    """The path is missing or holds no data file."""


class NoSuchPath(TableNotFound):
    """The storage has no file or directory at `path`."""

    path = ""

    @classmethod
    def of(cls, path: str, problem: str = "no such object; check the path") -> NoSuchPath:
        """Return the error for a path."""
        error = cls(f"{path}: {problem}")
        error.path = path
        return error


class LayoutError(WrongUse):
    """The layout cannot be written or checked in its present form."""
