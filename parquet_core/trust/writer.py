"""The writer of a file, by `created_by`, and the bugs it is known to have in statistics."""

from __future__ import annotations

import re
from typing import NamedTuple

# What parquet-java, and Spark with it, calls itself.
PARQUET_JAVA = "parquet-mr"
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(\S*)")
_BACKPORT = re.compile(r"-cdh5\.(\d{1,9})\.")


class Writer(NamedTuple):
    """An application and its version; `suffix` is what follows the three numbers, such as "-SNAPSHOT"."""

    application: str
    version: tuple[int, int, int]
    suffix: str


def parse_writer(created_by: str) -> Writer | None:
    """Parse `created_by`, None when it does not name an application with a version.

    >>> parse_writer("parquet-mr version 1.8.0-SNAPSHOT (build 0fda28af)")
    Writer(application='parquet-mr', version=(1, 8, 0), suffix='-SNAPSHOT')
    >>> parse_writer("somebody")
    """
    application, rest = application_of(created_by), created_by.partition(" version ")[2]
    match = _VERSION.match(rest.lstrip())
    if match is None or not application:
        return None
    return Writer(application, (int(match[1]), int(match[2]), int(match[3])), match[4])


def application_of(created_by: str) -> str:
    """Return the name of a writer, without its version.

    >>> application_of("DuckDB version v1.2.0 (build 5f5512b827)")
    'DuckDB'
    """
    return created_by.partition(" version ")[0].strip()


def mixes_up_bytes(created_by: str) -> bool:
    """Tell whether deprecated bounds of byte arrays may be those of other values (PARQUET-251).

    parquet-mr before 1.8.0 kept a reference to a buffer that it filled again. Who cannot be told from it
    is taken for it.
    """
    writer = parse_writer(created_by)
    if writer is None:
        return True
    if writer.application != PARQUET_JAVA:
        return False
    backport = _BACKPORT.match(writer.suffix) if writer.version == (1, 5, 0) else None
    if backport is not None:
        return int(backport[1]) < 5
    return writer.version < (1, 8, 0) or (writer.version == (1, 8, 0) and writer.suffix != "")


def counts_nan_in(created_by: str) -> bool:
    """Tell whether bounds of FLOAT and DOUBLE that are no NaN prove that no value is one.

    parquet-mr compares NaN as larger than every number, so that it ends up in the maximum, and writes no column
    index beside it; since 1.18 it leaves NaN out and counts it. Source: DoubleStatistics and
    DoubleColumnIndexBuilder of 1.10.1, 1.12.3, 1.15.2 and 1.17.0.
    """
    writer = parse_writer(created_by)
    if writer is None or writer.application != PARQUET_JAVA or writer.suffix.startswith("-SNAPSHOT"):
        return False
    return (1, 10, 0) <= writer.version < (1, 18, 0)


def mixes_up_nan(created_by: str) -> bool:
    """Tell whether a NaN may have hidden larger or smaller values from the bounds (PARQUET-1225)."""
    writer = parse_writer(created_by)
    return writer is not None and writer.application == "parquet-cpp" and writer.version < (1, 4, 0)
