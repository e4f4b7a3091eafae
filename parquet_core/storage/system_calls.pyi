from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]

def entries(descriptor: int) -> tuple[list[str], list[bool]]: ...
def states(descriptor: int, names: Sequence[str], threads: int) -> tuple[list[int], list[int], list[int]]: ...
def read(
    paths: list[str],
    first: Numbers,
    start: Numbers,
    length: Numbers,
    target: Numbers,
    at: Numbers,
    sizes: list[int],
    before: bytes,
    hole: int,
    threads: int,
    arrived: Callable[[bytes, int], None] | None = None,
    listed: Numbers | None = None,
) -> tuple[list[bytes], list[int], list[int]]: ...
