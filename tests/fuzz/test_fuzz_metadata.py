"""5,000 mutations of real metadata, as `make fuzz` makes more of them; and the machine finds what it is to find."""

from __future__ import annotations

import pytest
from campaign import run


def test_damaged_metadata_end_in_an_error_or_an_honest_answer():
    result = run(seed=7, count=5_000, seconds=240)
    assert [(v.number, v.target, v.what, v.data) for v in result.violations] == []
    assert result.cases() == 5_000
    for name, tally in result.tallies.items():
        assert tally.cases > 300, name
        assert tally.errors + tally.answers == tally.cases
        assert tally.answers > 0, name
    assert result.tallies["footers"].errors > 500


@pytest.mark.parametrize("number", [8934, 60228, 71445])
def test_a_struct_in_the_place_of_a_list_is_none(number):
    """Cases that were found: the bytes of a struct were read as encoding statistics."""
    result = run(seed=11, first=number, count=1, seconds=60)
    assert [(v.number, v.what) for v in result.violations] == []
    assert result.tallies["footers"].answers == result.cases() == 1
