"""The reported seconds of a plan include only planning."""

from __future__ import annotations

import time

import pyarrow as pa
import pyarrow.parquet as pq

import prune_assets as pr
from prune_assets.planner import plan_read

WAIT = 5.0


def test_what_a_session_is_asked_once_is_not_among_them(tmp_path, monkeypatch):
    """A new session takes seconds to resolve its time zone; these seconds are not counted."""
    pq.write_table(pa.table({"id": range(10)}), tmp_path / "a.parquet")
    asked = plan_read.semantics_for

    def slowly(*given):
        time.sleep(WAIT)
        return asked(*given)

    monkeypatch.setattr(plan_read, "semantics_for", slowly)
    assert 0 < pr.plan(tmp_path, where="id < 3").report.seconds < WAIT
