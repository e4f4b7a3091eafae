"""The tree of errors that are raised on purpose; the packages above add their own.

PruneError
├── MalformedFile          the bytes are not what the Parquet format allows
├── UnsupportedFeature     well formed, but outside of what is understood here
├── StorageFailure         the bytes could not be had, or not be written (exit code 3)
│   ├── StaleListing           a file is gone, or another one, since it was listed
│   ├── UncertainWrite         whether they were written is not known
│   └── UnfinishedWrite        another write of the table is running, or was interrupted
├── StaleTable             a file changed between planning and reading
│   └── CommitConflict         another commit came first, and nothing was written
└── WrongUse               the caller can mend it (exit code 2)
    ├── UnknownColumn          no such column; says which is meant
    ├── TableNotFound          the path is missing or holds no data file
    │   └── NoSuchPath             the storage has nothing at the path
    └── LayoutError            a layout that names what the table lacks, or that cannot be written

A message is one line: the place first (file, row group, column, byte offset), then what is wrong,
then the next step. If a layer above carries out the next step, the last argument is a `Fix`, which layers above word.
"""

from __future__ import annotations

from parquet_core.fix import Fix
from parquet_core.printable import one_line, redacted


class PruneError(Exception):
    """Base of every error of this project; its message is one line, and never holds the secrets of an address.

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
        """The message without the remedy that the last argument gives."""
        return str(self.args[0]) if self.args else ""

    @property
    def remedy(self) -> str:
        """The remedy that the last argument gives, empty if it gives none."""
        fix = self.args[1] if len(self.args) == 2 else None
        return one_line(redacted(str(fix))) if isinstance(fix, Fix) else ""

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}" if self.remedy else super().__str__()


class MalformedFile(PruneError):
    """The bytes are not what the Parquet format allows."""


class UnsupportedFeature(PruneError):
    """The file is well formed but uses what is not understood here."""


class StorageFailure(PruneError):
    """The storage did not deliver the bytes, or did not take them."""


class StaleListing(StorageFailure):
    """A file is gone, or is not the one any more that was listed: its table was changed meanwhile."""


class UncertainWrite(StorageFailure):
    """The storage was asked to take the bytes; whether it did is not known."""


class UnfinishedWrite(StorageFailure):
    """Another write of the table is running, or was interrupted and must be finished first."""


class StaleTable(PruneError):
    """A file is not the one that was planned."""


class CommitConflict(StaleTable):
    """Another commit came first and conflicts with this one; nothing was written."""


class WrongUse(PruneError):
    """The caller asked for something that cannot be; the message says what to change."""


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
    """The layout cannot be written or checked as it is."""
