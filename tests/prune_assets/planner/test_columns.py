from __future__ import annotations

import pytest

from parquet_core.errors import WrongUse
from prune_assets.planner.explain.plan import plan
from prune_assets.reading import reader


@pytest.mark.parametrize("columns", ["id", [1], (None, "id")])
def test_columns_that_are_no_list_of_names_are_refused_at_once(columns):
    for call in (lambda: plan("nowhere", where="id = 1", columns=columns), lambda: read(columns)):
        with pytest.raises(WrongUse, match=r"^columns=.*: give .*, columns=\['"):
            call()


def read(columns):
    """There is no session: wrong columns are refused before a session is needed."""
    return reader.read("nowhere", where="id = 1", columns=columns)


def test_a_name_alone_is_shown_as_a_list():
    with pytest.raises(WrongUse, match=r"^columns='id': give a list of names, columns=\['id'\]$"):
        plan("nowhere", where="id = 1", columns="id")
