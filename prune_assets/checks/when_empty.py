"""Behavior of tasks, assets and checks without rows to process."""

from __future__ import annotations

from typing import Literal, get_args

from parquet_core.errors import WrongUse

# Result of a task, asset or check without rows. "pass": it succeeds. "skip": it and its downstream steps are skipped.
# "fail": it fails.
WhenEmpty = Literal["pass", "skip", "fail"]


def check_when_empty(choice: object) -> None:
    """Raise WrongUse for an invalid choice.

    >>> check_when_empty("ignore")
    Traceback (most recent call last):
    parquet_core.errors.WrongUse: when_empty = 'ignore': choose 'pass', 'skip' or 'fail'
    """
    if choice not in get_args(WhenEmpty):
        raise WrongUse(f"when_empty = {choice!r}: choose 'pass', 'skip' or 'fail'")
