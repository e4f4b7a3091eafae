"""Tables in newer versions of the format: plans work, rows are correct, and refusals are one line."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from newer_format import change_metadata, drop_paths, encode_pages, retype_pages, set_logical_type
from slow_thrift import I32

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from prune_assets.cli import main

ROWS = pa.table(
    {
        "x": [float(i) for i in range(1_000)],
        "id": range(1_000),
        "s": [{"a": i} for i in range(1_000)],
        "l": [[i] for i in range(1_000)],
    }
)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "0.parquet"
    options = {"write_page_index": True, "data_page_size": 400, "write_batch_size": 50}
    pq.write_table(ROWS, found, row_group_size=250, use_dictionary=False, **options)
    return found


def test_a_table_of_files_with_and_without_paths_is_one(path):
    pq.write_table(ROWS, path.with_name("1.parquet"), row_group_size=250)
    drop_paths(path, range(4))
    table = str(path.parent)
    made = pr.plan(table, where="id = 700 AND s.a = 700")
    assert [sum(group.verdict != "skip" for group in file.row_groups) for file in made.files] == [1, 1]
    assert pr.count(table, where="id < 600 AND x > 3") == 2 * 596
    assert pr.read_arrow(table, where="s.a = 700").to_pylist() == 2 * ROWS.slice(700, 1).to_pylist()
    assert pr.audit(table).findings == ()


def _alp(path):
    encode_pages(path, 0, 10)


def _page_type(path):
    retype_pages(path, 0, 4)


def _codec(path):
    change_metadata(path, 0, 4, I32, 9)


NEWER = [
    (_alp, "encoding 10 (ALP) is not supported by this version"),
    (_page_type, "page type 4 is not supported by this version"),
    (_codec, "compression codec 9 is not read by this version"),
]


@pytest.mark.parametrize(("change", "said"), NEWER)
def test_statistics_of_values_that_are_not_read_still_skip(path, change, said):
    change(path)
    table = str(path)
    (file,) = pr.plan(table, where="x = 5").files
    assert [group.verdict for group in file.row_groups] == ["selection", "skip", "skip", "skip"]
    assert pr.count(table, where="x < 0") == 0
    assert pr.count(table, where="x IS NOT NULL") == 1_000
    assert pr.read_arrow(table, where="id < 5", columns=["id", "s"]) == ROWS.select(["id", "s"]).slice(0, 5)
    for read in (pr.count, pr.read_arrow):
        with pytest.raises(UnsupportedFeature) as raised:
            read(table, where="x = 5")
        assert f"column 'x': {said}" in str(raised.value)
        assert "damaged" not in str(raised.value)
    assert not any("damaged" in finding.message for finding in pr.audit(table).findings)


@pytest.mark.parametrize(("change", "said"), NEWER)
@pytest.mark.parametrize("command", [["inspect"], ["explain", "--where", "x = 5"], ["check"], ["audit"]])
def test_no_command_calls_it_damaged(path, change, said, command):
    change(path)
    result = CliRunner().invoke(main, [command[0], str(path), *command[1:]])
    assert result.exit_code in {0, 1}, result.output
    assert "damaged" not in result.output
    assert "Traceback" not in result.output


def test_a_type_to_come_keeps_data_and_is_named(path):
    set_logical_type(path, 25)
    table = str(path)
    made = pr.plan(table, where="x = 5 AND id = 700")
    assert [group.verdict for group in made.files[0].row_groups] == ["skip", "skip", "selection", "skip"]
    assert "type of logical type 25 is not supported by this version" in str(made.report)
    assert pr.count(table, where="id >= 700") == 300
    with pytest.raises(UnsupportedFeature, match="column 'x': type of logical type 25 is not supported"):
        pr.read_arrow(table, where="id = 700")
