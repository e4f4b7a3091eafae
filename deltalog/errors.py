"""Every error about a Delta log that is raised on purpose.

DeltaError                     (a PruneError)
├── MalformedLog               a file of the log is not what the protocol allows; also a MalformedFile
├── BrokenLog                  the files of the log do not add up: a version is missing; also a MalformedFile
├── UnsupportedTable           a table feature that is not understood, named; also an UnsupportedFeature
├── OutsideTable               the log names a file outside of its table; also an UnsupportedFeature
├── NoSuchVersion              the version or time asked for is not there; also a WrongUse
├── NotADeltaTable             there is no log; also a TableNotFound
├── TableExists                a table is to be created where one is; also a WrongUse
├── RefusedCommit              what is to be committed is not sound, or the table forbids it; also a WrongUse
├── UncertainCommit            whether the commit is there is not known; also a StorageFailure
└── (also a CommitConflict)    another commit came first and the two do not go together
    ├── ProtocolChanged            it changed the protocol
    ├── MetadataChanged            it changed schema, partitioning or properties
    ├── ConcurrentAppend           it added rows that this one should have read
    ├── ConcurrentDeleteRead       it removed a file that this one has read
    ├── ConcurrentDeleteDelete     it removed a file that this one removes
    ├── ConcurrentTransaction      it is of the same application
    ├── ConcurrentDomain           it speaks of the same domain
    ├── LogCleanedUp               the log was cleaned up since its version was read
    └── CommitContention           other commits came first too many times

A message is one line: the file or version first (with the line of a commit), then what is wrong, then the
next step.
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
    """A file of the log is not what the protocol allows."""


class BrokenLog(DeltaError, MalformedFile):
    """The files of the log do not make a version: one is missing."""


class UnsupportedTable(DeltaError, UnsupportedFeature):
    """The table uses a feature that is not understood."""


class OutsideTable(DeltaError, UnsupportedFeature):
    """The log names a file that does not lie below its table, and the user did not allow it."""


class NoSuchVersion(DeltaError, WrongUse):
    """The table has no such version, or none at that time."""


class NotADeltaTable(DeltaError, TableNotFound):
    """There is no Delta log."""


class TableExists(DeltaError, WrongUse):
    """There is a table already."""


class RefusedCommit(DeltaError, WrongUse):
    """What is to be committed is not sound, or the table forbids it; nothing was written."""


class UncertainCommit(DeltaError, StorageFailure):
    """The storage failed so that nobody can tell whether the commit is there."""


class ProtocolChanged(DeltaError, CommitConflict):
    """The other commit changed what writers must understand."""


class MetadataChanged(DeltaError, CommitConflict):
    """The other commit changed schema, partitioning or properties."""


class ConcurrentAppend(DeltaError, CommitConflict):
    """The other commit added rows that this one should have read."""


class ConcurrentDeleteRead(DeltaError, CommitConflict):
    """The other commit removed a file that this one has read."""


class ConcurrentDeleteDelete(DeltaError, CommitConflict):
    """The other commit removed a file that this one removes."""


class ConcurrentTransaction(DeltaError, CommitConflict):
    """The other commit is of the same application."""


class ConcurrentDomain(DeltaError, CommitConflict):
    """The other commit speaks of the same domain."""


class LogCleanedUp(DeltaError, CommitConflict):
    """The log was cleaned up since the version was read."""


class CommitContention(DeltaError, CommitConflict):
    """Other commits came first, again and again."""
