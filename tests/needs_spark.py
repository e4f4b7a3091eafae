"""Marks for tests of features that not every supported Spark version has."""

from __future__ import annotations

import pyspark
import pytest

from prune_assets.spark.spark_versions import release

VERSION = release(pyspark.__version__)


def needs_spark(major, minor, why):
    """Skip a test on Spark versions before `major.minor`; `why` is the feature that they lack."""
    return pytest.mark.skipif((major, minor) > VERSION, reason=f"{why} since Spark {major}.{minor}")
