"""Convert row ranges to pairs of file and row."""

from __future__ import annotations

import numpy as np


def named_rows(index, ranges):
    """Return {(file, row of the file)}."""
    base = np.zeros(len(index), np.int64)
    for i in range(1, len(index)):
        base[i] = base[i - 1] + index.groups.row_count[i - 1] if index.groups.file[i] == index.groups.file[i - 1] else 0
    return {
        (index.groups.files[index.groups.file[group]].path, int(base[group]) + row)
        for group, start, stop in zip(ranges.row_group, ranges.start, ranges.stop, strict=True)
        for row in range(start, stop)
    }
