"""Messages of Spark and Java errors, without stack traces."""

from __future__ import annotations

import re
from traceback import walk_tb

from prune_assets.errors import SparkFailure
from prune_assets.extras import explained_import

_LONGEST = 300
# `org.apache.spark.SparkException: [FAILED_READ_FILE] Encountered ...`, alone or after `Caused by`.
_THROWN = re.compile(r"^(?:: |.*?Caused by: )?(?:[a-z_]\w*\.)+[\w$]+: (\S.*)$", re.MULTILINE)
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\] ")


def is_of_spark(error: BaseException) -> bool:
    """Return True if an error is from PySpark or py4j, without importing these packages.

    A connection to a Java process that has ended raises Python's OSError, which py4j does not convert.
    """
    if isinstance(error, OSError) and error.__traceback__ is not None:
        *_, (frame, _) = walk_tb(error.__traceback__)
        return _package(frame.f_globals.get("__name__", "")) == "py4j"
    return _package(type(error).__module__) in {"pyspark", "py4j"}


def _package(module: str) -> str:
    return module.partition(".")[0]


def failure_of(error: Exception) -> Exception:
    """Return the package's own error for an error of Spark or Java.

    The result is a SparkFailure, or a MissingPackage for a missing optional package.
    Every other error is returned unchanged. Public functions and commands translate errors only by this function.
    """
    if not is_of_spark(error):
        return explained_import(error)
    if isinstance(error, OSError):
        return SparkFailure(f"Spark failed: its Java does not answer ({error.strerror or error}); start a new session")
    return SparkFailure(f"Spark failed: {java_message(str(error))}")


def java_message(text: str) -> str:
    r"""Return the first line of the innermost message.

    Messages of Spark's own take precedence. At most 300 characters are returned.

    >>> java_message(": a.b.Failed: gone\n\tat a.b\nCaused by: c.E: [BAD_FILE] Of x.\n\tat c\nCaused by: d.E: y")
    '[BAD_FILE] Of x.'
    """
    thrown: list[str] = _THROWN.findall(text)
    conditions = [message[match.start() :] for message in thrown if (match := _CONDITION.search(message))]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    message = next(iter([*conditions[::-1], *thrown[::-1], *lines]), "no message")
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
