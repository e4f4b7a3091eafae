"""Errors of SQL and of Java, in addition to those in `parquet_core.errors` and `deltalog.errors`.

PruneError
├── JavaFailure            no Java that Spark can run on, or Spark did not start (exit code 3)
│   └── SparkFailure           Spark failed; its own error is the cause
├── UnprovenWrite          the committed files of a version do not match the layout
└── WrongUse               the caller can fix it (exit code 2)
    ├── MissingPackage         an optional package is not installed; also an ImportError
    ├── NoRows                 a table has no rows to work on
    ├── PredicateSyntaxError   the predicate is not Spark SQL
    └── PredicateTypeError     operands that cannot be compared
"""

from __future__ import annotations

from parquet_core.errors import PruneError, WrongUse

# If this variable is set, commands show the stack trace of an error, and the log of Spark.
DEBUG_VARIABLE = "PRUNE_DEBUG"


class JavaFailure(PruneError):
    """No Java that Spark can run on, or Spark did not start."""


class SparkFailure(JavaFailure):
    """Spark failed; `__cause__` is Spark's own error with all details."""


class UnprovenWrite(PruneError):
    """The committed files do not match the layout; the message names the rollback."""


class MissingPackage(WrongUse, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""


class NoRows(WrongUse):
    """The table has no rows to work on."""


class PredicateSyntaxError(WrongUse):
    """The predicate is not an expression of Spark SQL."""


class PredicateTypeError(WrongUse):
    """The predicate compares incompatible operands, or is not boolean."""
