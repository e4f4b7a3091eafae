"""A few cases of `make fuzz ARGS=joins`, and a test that the machine finds a planted error."""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
import pytest
from joins import machine

from prune_assets.planner import join_keys


@pytest.mark.spark
def test_a_read_with_keys_has_every_row_of_sparks_join(spark):
    result = machine.run(spark, seed=3, count=20, seconds=10)
    assert result.findings == []
    assert result.cases > 0
    assert result.counts["joins with a partner"] > 0


@pytest.mark.deep
@pytest.mark.spark
def test_hundreds_of_reads_with_keys_have_every_row_of_sparks_joins(spark):
    result = machine.run(spark, seed=4, count=200, seconds=180)
    assert result.findings == []
    assert min(result.counts[f"{how} joins"] for how in machine.HOWS) > 0
    assert result.counts["joins with a partner"] > result.cases / 4
    assert result.counts["read_arrow compared"] > result.cases / 4


@pytest.mark.deep
def test_a_key_that_is_lost_is_found():
    def forgetful(column, values):
        return listed(column, values.slice(1))

    listed = join_keys._listed
    with patch.object(join_keys, "_listed", forgetful):
        assert machine.run(None, seed=2, count=200, seconds=120).findings != []


def test_a_number_always_draws_the_same_joins():
    import random

    from joins.cases import columns_of, random_case

    columns = columns_of(pa.table({"n": [1, 2, None], "s": ["a", "b", "\u00e9"], "t": [{"d": 1.5}] * 3}))
    assert sorted(columns) == [("n",), ("s",), ("t", "d")]
    texts = [[random_case(random.Random(seed), columns).text for _ in range(3)] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
