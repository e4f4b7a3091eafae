"""Small row groups cause a warning if larger ones would reduce their number considerably."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.layout.spec import Severity
from prune_assets.checks.health.health import check_files

ROWS = 120_000


def found(table):
    return [finding for finding in check_files(table) if finding.code == "files.small_row_groups"]


def test_row_groups_that_pyarrow_flushes_into_directories_are_small(tmp_path):
    days = np.random.default_rng(1).integers(0, 20, ROWS * 10)
    rows = pa.table({"day": days, "x": np.arange(ROWS * 10)})
    pq.write_to_dataset(rows, tmp_path / "small", ["day"], max_rows_per_group=8_192, row_group_size=8_192)
    (finding,) = found(tmp_path / "small")
    groups = sum(pq.read_metadata(path).num_row_groups for path in (tmp_path / "small").glob("*/*"))
    size = sum(path.stat().st_size for path in (tmp_path / "small").glob("*/*"))
    assert groups > 200
    assert finding.severity is Severity.WARN
    assert finding.message == (
        f"{groups} row groups in 20 files are small, on average {ROWS * 10 // groups:,} rows and "
        f"{size / groups / 1024:.1f} KiB"
    )
    assert "min_rows_per_group=100_000" in finding.remedy
    pq.write_to_dataset(rows, tmp_path / "large", ["day"], min_rows_per_group=100_000)
    assert found(tmp_path / "large") == []


@pytest.mark.parametrize(
    ("groups", "rows", "width", "small"),
    [
        pytest.param(101, 10, 1, True, id="a merge into one saves a hundred"),
        pytest.param(100, 10, 1, False, id="it would save 99"),
        pytest.param(110, 10_000, 1, False, id="ten thousand rows are enough"),
        pytest.param(101, 10, 120_000, False, id="a megabyte is enough"),
    ],
)
def test_row_groups_are_small_by_rows_and_bytes(tmp_path, groups, rows, width, small):
    noise = np.random.default_rng(2).bytes(width)
    values = pa.array([noise] * (groups * rows), pa.binary())
    pq.write_table(
        pa.table({"x": values}), tmp_path / "0.parquet", row_group_size=rows, use_dictionary=False, compression="none"
    )
    assert bool(found(tmp_path)) == small


def test_files_of_one_row_group_each_are_small_files_alone(tmp_path):
    for i in range(120):
        pq.write_table(pa.table({"x": [i]}), tmp_path / f"{i}.parquet")
    assert found(tmp_path) == []
