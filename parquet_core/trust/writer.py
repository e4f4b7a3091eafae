"""The writer of a file, as `created_by` names it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, TypeAlias

# Name of parquet-java, and therefore of Spark, in `created_by`.
PARQUET_JAVA = "parquet-mr"
# "parquet-mr version 1.8.0-SNAPSHOT (build 0fda28af)", "DuckDB version v1.2.0 (..)", "ClickHouse v25.5.1.2782-stable".
_VERSIONED = re.compile(r"(.*?)(?:\s+version\s+v?|\s+v)(\d{1,9}(?:\.\d{1,9}){0,3})(\S*)", re.DOTALL)

Version: TypeAlias = tuple[int, ...]


class WriterVersion(NamedTuple):
    """An application and its version.

    `version`: at least three numbers. None if `created_by` has no version.
    `suffix`: text that follows the numbers, such as "-SNAPSHOT".
    """

    application: str
    version: Version | None
    suffix: str = ""

    @property
    def is_known(self) -> bool:
        """True if both the application and its version are known."""
        return bool(self.application) and self.version is not None


@lru_cache(maxsize=256)
def parse_writer(created_by: str) -> WriterVersion:
    """Parse `created_by`.

    >>> parse_writer("parquet-mr version 1.8.0-SNAPSHOT (build 0fda28af)")
    WriterVersion(application='parquet-mr', version=(1, 8, 0), suffix='-SNAPSHOT')
    >>> parse_writer("ClickHouse v25.5.1.2782")
    WriterVersion(application='ClickHouse', version=(25, 5, 1, 2782), suffix='')
    >>> parse_writer("Polars").version
    """
    match = _VERSIONED.match(created_by.strip())
    if match is None:
        return WriterVersion(application_of(created_by), None)
    version = tuple(map(int, match[2].split(".")))
    return WriterVersion(match[1].strip(), version + (0,) * (3 - len(version)), match[3])


def application_of(created_by: str) -> str:
    """Return the name of a writer, without its version.

    >>> application_of("DuckDB version v1.2.0 (build 5f5512b827)")
    'DuckDB'
    """
    return created_by.partition(" version ")[0].strip()


def counts_nan_in(created_by: str) -> bool:
    """True if non-NaN bounds of floats prove the absence of NaN.

    parquet-mr orders NaN above every number, so NaN becomes the maximum, and parquet-mr then writes no column index.
    Since 1.18, parquet-mr excludes NaN from bounds and counts it. Source: DoubleStatistics and DoubleColumnIndexBuilder
    of 1.10.1, 1.12.3, 1.15.2 and 1.17.0.
    """
    writer = parse_writer(created_by)
    if writer.application != PARQUET_JAVA or writer.version is None or writer.suffix.startswith("-SNAPSHOT"):
        return False
    return (1, 10, 0) <= writer.version < (1, 18, 0)
