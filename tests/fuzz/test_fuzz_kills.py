"""A few writers are killed; `make fuzz` kills hundreds."""

from __future__ import annotations

import hadoop_aws
import kills
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.deep]


@pytest.mark.parametrize("layout", kills.FORMATS)
def test_a_table_is_as_before_a_write_or_after_it(layout):
    with kills.place_of(layout) as table:
        if table is None:
            pytest.skip(hadoop_aws.MISSING)
        result = kills.run(table, layout, kills=2, seed=5)
    assert result.findings == []
    assert result.old + result.new + result.between == result.kills == 2


def test_a_mixture_is_found(tmp_path, monkeypatch):
    begun = iter([(1, 0)])
    monkeypatch.setattr(kills, "_kill_one", lambda *_: next(begun))
    monkeypatch.setattr(kills, "seen", lambda _: kills.State({(0, 0): kills.ROWS}))
    assert kills.run(str(tmp_path), "parquet", kills=1, seed=5).findings
