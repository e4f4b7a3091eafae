"""5,000 mutations of real metadata, as in `make fuzz`, and a test that the machine finds planted errors."""

from __future__ import annotations

import pytest
from campaign import run


@pytest.mark.deep
def test_damaged_metadata_end_in_an_error_or_an_honest_answer():
    result = run(seed=7, count=5_000, seconds=240)
    assert [(v.number, v.target, v.what, v.data) for v in result.violations] == []
    assert result.cases() == 5_000
    for name, tally in result.tallies.items():
        assert tally.cases > 300, name
        assert tally.errors + tally.answers == tally.cases
        assert tally.answers > 0, name
    assert result.tallies["footers"].errors > 500


@pytest.mark.deep
@pytest.mark.parametrize("number", [8934, 60228, 71445])
def test_a_struct_in_the_place_of_a_list_is_none(number):
    """Cases that were found: the bytes of a struct were read as encoding statistics."""
    result = run(seed=11, first=number, count=1, seconds=60)
    assert [(v.number, v.what) for v in result.violations] == []
    assert result.tallies["footers"].answers == result.cases() == 1


@pytest.mark.deep
@pytest.mark.parametrize(("number", "target"), [(73816, "filters"), (124436, "page indexes")])
def test_what_is_given_twice_or_as_the_number_of_none(number, target):
    """Cases that were found: a union emptied by its second occurrence; a null count of -2 ** 63 on a null page."""
    result = run(seed=21, first=number, count=1, seconds=60)
    assert [(v.number, v.what) for v in result.violations] == []
    assert result.tallies[target].cases == result.cases() == 1
