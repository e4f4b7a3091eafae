"""Delta tables whose checkpoint and data files use newer forms of the format."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import write_table
from newer_format import drop_paths, end_in

import deltalog
import prune_assets as pr
from deltalog.errors import MalformedLog

ROWS = pa.table({"id": range(300), "day": [f"d{i // 100}" for i in range(300)]})


@pytest.fixture
def table(tmp_path):
    """A table with three files and a checkpoint; returns the paths of both."""
    for part in range(3):
        write_table(str(tmp_path), ROWS.slice(100 * part, 100), mode="append")
    deltalog.write_checkpoint(str(tmp_path))
    (checkpoint,) = (tmp_path / "_delta_log").glob("*.checkpoint.parquet")
    for commit in (tmp_path / "_delta_log").glob("*.json"):
        commit.unlink()
    return tmp_path, checkpoint


def test_chunks_without_a_path_in_a_checkpoint_and_in_data_files(table):
    place, checkpoint = table
    count = pq.read_metadata(checkpoint).num_columns
    drop_paths(checkpoint, range(count))
    with pytest.raises(OSError, match="deserialize thrift"):
        pq.read_metadata(checkpoint)
    (data, *_) = sorted(place.glob("*.parquet"))
    drop_paths(data, range(2))
    made = pr.plan(str(place), where="id = 150")
    assert [file.verdict for file in made.files].count("skip") == 2
    assert pr.count(str(place), where="id >= 50") == 250
    assert pr.read_arrow(str(place), where="id >= 0").sort_by("id") == ROWS


def test_a_checkpoint_with_a_footer_of_a_newer_form_is_named(table):
    place, checkpoint = table
    end_in(checkpoint, b"PARX")
    with pytest.raises(MalformedLog, match="newer than PAR1, which is not supported") as raised:
        pr.plan(str(place), where="id = 150")
    assert "\n" not in str(raised.value)
    assert "damaged" not in str(raised.value)
