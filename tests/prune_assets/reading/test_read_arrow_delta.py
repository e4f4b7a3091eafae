"""`read_arrow` of Delta tables that others wrote: the rows that `read` returns through Spark."""

from __future__ import annotations

import pytest

import prune_assets as pr
from tests.peers.delta_matrix import GOLDEN
from tests.peers.plain_rows import plain_rows

# With partitions, deletion vectors, column mapping and names that are escaped.
TABLES = [
    "basic-dv-no-checkpoint",
    "dv-partitioned-with-checkpoint",
    "data-reader-escaped-chars",
    "data-skipping-basic-stats-all-types-columnmapping-name",
]


@pytest.mark.spark
@pytest.mark.parametrize("name", TABLES)
def test_rows_are_those_of_read(spark, name):
    table = GOLDEN / name
    if not table.is_dir():
        pytest.skip(f"{table} is not there")
    wanted = pr.read(spark, str(table), where="true").toArrow().to_pylist()
    assert wanted
    assert plain_rows(pr.read_arrow(str(table)).to_pylist()) == plain_rows(wanted)
    assert pr.count(str(table)) == len(wanted)
