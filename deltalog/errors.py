"""Every error about a Delta log that is raised on purpose.

DeltaError                     (a PruneError)
├── MalformedLog               a file of the log is not what the protocol allows; also a MalformedFile
├── BrokenLog                  the files of the log do not add up: a version is missing; also a MalformedFile
├── UnsupportedTable           a table feature that is not understood, named; also an UnsupportedFeature
├── NoSuchVersion              the version or time asked for is not there; also a WrongUse
└── NotADeltaTable             there is no log; also a TableNotFound

A message is one line: the file or version first (with the line of a commit), then what is wrong, then the
next step.
"""

from __future__ import annotations

from parquet_core.errors import MalformedFile, PruneError, TableNotFound, UnsupportedFeature, WrongUse


class DeltaError(PruneError):
    """Base of what goes wrong with a Delta log."""


class MalformedLog(DeltaError, MalformedFile):
    """A file of the log is not what the protocol allows."""


class BrokenLog(DeltaError, MalformedFile):
    """The files of the log do not make a version: one is missing."""


class UnsupportedTable(DeltaError, UnsupportedFeature):
    """The table uses a feature that is not understood."""


class NoSuchVersion(DeltaError, WrongUse):
    """The table has no such version, or none at that time."""


class NotADeltaTable(DeltaError, TableNotFound):
    """There is no Delta log."""
