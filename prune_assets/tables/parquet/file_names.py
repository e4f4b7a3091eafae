"""Chosen files of a directory, as a pattern over their names."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from prune_assets.session.queries.table_schema import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def one_of_names(names: Iterable[str]) -> str:
    r"""Return a pattern for `pathGlobFilter` that matches these names alone, at least one.

    What all of them begin and end with is tried once.

    >>> one_of_names(["part-1.parquet", "part-2.parquet"])
    'part-{1,2}.parquet'
    >>> one_of_names(["a,b.parquet"])
    'a,b.parquet'
    """
    different = sorted(set(names))
    if len(different) == 1:
        return escaped(different[0])
    begin = _shared(different)
    rests = [name[begin:] for name in different]
    end = _shared(sorted(rest[::-1] for rest in rests))
    stop = len(different[0]) - end
    choices = [escaped(rest[: len(rest) - end]).replace(",", r"\,") for rest in rests]
    return escaped(different[0][:begin]) + "{" + ",".join(choices) + "}" + escaped(different[0][stop:])


def _shared(names: Sequence[str]) -> int:
    """Return how many letters sorted names have in common at their beginning."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(names[0], names[-1], strict=False))
    return sum(1 for _ in pairs)
