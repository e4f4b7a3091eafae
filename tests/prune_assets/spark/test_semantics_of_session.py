from __future__ import annotations

from dataclasses import replace

import pyspark
import pytest

from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.sql.semantics import SparkSemantics


@pytest.mark.spark
def test_the_defaults_are_those_of_a_new_session(spark):
    assert semantics_of(spark.newSession()) == SparkSemantics.of(pyspark.__version__, time_zone="UTC")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("key", "value", "changed"),
    [
        ("spark.sql.ansi.enabled", "false", {"ansi": False}),
        ("spark.sql.caseSensitive", "true", {"case_sensitive": True}),
        ("spark.sql.session.timeZone", "Europe/Berlin", {"time_zone": "Europe/Berlin"}),
        ("spark.sql.parser.escapedStringLiterals", "true", {"legacy_literals": True}),
        ("spark.sql.legacy.literal.pickMinimumPrecision", "false", {"minimum_precision": False}),
    ],
)
def test_the_settings_of_a_session_are_read(spark, key, value, changed):
    session = spark.newSession()
    session.conf.set(key, value)
    new = SparkSemantics.of(pyspark.__version__, time_zone="UTC")
    assert semantics_of(session) == replace(new, **changed)
    is_other = set(changed) != {"time_zone"} and replace(new, **changed) != new
    assert semantics_of(session).reads_alike(new) != is_other
