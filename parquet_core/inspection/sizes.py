"""Size classes of files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Upper limits of the size classes in bytes. Files below 32 MiB are small for Spark's readers.
SIZES = tuple(size << 20 for size in (1, 8, 32, 128, 512, 1024))


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Files of one size class.

    `below`: upper limit of the class in bytes, None for the largest. The class begins at the limit of the class before.
    """

    below: int | None
    files: int
    bytes: int


def size_classes(size: NDArray[np.int64]) -> tuple[SizeClass, ...]:
    """Count files and their bytes in each size class.

    >>> [(found.below, found.files, found.bytes) for found in size_classes(np.array([3, 5, 2 << 30])) if found.files]
    [(1048576, 2, 8), (None, 1, 2147483648)]
    """
    class_of = np.searchsorted(SIZES, size, side="right")
    files = np.bincount(class_of, minlength=len(SIZES) + 1).tolist()
    return tuple(SizeClass(below, files[i], int(size[class_of == i].sum())) for i, below in enumerate([*SIZES, None]))
