"""Errors for unknown layout options suggest the intended option."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest

from parquet_core.errors import LayoutError
from parquet_core.layout.spec import LayoutSpec


def test_a_misspelt_option_is_named_with_the_right_one():
    with pytest.raises(LayoutError, match="unknown key 'sort_bye'; did you mean 'sort_by'"):
        LayoutSpec(sort_bye=["day"])
    with pytest.raises(LayoutError, match="unknown key 'zzz'; known keys are sort_by, "):
        LayoutSpec(zzz=1)
    with pytest.raises(LayoutError, match="did you mean 'bloom'"):
        replace(LayoutSpec(sort_by=["day"]), blooms={})


def test_layouts_are_copied_and_pickled_as_before():
    layout = LayoutSpec(["day"], bloom={"id": 0.01})
    assert copy.copy(layout) == copy.deepcopy(layout) == pickle.loads(pickle.dumps(layout)) == layout
    assert replace(layout, files=3).files == 3
    with pytest.raises(AttributeError):
        layout.files = 3
