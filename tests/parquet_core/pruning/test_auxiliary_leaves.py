"""Lists are as sharp as the OR of their values, isnan() as a comparison with NaN, and both stay one leaf."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.pruning import prune
from parquet_core.pruning.levels import auxiliary_leaves
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Compare, In, IsNaN, IsTruth, Not, Op, Or
from prune_assets.planner.explain.plan import plan
from tests.numbered_cases.cases import check
from tests.prune_assets.planner.named_rows import named_rows

WIDE = pa.int64()


def table(path, *, bloom, dictionary):
    """Write two row groups of ten pages; the bounds of each page enclose 51 of the first and 151 of the second."""
    rows = [number for base in (0, 100) for page in range(10) for number in (base + page, base + 98 - 2 * page)]
    pq.write_table(
        pa.table({"a": pa.array(rows, WIDE)}),
        path,
        row_group_size=20,
        max_rows_per_page=2,
        write_batch_size=1,
        write_page_index=True,
        use_dictionary=dictionary,
        bloom_filter_options={"a": {"ndv": 20, "fpp": 1e-6}} if bloom else None,
    )
    return path


def in_list(*values):
    return In(("a",), pa.array(values, WIDE))


def any_equal(*values):
    return Or(tuple(Compare(("a",), Op.EQ, pa.scalar(value, WIDE)) for value in values))


@pytest.mark.parametrize(("bloom", "dictionary"), [(True, False), (False, True), (True, True), (False, False)])
@pytest.mark.parametrize("values", [(1, 51), (98, 51, 151), (51, 151), (3, 103), (0, 98, 1, 96), tuple(range(30, 49))])
@pytest.mark.parametrize("wrap", [lambda it: it, Not, lambda it: IsTruth(it, Outcomes.FALSE)])
def test_a_list_keeps_what_its_values_keep(tmp_path, bloom, dictionary, values, wrap):
    index = read_dataset(table(tmp_path / "t.parquet", bloom=bloom, dictionary=dictionary))
    listed, equal = (prune(wrap(each(*values)), index) for each in (in_list, any_equal))
    assert named_rows(index, listed.access.ranges) <= named_rows(index, equal.access.ranges)
    assert named_rows(index, listed.access.matches) >= named_rows(index, equal.access.matches)


def test_what_a_filter_lacks_of_a_list_keeps_no_page(tmp_path):
    path = table(tmp_path / "t.parquet", bloom=True, dictionary=False)
    # 51 is within the bounds of every page of the first row group, and 0 within the bounds of one page.
    assert plan(path, where="a IN (0, 51)").report.kept.rows == plan(path, where="a = 0").report.kept.rows == 2
    assert plan(path, where="a IN (0, 51)").report.normalized == "a IN (0, 51)"
    assert [leaf.sql for leaf in plan(path, where="a IN (0, 51)").report.leaves] == ["a IN (0, 51)"]


@pytest.mark.parametrize("wrap", [lambda it: it, Not])
@pytest.mark.parametrize("dictionary", [True, False])
def test_isnan_is_as_sharp_as_a_comparison(tmp_path, wrap, dictionary):
    nan = float("nan")
    floats = pa.array([nan, nan, 1.0, 2.0, nan, 2.0, nan, None, 1.0, None], pa.float64())
    pq.write_table(pa.table({"f": floats}), tmp_path / "t.parquet", row_group_size=2, use_dictionary=dictionary)
    index = read_dataset(tmp_path / "t.parquet")
    equal = IsTruth(Compare(("f",), Op.EQ, pa.scalar(nan)), Outcomes.TRUE)
    called, compared = (prune(wrap(each), index) for each in (IsNaN(("f",)), equal))
    for kind in ("ranges", "matches"):
        found, expected = (named_rows(index, getattr(it.access, kind)) for it in (called, compared))
        assert found == expected
    # Only dictionaries show that the first row group has only NaN, and the second none. If there are nulls,
    # dictionaries are not read for NOT isnan(f), because they cannot exclude nulls.
    proven = {2, 3} if wrap is Not else {0, 1}
    assert {row for _, row in named_rows(index, called.access.matches)} == (proven if dictionary else set())


def test_short_lists_are_split(tmp_path):
    index = read_dataset(table(tmp_path / "t.parquet", bloom=False, dictionary=False))
    columns = {column.path: column for column in index.groups.columns}
    leaves = [in_list(1, 2), in_list(*range(auxiliary_leaves.MAX_VALUES + 1)), in_list(7), *[in_list(1, 2, 3)] * 100]
    found = auxiliary_leaves.auxiliary_leaves(leaves, columns)
    assert len(found.extra) <= auxiliary_leaves.MAX_VALUES_IN_ALL
    assert [number for number, _ in found.lists[:2]] == [0, 3]


@pytest.mark.deep
@pytest.mark.spark
def test_what_the_bounds_of_a_row_group_lack_of_a_list_keeps_no_page(spark, tmp_path):
    p, q = "p" * 64, "q" * 64
    rows = [(f"{p}b",)] * 200 + [(f"{q}b",)] * 200
    # Page bounds are truncated to 64 bytes; row-group bounds are not.
    written = spark.createDataFrame(rows, "s string").coalesce(1).write
    limits = {"parquet.page.row.count.limit": 200, "parquet.enable.dictionary": False}
    written.options(**limits).parquet(str(tmp_path / "t"))
    report = plan(tmp_path / "t", where=f"s IN ('{p}a', '{q}a')").report
    assert report.kept.rows == plan(tmp_path / "t", where=f"s = '{p}a' OR s = '{q}a'").report.kept.rows == 200
    check(spark, tmp_path / "t", f"s IN ('{p}a', '{q}b')")


@pytest.mark.spark
@pytest.mark.parametrize("where", ["a IN (0, 51)", "NOT a IN (0, 51)", "a IN (0, 51, NULL)", "(a IN (98, 51)) IS NULL"])
def test_lists_lose_no_row(spark, tmp_path, where):
    check(spark, table(tmp_path / "t.parquet", bloom=True, dictionary=True), where)
