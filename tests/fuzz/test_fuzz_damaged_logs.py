"""Some of the damaged logs of `make fuzz`; 1,000 more are in the tests of the log."""

from __future__ import annotations

import pytest
from campaign import run


@pytest.mark.deep
def test_damaged_logs_end_in_an_error_or_an_honest_snapshot():
    result = run(seed=3, count=60, seconds=240, ground="log")
    assert [(v.number, v.target, v.what) for v in result.violations] == []
    assert result.cases() == 60
    assert set(result.tallies) == {"commits", "classic", "parts", "sidecars", "compacted"}
    for tally in result.tallies.values():
        assert tally.errors + tally.answers == tally.cases > 0
    assert sum(tally.errors for tally in result.tallies.values()) > 0
    assert sum(tally.answers for tally in result.tallies.values()) > 0
