from __future__ import annotations

import pytest

from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS


def normalized(sql, *, replaced=""):
    semantics = SparkSemantics()
    return lower(sql, FIXTURE_COLUMNS, semantics=semantics, is_builtin=lambda name: name != replaced).normalized


@pytest.mark.parametrize("replaced", ["year", "month"])
def test_a_function_of_the_session_is_no_part_of_a_date(replaced):
    """If the session replaces `year`, any row may have the year 2024."""
    assert "2024-03" not in normalized("year(day) = 2024 and month(day) = 3", replaced=replaced)


@pytest.mark.parametrize(
    "sql", ["year(day) = 2024 and month(day) = 3", "extract(y from day) = 2024 and extract(mon from day) = 3"]
)
def test_fields_are_joined_under_every_name(sql):
    assert "day BETWEEN DATE '2024-03-01' AND DATE '2024-03-31'" in normalized(sql)
