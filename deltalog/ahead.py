"""Work that lets other threads run, done a little ahead of who takes the results: decoding, decompressing, reading."""

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

Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(do: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Do something with each item, as many at once as there are processors; results and errors come in order.

    >>> list(ahead(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    workers = min(_MOST, os.cpu_count() or 1, len(items))
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
