from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import WrongUse
from prune_assets.planner.plan import plan


def test_the_plan_of_a_split_is_that_of_its_row_groups(tmp_path):
    for name in ("a", "b"):
        pq.write_table(pa.table({"x": range(1_000)}), tmp_path / f"{name}.parquet", row_group_size=100)
    made = plan(str(tmp_path), where="x between 250 and 420")
    path = str(tmp_path / "b.parquet")
    third = pq.read_metadata(path).row_group(2).column(0)
    begins = third.dictionary_page_offset or third.data_page_offset
    split = made.within(path, begins, 2 * third.total_compressed_size)
    assert split.row_groups.tolist() == [2, 3]
    (report,) = [file for file in made.files if file.path == path]
    for i, group in enumerate(split.row_groups.tolist()):
        assert split.access.ranges.of(i).tolist() == [list(pair) for pair in report.row_groups[group].ranges]
        assert split.access.matches.of(i).tolist() == [list(pair) for pair in report.row_groups[group].matches]
    assert made.within(path, 0, 4).row_groups.tolist() == []
    with pytest.raises(WrongUse, match="no data file of"):
        made.within("elsewhere.parquet", 0, 1)
