"""Columns that the shapes of a workload read, on a table that has structs, names with dots, or fewer columns by now."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate, Workload

ROWS = 1_000
# As event logs name them: leaves, back-quoted where they have to be.
ALL = ("`a.b`", "container.feet", "container.size.tall", "id")


@pytest.fixture(scope="module")
def ships(tmp_path_factory):
    path = tmp_path_factory.mktemp("ships") / "t"
    path.mkdir()
    boxes = [{"feet": i, "size": {"tall": i % 7}} for i in range(ROWS)]
    rows = {"id": range(ROWS), "container": boxes, "a": [float(i) for i in range(ROWS)], "a.b": [1] * ROWS}
    pq.write_table(pa.table(rows), path / "0.parquet", use_dictionary=False)
    return str(path)


def whole(table, *columns):
    """Bytes of the columns that a shape says it read."""
    shape = QueryShape(table, "id < ?", columns, 1.0, (RanPredicate("id < 100"),))
    return pr.advise(table, workload=Workload((shape,))).whole


def test_leaves_of_structs_stand_for_their_columns(ships):
    every, only_id = whole(ships), whole(ships, "id")
    assert whole(ships, *ALL, "a") == every
    assert only_id < whole(ships, "container.feet", "id") == whole(ships, "container", "id") < every
    assert whole(ships, "Container.FEET", "id") == whole(ships, "container", "id")


def test_a_dot_in_the_name_of_a_column_is_no_struct(ships):
    quoted = whole(ships, "`a.b`", "id")
    assert whole(ships, "id") < quoted < whole(ships, "a", "`a.b`", "id")
    assert whole(ships, "a.b", "id") == quoted != whole(ships, "a", "id")


def test_a_column_that_is_gone_takes_no_bytes(ships):
    assert whole(ships, "gone", "was.here", "id") == whole(ships, "id")
    assert whole(ships, "container.gone", "id") == whole(ships, "container", "id")


def test_predicates_of_one_shape_read_what_their_own_queries_read(ships):
    def both(*columns):
        predicates = tuple(RanPredicate("id < 100", 1.0, each) for each in columns)
        shape = QueryShape(ships, "id < ?", ("id", "a"), float(len(columns)), predicates)
        return pr.advise(ships, workload=Workload((shape,))).whole

    assert both(("id",), ("a", "id")) == whole(ships, "id") + whole(ships, "a", "id")
    assert both(("id",), None) == both(("id",), ("a", "id"))
    assert both(("id",)) == whole(ships, "id")
