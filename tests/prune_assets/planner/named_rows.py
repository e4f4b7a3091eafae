"""Which rows of which files a list of ranges names."""

from __future__ import annotations

import numpy as np


def named_rows(index, ranges):
    """Return {(file, row of the file)}."""
    base = np.zeros(len(index), np.int64)
    for i in range(1, len(index)):
        base[i] = base[i - 1] + index.row_count[i - 1] if index.file[i] == index.file[i - 1] else 0
    return {
        (index.files[index.file[group]].path, int(base[group]) + row)
        for group, start, stop in zip(ranges.row_group, ranges.start, ranges.stop, strict=True)
        for row in range(start, stop)
    }
