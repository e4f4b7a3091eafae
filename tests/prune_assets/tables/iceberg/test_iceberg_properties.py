"""Effects of table properties on Iceberg's writer, and ignored properties: the facts in docs/iceberg.md."""

from __future__ import annotations

from itertools import count

import pytest
import spark_packages

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

from tests.prune_assets.tables.iceberg import iceberg_writes as there

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

BLOOM = "write.parquet.bloom-filter"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    counter = count()
    with spark_packages.iceberg_lake(tmp_path_factory.mktemp("lake")) as run:
        yield lambda properties: run(there.written_with, f"lake.db.t{next(counter)}", properties)


@pytest.fixture(scope="module")
def plain(written):
    return written({})


def test_limits_of_pages_are_kept(written, plain):
    assert plain["rows of a page"] > 1000
    assert written({"write.parquet.page-row-limit": 1000})["rows of a page"] == 1000


def test_the_size_of_a_page_is_looked_at_after_a_hundred_rows(written):
    """Pages of wide rows exceed the requested size, unless the size is checked after fewer rows."""
    size = {"write.parquet.page-size-bytes": 1000}
    assert written(size)["rows of a page"] == 100
    assert written(size | {"write.parquet.row-group-check-min-record-count": 10})["rows of a page"] == 10


def test_rows_of_a_row_group_cannot_be_limited(written, plain):
    ours = {"parquet.block.row.count.limit": 5000, "parquet.page.row.count.limit": 100, "parquet.block.size": 100_000}
    assert written(ours) == plain


def test_bounds_of_pages_are_cut_as_asked_and_those_of_row_groups_never(written, plain):
    assert (plain["bytes of a page's bound"], plain["bytes of a row group's bound"]) == (64, 101)
    cut = written({"parquet.columnindex.truncate.length": 8, "parquet.statistics.truncate.length": 8})
    assert (cut["bytes of a page's bound"], cut["bytes of a row group's bound"]) == (8, 101)


def test_a_filter_has_a_mebibyte_unless_the_values_are_counted(written):
    unsized = written({f"{BLOOM}-enabled.column.long": "true"})["filters"]["long"]
    sized = written({f"{BLOOM}-enabled.column.long": "true", f"{BLOOM}-ndv.column.long": 100_000})["filters"]["long"]
    assert 1 << 20 <= unsized < (1 << 20) + 100
    assert 1 << 17 <= sized < (1 << 17) + 100


def test_a_filter_is_left_out_beside_a_dictionary_and_under_another_name(written):
    properties = {
        f"{BLOOM}-enabled.column.k": "true",
        f"{BLOOM}-ndv.column.k": 7,
        f"{BLOOM}-enabled.column.LONG": "true",
    }
    assert not any(written(properties)["filters"].values())
    assert not any(written(properties | {"parquet.enable.dictionary#k": "false"})["filters"].values())
    filters = written(properties | {"parquet.enable.dictionary": "false"})["filters"]
    assert (filters["k"] or 0) > 0
    assert not filters["long"]


def test_files_and_row_groups_end_by_what_is_in_memory(written):
    """Where the rows of a page that is not full are not compressed yet."""
    files, groups = {"write.target-file-size-bytes": 500_000}, {"write.parquet.row-group-size-bytes": 500_000}
    small_pages = {"write.parquet.page-row-limit": 500}
    assert written(files)["files"] > 2 * written(files | small_pages)["files"]
    assert len(written(groups)["row groups"]) > 2 * len(written(groups | small_pages)["row groups"])
