"""Features that are newer than common readers are reported, with the readers that fail or prune nothing."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from newer_format import change_metadata, drop_paths, encode_pages, set_logical_type
from slow_thrift import I32, LIST, STRUCT

import prune_assets as pr
from prune_assets.checks.health.health import check_files
from tests.numbered_cases.cases import COLUMN_ORDERS, edit_footer, put

ROWS = pa.table({"x": [float(i) for i in range(1_000)], "y": [float(i) for i in range(1_000)], "id": range(1_000)})


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "0.parquet"
    pq.write_table(ROWS, found, row_group_size=250, use_dictionary=False, write_page_index=True)
    return found


def order_by(path, *members):
    orders = [[[member, STRUCT, []]] for member in members]
    edit_footer(path, lambda footer: put(footer, COLUMN_ORDERS, LIST, (STRUCT, orders)))


def found(path, code):
    return [finding for finding in check_files(path.parent) if finding.code == code]


def test_an_ordinary_table_uses_nothing_newer(path):
    assert found(path, "files.newer_format") == found(path, "statistics.float_order") == []


def test_floats_by_ieee_order_are_a_note_that_names_who_ignores_them(path):
    order_by(path, 2, 2, 1)
    assert [group.verdict for group in pr.plan(str(path), where="x BETWEEN 600 AND 610").files[0].row_groups] == [
        "skip",
        "skip",
        "scan",
        "skip",
    ]
    (finding,) = found(path, "statistics.float_order")
    assert (finding.severity, finding.columns) == ("info", ("x", "y"))
    assert "in 4 of 4 row groups: Spark up to 4.3 and pyarrow up to 26 ignore them" in finding.message
    assert len(next(ds.dataset(path).get_fragments()).split_by_row_group(ds.field("x") < 10)) == 4  # so pyarrow does


def test_of_several_files_the_note_says_how_many(path):
    pq.write_table(ROWS, path.with_name("1.parquet"))
    order_by(path, 2, 1, 1)
    (finding,) = found(path, "statistics.float_order")
    assert finding.columns == ("x",)
    assert "in 1 of 2 files" in finding.message


def test_an_order_of_integers_by_ieee_is_not_believed(path):
    order_by(path, 1, 1, 2)
    assert found(path, "statistics.float_order") == []
    assert [finding.columns for finding in found(path, "statistics.untrusted")] == [("id",)]


@pytest.mark.parametrize(
    ("change", "said", "columns"),
    [
        (lambda path: encode_pages(path, 0, 10), "encoding 10 (ALP) in 4 of 4 row groups", ("x",)),
        (lambda path: encode_pages(path, 1, 12), "encoding 12 in 4 of 4 row groups", ("y",)),
        (lambda path: change_metadata(path, 2, 2, LIST, (I32, [70])), "an encoding from 62 on", ("id",)),
        (lambda path: change_metadata(path, 0, 4, I32, 8), "codec 8 in 4 of 4 row groups", ("x",)),
        (lambda path: set_logical_type(path, 25), "a column has a future logical type", ()),
        (lambda path: drop_paths(path, [0, 1, 2]), "column chunks have no path (path_in_schema)", ()),
    ],
)
def test_what_spark_does_not_read_is_a_warning(path, change, said, columns):
    change(path)
    (finding,) = found(path, "files.newer_format")
    assert finding.message.startswith(said)
    assert "Spark up to 4.3" in finding.message
    assert (finding.severity, finding.columns) == ("warn", columns)


def test_a_table_without_rows_or_files_of_other_writers_is_fine(tmp_path):
    pq.write_table(ROWS.slice(0, 0), tmp_path / "0.parquet")
    assert found(tmp_path / "0.parquet", "files.newer_format") == []
