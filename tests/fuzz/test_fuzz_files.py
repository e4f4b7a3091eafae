"""Some of the damaged files of `make fuzz`."""

from __future__ import annotations

import pytest
from campaign import run


@pytest.mark.deep
def test_damaged_files_end_in_our_errors_or_in_answers():
    result = run(seed=3, count=300, seconds=240, ground="files")
    assert [(v.number, v.target, v.what) for v in result.violations] == []
    assert result.cases() == 300
    for name, tally in result.tallies.items():
        assert tally.cases > 50, name
        assert tally.errors + tally.answers == tally.cases
        assert tally.answers > 0, name
        assert tally.errors > 0, name
