"""The list of Spark's own function names equals the list of the installed Spark."""

import re

import pytest

from prune_assets.sql.functions.spark_names import SPARK_NAMES


@pytest.mark.spark
def test_spark_has_no_function_that_is_not_listed(spark):
    names = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert len(names) > 300
    assert {name for name in names if re.fullmatch(r"\w+", name)} <= SPARK_NAMES
