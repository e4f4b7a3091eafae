"""Errors of SQL and of Java, beside those of `parquet_core.errors` and `deltalog.errors`.

PruneError
├── JavaFailure            no Java that Spark can run on, or Spark did not start (exit code 3)
│   └── SparkFailure           Spark failed; its own error is the cause
├── UnprovenWrite          a table has a version whose files have not the layout
└── WrongUse               the caller can mend it (exit code 2)
    ├── MissingPackage         an optional package is not installed; also an ImportError
    ├── NoRows                 a table has no rows to work on
    ├── PredicateSyntaxError   the predicate is not Spark SQL
    └── PredicateTypeError     operands that cannot be compared
"""

from __future__ import annotations

from parquet_core.errors import PruneError, WrongUse

# Where it is set, commands show the stack of an error, and what Spark logs of it.
DEBUG_VARIABLE = "PRUNE_DEBUG"


class JavaFailure(PruneError):
    """There is no Java that Spark can run on, or Spark did not start."""


class SparkFailure(JavaFailure):
    """Spark failed; `__cause__` is its own error, with all that Spark says."""


class UnprovenWrite(PruneError):
    """What was committed has not the layout; the message says how to go back."""


class MissingPackage(WrongUse, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""


class NoRows(WrongUse):
    """The table has no rows to work on."""


class PredicateSyntaxError(WrongUse):
    """The predicate is not an expression of Spark SQL."""


class PredicateTypeError(WrongUse):
    """The predicate compares what cannot be compared, or is not boolean."""
