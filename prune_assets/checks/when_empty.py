"""The choice for tasks, assets and checks that have no rows to work on."""

from __future__ import annotations

from typing import Literal, get_args

from parquet_core.errors import WrongUse

# "pass": it succeeds. "skip": it is left out, and so is what follows. "fail": it fails.
WhenEmpty = Literal["pass", "skip", "fail"]


def check_when_empty(choice: object) -> None:
    """Raise WrongUse for any other value.

    >>> check_when_empty("ignore")
    Traceback (most recent call last):
    parquet_core.errors.WrongUse: when_empty = 'ignore': choose 'pass', 'skip' or 'fail'
    """
    if choice not in get_args(WhenEmpty):
        raise WrongUse(f"when_empty = {choice!r}: choose 'pass', 'skip' or 'fail'")
