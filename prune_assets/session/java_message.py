"""What an error of Spark or Java says, without its stack."""

from __future__ import annotations

import re

_LONGEST = 300
# `org.apache.spark.SparkException: [FAILED_READ_FILE] Encountered ...`, alone or behind `Caused by`.
_THROWN = re.compile(r"^(?:: |.*?Caused by: )?(?:[a-z_]\w*\.)+[\w$]+: (\S.*)$", re.MULTILINE)
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\] ")


def is_of_spark(error: BaseException) -> bool:
    """Tell whether PySpark or py4j raised an error, without an import of either."""
    return type(error).__module__.partition(".")[0] in {"pyspark", "py4j"}


def java_message(text: str) -> str:
    r"""Return the first line of the innermost message that is Spark's own, else of the innermost of any; at most 300.

    >>> java_message(": a.b.Failed: gone\n\tat a.b\nCaused by: c.E: [BAD_FILE] Of x.\n\tat c\nCaused by: d.E: y")
    '[BAD_FILE] Of x.'
    """
    thrown: list[str] = _THROWN.findall(text)
    conditions = [message[found.start() :] for message in thrown if (found := _CONDITION.search(message))]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    message = next(iter([*conditions[::-1], *thrown[::-1], *lines]), "no message")
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
