from __future__ import annotations

import pyarrow as pa
import pytest
from delta_tables import write_table

from prune_assets.planner.explain.plan import plan


@pytest.mark.parametrize(
    ("where", "kept"),
    [("id = NULL", 0), ("id <> id", 0), ("false AND id = 2", 0), ("id IS NULL AND NULL", 0), ("true", 3), ("1 = 1", 3)],
)
def test_what_spark_reads_of_a_delta_table_is_predicted_of_a_constant_too(tmp_path, where, kept):
    write_table(tmp_path / "t", pa.table({"id": [1, 2, 3]}), mode="append")
    report = plan(tmp_path / "t", where=where).report
    assert report.kept.rows == kept
    assert [engine.kept.rows for engine in report.engines] == [kept] * len(report.engines)
