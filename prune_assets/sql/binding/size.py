"""The limit on the nodes of a predicate: cases inside cases multiply, and shared parts count each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.predicate import children_of
from prune_assets.sql.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_core.predicate import Predicate

MAX_NODES = 3_000


def check_size(predicates: Iterable[Predicate]) -> None:
    """Raise Refusal when the predicates together have too many nodes; counting stops there."""
    stack, count = list(predicates), 0
    while stack:
        count += 1
        if count > MAX_NODES:
            raise Refusal(f"its cases multiply to more than {MAX_NODES:,} parts", "write the cases with AND and OR")
        stack.extend(children_of(stack.pop()))
