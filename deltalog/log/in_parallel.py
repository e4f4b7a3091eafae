"""Run work that releases Python's lock (decoding, decompressing, reading) for many items in a few threads, in order."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

# What is done ahead takes memory.
_MOST = 4
_LEAST_FILES = 10_000

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(do: Callable[[Item], Result], items: Sequence[Item], *, files: int) -> Iterator[Result]:
    """Do something with each item, as many at once as there are processors; results and errors come in order.

    `files`: how many the items are about together. Of few nothing is done ahead: threads would take longer.

    >>> list(in_parallel(abs, [-1, 2, -3], files=100_000))
    [1, 2, 3]
    """
    workers = min(_MOST, os.cpu_count() or 1, len(items)) if files >= _LEAST_FILES else 1
    if workers < 2:
        yield from map(do, items)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="delta-log") as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                if len(waiting) > workers:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(do, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
