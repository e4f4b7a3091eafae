"""Counts and bounds that contradict each other, as logs and manifests claim them of files of ten rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from parquet_core.trust.count_rules import ClaimedBounds, consistent_bounds

NAN = float("nan")
ABSENT = -1


def consistent(low=1.0, high=2.0, *, values=10, nulls=ABSENT, nans=ABSENT, bounded=None, nan_bound=False):
    """The lower bound, upper bound, null count and NaN count that are left."""
    bounded = low is not None or high is not None if bounded is None else bounded
    claimed = ClaimedBounds(
        pa.array([low], pa.float64()),
        pa.array([high], pa.float64()),
        np.array([bounded]),
        np.array([nan_bound]),
        *(np.array([count], np.int64) for count in (10, values, nulls, nans)),
    )
    bounds = consistent_bounds(claimed)
    return tuple(side[0].as_py() for side in (bounds.lower, bounds.upper, bounds.null_count, bounds.nan_count))


CASES = {
    "nothing is contradicted": ({"nulls": 3, "nans": 2}, (1.0, 2.0, 3, 2)),
    "counts are absent": ({}, (1.0, 2.0, None, None)),
    "a null count beyond the rows": ({"nulls": 11, "nans": 0}, (1.0, 2.0, None, 0)),
    "a null count below 0": ({"nulls": -7}, (1.0, 2.0, None, None)),
    "a NaN count beyond the values": ({"nulls": 3, "nans": 8}, (1.0, 2.0, 3, None)),
    "all null, and bounds": ({"nulls": 10, "nans": 0}, (None, None, None, None)),
    "all null, and one bound": ({"high": None, "nulls": 10}, (None, None, None, None)),
    "all null, and a bound that was not decoded": (
        {"low": None, "high": None, "nulls": 10, "bounded": True},
        (None, None, None, None),
    ),
    "all null": ({"low": None, "high": None, "nulls": 10, "nans": 0}, (None, None, 10, 0)),
    "all NaN, and bounds": ({"nans": 10}, (None, None, None, None)),
    "all null or NaN, and bounds": ({"nulls": 4, "nans": 6}, (None, None, None, None)),
    "all null or NaN, and a NaN as bound": (
        {"low": None, "high": None, "bounded": True, "nan_bound": True, "nulls": 4, "nans": 6},
        (None, None, 4, 6),
    ),
    "no NaN, and a NaN as bound": ({"high": None, "nan_bound": True, "nulls": 0, "nans": 0}, (1.0, None, 0, None)),
    "fewer values than rows": ({"values": 6, "nulls": 0}, (1.0, 2.0, None, None)),
    "fewer values than rows, all null, and bounds": ({"values": 6, "nulls": 6}, (None, None, None, None)),
    "more values than rows": ({"values": 30, "nulls": 0}, (1.0, 2.0, None, None)),
    "no count of values, all null, and bounds": ({"values": ABSENT, "nulls": 10}, (None, None, None, None)),
    "crossed bounds": ({"low": 2.0, "high": 1.0, "nulls": 0, "nans": 0}, (None, None, 0, 0)),
}


@pytest.mark.parametrize(("claims", "left"), CASES.values(), ids=CASES)
def test_what_is_left_of_claims(claims, left):
    assert consistent(**claims) == left
