"""Columns that are not read without Spark: refused together, or left out by name."""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from prune_assets.cli import main
from tests.deltalog.log_writer import Log, add, field

CHAR = field("c", "string", __CHAR_VARCHAR_TYPE_STRING="char(5)")
LEFT_OUT = b"prune_assets.columns_left_out"


@pytest.fixture
def table(tmp_path):
    """A Delta table with a CHAR, a VARIANT, and a column of type VOID, which files do not store."""
    log = Log(tmp_path / "t")
    log.create([("id", "long"), CHAR, ("nothing", "void"), ("v", "variant")])
    variant = {"value": b"\x00", "metadata": b"\x01\x00\x00"}
    pq.write_table(pa.table({"id": [1, 2], "c": ["ab", "cd"], "v": [variant, None]}), log.path / "1.parquet")
    log.commit(add("1.parquet", size=(log.path / "1.parquet").stat().st_size))
    return str(log)


def test_all_that_are_not_read_are_named_at_once(table):
    for read in (pr.read_arrow, pr.read_batches):
        with pytest.raises(UnsupportedFeature, match=r"column 'c': .*, column 'v': .*; skip_unsupported=True") as error:
            read(table)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("given", [{}, {"where": "id > 5"}, {"where": "id = 2"}, {"order_by": "id DESC", "limit": 1}])
def test_the_rest_is_read_on_request(given, table):
    """The returned columns and the reasons for the others do not depend on the rows that are read."""
    found = pr.read_arrow(table, skip_unsupported=True, **given)
    assert found.schema.names == ["id", "nothing"]
    assert [*json.loads(found.schema.metadata[LEFT_OUT])] == ["c", "v"]
    if not given:
        assert found.to_pylist() == [{"id": 1, "nothing": None}, {"id": 2, "nothing": None}]
        batches = pr.read_batches(table, skip_unsupported=True)
        assert batches.schema.metadata == found.schema.metadata
        assert batches.read_all().equals(found, check_metadata=True)


def test_a_column_that_is_named_is_refused_all_the_same(table):
    for name in ("c", "v"):
        with pytest.raises(UnsupportedFeature, match=f"^column '{name}': ") as error:
            pr.read_arrow(table, columns=["id", name], skip_unsupported=True)
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    assert pr.read_arrow(table, columns=["id"], skip_unsupported=True).schema.metadata is None
    assert pr.count(table) == 2


def test_nothing_is_said_of_a_table_that_is_read_whole(tmp_path):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    assert pr.read_arrow(str(tmp_path), skip_unsupported=True).schema.metadata is None


def test_a_table_without_a_column_that_is_read_is_refused(tmp_path):
    pq.write_table(pa.table({"at": pa.array([1], pa.time32("s"))}), tmp_path / "a.parquet")
    with pytest.raises(UnsupportedFeature, match=r"column 'at': .*let Spark read the table"):
        pr.read_arrow(str(tmp_path), skip_unsupported=True)


def test_a_column_that_one_file_stores_in_another_type_is_left_out_too(tmp_path):
    pq.write_table(pa.table({"id": [1], "x": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": [2], "x": ["a"]}), tmp_path / "1.parquet")
    with pytest.raises(UnsupportedFeature, match=r"column 'x': .*1\.parquet stores it as another type"):
        pr.read_arrow(str(tmp_path))
    found = pr.read_arrow(str(tmp_path), skip_unsupported=True)
    assert found.to_pylist() == [{"id": 1}, {"id": 2}]
    assert "1.parquet" in json.loads(found.schema.metadata[LEFT_OUT])["x"]


def test_head_shows_the_rest_and_says_what_is_missing(table):
    done = CliRunner().invoke(main, ["head", table, "--json"])
    assert done.exit_code == 0
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"id": 1, "nothing": None},
        {"id": 2, "nothing": None},
    ]
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [
        "column 'c' is left out",
        "column 'v' is left out",
    ]
