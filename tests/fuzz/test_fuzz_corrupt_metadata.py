"""A few of the files of `make fuzz ARGS="contradictions"`; without the check the machine finds some."""

from __future__ import annotations

import numpy as np
import pytest
from planted import run

from parquet_core.dataset import opening


@pytest.mark.deep
def test_files_that_contradict_themselves_lose_no_row():
    result = run(seed=3, count=25)
    assert [(number, finding) for number, finding, _ in result.findings] == []
    assert result.files == 25
    assert result.cases > 200


@pytest.mark.deep
def test_what_is_believed_wrongly_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(opening, "doubts_about", lambda footers: np.zeros(len(footers), np.uint8))
    result = run(seed=3, count=60, keep=tmp_path)
    assert result.findings
    assert all(path.exists() for _, _, path in result.findings)
