"""What is made of the files of a table, made again where they come or go meanwhile."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from parquet_core.errors import StaleListing

if TYPE_CHECKING:
    from collections.abc import Callable

Made = TypeVar("Made")
_ATTEMPTS = 3


def made_steadily(attempt: Callable[[], Made], *, is_steady: Callable[[Made], bool] = lambda _: True) -> Made:
    """Return what an attempt makes; one that meets StaleListing, or is not steady, is followed by another.

    Of the third one the result is returned, or the error raised, whatever it is.

    >>> numbers = iter([1, 2, 3, 4])
    >>> made_steadily(lambda: next(numbers), is_steady=lambda number: number > 1)
    2
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(StaleListing):
            made = attempt()
            if is_steady(made):
                return made
    return attempt()
