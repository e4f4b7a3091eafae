"""Errors about Delta logs.

DeltaError                     (a PruneError)
├── MalformedLog               a file of the log violates the protocol; also a MalformedFile
├── BrokenLog                  a version cannot be rebuilt: a log file is missing; also a MalformedFile
├── UnsupportedTable           the table has an unsupported feature, which is named; also an UnsupportedFeature
├── OutsideTable               the log names a file outside the table; also an UnsupportedFeature
├── NoSuchVersion              the requested version or time does not exist; also a WrongUse
├── NotADeltaTable             the Delta log is missing; also a TableNotFound
├── TableExists                the table to create already exists; also a WrongUse
├── RefusedCommit              the change is invalid, or the table forbids it; also a WrongUse
├── UncertainCommit            it is unknown whether the commit was written; also a StorageFailure
└── (also a CommitConflict)    another commit came first and conflicts with this one
    ├── ProtocolChanged            it changed the protocol
    ├── MetadataChanged            it changed schema, partitioning or properties
    ├── ConcurrentAppend           it added rows that this commit should have read
    ├── ConcurrentDeleteRead       it removed a file that this commit has read
    ├── ConcurrentDeleteDelete     it removed a file that this commit removes
    ├── ConcurrentTransaction      the same application made it
    ├── ConcurrentDomain           it changed the same metadata domain
    ├── LogCleanedUp               the log was cleaned up since its version was read
    └── CommitContention           other commits came first too many times

A message is one line: the file or version first (with the line of a commit), then the problem, then the next step.
"""

from __future__ import annotations

from parquet_core.errors import (
    CommitConflict,
    MalformedFile,
    PruneError,
    StorageFailure,
    TableNotFound,
    UnsupportedFeature,
    WrongUse,
)


class DeltaError(PruneError):
    """The base class of errors about a Delta log.

    >>> import tempfile
    >>> import deltalog
    >>> try:
    ...     deltalog.open_snapshot(tempfile.mkdtemp())
    ... except deltalog.DeltaError as error:
    ...     print(type(error).__name__)
    NotADeltaTable
    """


class MalformedLog(DeltaError, MalformedFile):
    """A file of the log violates the protocol."""


class BrokenLog(DeltaError, MalformedFile):
    """A version cannot be rebuilt: a file of the log is missing."""


class UnsupportedTable(DeltaError, UnsupportedFeature):
    """The table uses an unsupported feature."""


class OutsideTable(DeltaError, UnsupportedFeature):
    """The log names a file outside the table that is not allowed."""


class NoSuchVersion(DeltaError, WrongUse):
    """The requested version or time does not exist."""


class NotADeltaTable(DeltaError, TableNotFound):
    """The Delta log is missing."""


class TableExists(DeltaError, WrongUse):
    """The table to create already exists."""


class RefusedCommit(DeltaError, WrongUse):
    """The change is invalid, or the table forbids it; nothing was written."""


class UncertainCommit(DeltaError, StorageFailure):
    """The storage failed, and it is unknown whether the commit was written."""


class ProtocolChanged(DeltaError, CommitConflict):
    """The other commit changed the protocol."""


class MetadataChanged(DeltaError, CommitConflict):
    """The other commit changed schema, partitioning or properties."""


class ConcurrentAppend(DeltaError, CommitConflict):
    """The other commit added rows that this commit should have read."""


class ConcurrentDeleteRead(DeltaError, CommitConflict):
    """The other commit removed a file that this commit has read."""


class ConcurrentDeleteDelete(DeltaError, CommitConflict):
    """The other commit removed a file that this commit removes."""


class ConcurrentTransaction(DeltaError, CommitConflict):
    """The same application made the other commit."""


class ConcurrentDomain(DeltaError, CommitConflict):
    """The other commit changed the same metadata domain."""


class LogCleanedUp(DeltaError, CommitConflict):
    """The log was cleaned up after the version was read."""


class CommitContention(DeltaError, CommitConflict):
    """Other commits came first too many times."""
