"""A Delta table is opened once per version: planning, checks, writes and removals use one snapshot."""

from __future__ import annotations

import pytest

import prune_assets as pr
from deltalog.snapshot import opening

pytestmark = pytest.mark.spark

LAYOUT = pr.LayoutSpec(sort_by=["id"], partition_by=["part"], files=1)
TOP = "part = 1"


@pytest.fixture
def rows(spark):
    return spark.range(20).selectExpr("id", "id % 2 AS part")


@pytest.fixture
def opened(monkeypatch):
    """The versions that were opened, None for the latest."""
    versions, real = [], opening._open

    def counted(table, version, *rest):
        versions.append(version)
        return real(table, version, *rest)

    monkeypatch.setattr(opening, "_open", counted)
    return versions


@pytest.mark.parametrize(
    ("change", "removed"),
    [
        ({"mode": "append"}, 0),
        ({"mode": "overwrite"}, 2),
        ({"mode": "overwrite", "where": TOP}, 1),
        ({"mode": "replace_partitions"}, 1),
    ],
)
def test_a_write_opens_one_snapshot(rows, tmp_path, opened, change, removed):
    first = pr.write(rows, tmp_path, layout=LAYOUT, format="delta")
    assert opened == []  # the table did not exist yet
    done = pr.write(rows.where(TOP), tmp_path, layout=LAYOUT, **change)
    assert opened == [None]
    assert len(done.removed) == removed
    assert {f"{tmp_path}/{path}" for path in done.removed} <= set(first.files)


def test_a_new_table_that_a_condition_is_for_is_opened_once(rows, tmp_path, opened):
    pr.write(rows.where(TOP), tmp_path, layout=LAYOUT, mode="overwrite", where=TOP, format="delta")
    assert opened == [None]


def test_an_optimize_opens_each_version_once(spark, rows, tmp_path, opened):
    """The versions before and after the rewrite are opened once each, regardless of the number of predicates."""
    for _ in range(2):
        pr.write(rows, tmp_path, layout=LAYOUT, format="delta")
    opened.clear()
    done = pr.optimize(tmp_path, layout=LAYOUT, session=spark, predicates=["id < 3", "id > 7"])
    assert done.version == 2
    assert opened == [None, None]
