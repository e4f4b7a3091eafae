"""One file with 2,000 columns and 50 row groups, and therefore a long footer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS, ROW_GROUPS, ROWS = 2_000, 50, 10


def wide_file() -> Path:
    """Return the path of the file; created once."""
    path = Path(".bench") / "wide.parquet"
    if not path.is_file():
        part = path.with_suffix(".part")
        numbers = np.arange(COLUMNS * ROW_GROUPS * ROWS).reshape(COLUMNS, -1)
        table = pa.table({f"column_{i}": row for i, row in enumerate(numbers)})
        pq.write_table(table, part, row_group_size=ROWS, write_page_index=True)
        part.rename(path)
    return path
