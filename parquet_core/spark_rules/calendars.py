"""Dates and timestamps that Spark may rebase from the hybrid Julian and Gregorian calendar.

Spark before 3.0 wrote dates in the hybrid calendar. Later versions do so if a setting requires it, and record that in
the footer. Both calendars agree from a first common day on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.format.schema import Physical

if TYPE_CHECKING:
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn

_LEGACY_DATES = "org.apache.spark.legacyDateTime"
_LEGACY_INT96 = "org.apache.spark.legacyINT96"
SPARK_VERSION_KEY = "org.apache.spark.version"
# 1582-10-15 in days since 1970-01-01: the first day that Julian and Gregorian readers agree on.
GREGORIAN_START = -141427
# 1900-01-03 in seconds since 1970-01-01: from here on, both readers also agree on instants, in every time zone. A value
# stored before 1900-01-01 can be read as another instant, up to 1 hour 22 minutes later.
COMMON_TIME_START = -2208988800 + 2 * 86_400
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_rebased(leaf: LeafColumn, provenance: Provenance) -> bool:
    """Return True if Spark rebases a file's dates or timestamps.

    Spark then reads other values than are stored, converted from the hybrid calendar.
    """
    if not _is_calendrical(leaf):
        return False
    key_values = provenance.key_values
    int96 = leaf.physical is Physical.INT96
    if (_LEGACY_INT96 if int96 else _LEGACY_DATES) in key_values:
        return True
    version = key_values.get(SPARK_VERSION_KEY)
    return version is not None and not _is_at_least(version, (3, 1) if int96 else (3, 0))


def may_be_rebased(leaf: LeafColumn, provenance: Provenance) -> bool:
    """Return True if a session setting decides the calendar of a file."""
    return _is_calendrical(leaf) and SPARK_VERSION_KEY not in provenance.key_values


def _is_calendrical(leaf: LeafColumn) -> bool:
    return leaf.type is not None and (pa.types.is_date(leaf.type) or pa.types.is_timestamp(leaf.type))


def _is_at_least(version: str, least: tuple[int, int]) -> bool:
    major, minor, *_ = (*version.split("."), "", "")
    return (_number(major, -1), _number(minor, 0)) >= least


def _number(digits: str, otherwise: int) -> int:
    return int(digits) if digits.isdecimal() and len(digits) < 10 else otherwise


def common_calendar_start(arrow_type: pa.DataType) -> pa.Scalar:
    """Return the first date or timestamp that is equal in both calendars.

    A value that is stored as an earlier one is also read as an earlier one, in either calendar.
    """
    if pa.types.is_date32(arrow_type):
        return scalar_of(GREGORIAN_START, pa.int32()).cast(arrow_type)
    return scalar_of(COMMON_TIME_START * _PER_SECOND[arrow_type.unit], pa.int64()).cast(arrow_type)
