"""Advice on a column that skips little of the data that other conditions keep, and on columns with few values."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prune_assets.planner.explain.column_advice import LEAST_PARTITION_BYTES
from prune_assets.planner.explain.plan import plan
from prune_assets.report.console import to_text
from prune_assets.tables.small_files import SMALL_BYTES

DAYS, PARTS, ROWS = 10, 8, 4_000  # ROWS of one row group; each day has 8 row groups
OF_A_DAY = PARTS * ROWS
DAY = "day = DATE '2024-01-05'"
FEW = 8


def events(order):
    """Return rows of ten days, sorted by `order` within each day.

    Columns that no predicate names have about 190 KiB per row group.
    """
    draw = np.random.default_rng(3)
    count = DAYS * OF_A_DAY
    first = np.datetime64("2024-01-01")
    table = pa.table(
        {
            "day": np.repeat(first + np.arange(DAYS), OF_A_DAY),
            "user": draw.integers(0, 5_000, count),
            "name": [f"u{i:04}" for i in draw.integers(0, 5_000, count)],
            "price": draw.exponential(10, count),
            "status": draw.integers(0, FEW, count) * 1_000,
            "state": draw.integers(0, FEW, count),
            "label": [f"label {i}" for i in draw.integers(0, FEW, count)],
            "mostly": np.where(np.arange(count) % 100 == 0, 10**6, draw.integers(0, 100, count)),
            **{f"payload_{i}": draw.integers(0, 1 << 62, count) for i in range(4)},
        }
    )
    return table.sort_by([(name, "ascending") for name in ("day", *order)])


def written(path, table, **options):
    options = {"row_group_size": ROWS, "use_dictionary": ["label", "status"], "compression": "none", **options}
    pq.write_table(table, path, **options)
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def by_day(folder):
    return written(folder / "by_day.parquet", events(()))


@pytest.fixture(scope="module")
def by_day_and_user(folder):
    return written(folder / "by_day_and_user.parquet", events(("user",)))


def advice_of(table, where, **options):
    return plan(table, where=where, **options).report.advice


def test_a_column_that_skips_nothing_of_what_the_others_keep_is_advised(by_day, by_day_and_user):
    where = f"{DAY} AND user = 4242"
    report = plan(by_day, where=where).report
    assert report.skipped_fraction == pytest.approx(0.9, abs=0.01)
    assert report.advice.why == "the condition on user skips 0 of the 8 row groups that the other conditions keep"
    sort = report.advice.remedies[0]
    assert sort.kind == "sort_by"
    assert sort.said.startswith("add user to the sort key, after the columns that skip already: ")
    really = plan(by_day_and_user, where=where).report
    assert really.kept.bytes / 2 <= sort.kept_bytes <= really.kept.bytes * 2
    assert really.advice is None
    assert "Why not more: the condition on user" in to_text(report)


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (f"user BETWEEN 100 AND 110 AND {DAY}", "user"),
        (f"{DAY} AND name = 'u0042'", "name"),
        ("day BETWEEN DATE '2024-01-03' AND DATE '2024-01-05' AND user IN (5, 6)", "user"),
        (f"{DAY} AND user = 42 AND state <> 3", "user"),
    ],
)
def test_it_is_advised_however_it_is_written(by_day, where, name):
    assert f"the condition on {name} skips 0 of the" in advice_of(by_day, where).why


@pytest.mark.parametrize(
    "where",
    [
        DAY,
        "day < DATE '2024-01-04'",
        f"{DAY} AND user >= 0",
        f"{DAY} AND user > 2500",
        f"{DAY} AND user <> 7",
        f"{DAY} AND NOT (name = 'u0042')",
        f"{DAY} AND user IS NOT NULL",
        f"{DAY} AND (user = 7 OR price > 3)",
        f"{DAY} AND user = price",
        f"{DAY} AND mostly < 100",
        f"{DAY} AND price < 30",
        f"{DAY} AND state = 3",
        f"{DAY} AND status = 3000",
        f"{DAY} AND label = 'label 3'",
        f"{DAY} AND user = 9999",
    ],
)
def test_ordinary_predicates_on_a_table_by_day_get_no_advice(by_day, where):
    assert advice_of(by_day, where) is None


@pytest.mark.parametrize(
    "where",
    [
        f"{DAY} AND user = 4242",
        "day BETWEEN DATE '2024-01-03' AND DATE '2024-01-05' AND user = 4242",
        f"{DAY} AND user BETWEEN 100 AND 700",
        "user = 4242",
        f"{DAY} AND user < 100 AND state = 3",
    ],
)
def test_a_table_in_the_order_of_its_predicates_gets_no_advice(by_day_and_user, where):
    assert advice_of(by_day_and_user, where) is None


def test_little_that_is_read_is_not_worth_advice(folder, by_day):
    where = f"{DAY} AND user = 4242"
    assert advice_of(by_day, where, columns=["user"]) is None, "less than a mebibyte"
    large = written(folder / "large.parquet", pq.read_table(by_day), row_group_size=OF_A_DAY // 2)
    assert advice_of(large, where) is None, "two row groups"


@pytest.mark.parametrize("where", ["state = 3", "label = 'label 3'", "status = 3000", "state IN (1, 2)"])
def test_a_small_table_is_not_advised_to_be_sorted_by_few_values(by_day, where):
    advice = advice_of(by_day, where)
    assert advice.why.endswith("; `prune advise` compares layouts for such queries")
    assert advice.remedies == ()


def test_dates_and_flags_of_few_values_are_not_advised_to_be_sorted(tmp_path):
    rows = 1_000
    days = [dt.date(2024, 1, 1 + i % FEW) for i in range(rows)]
    table = pa.table({"day": days, "flag": [i % 2 == 0 for i in range(rows)], "id": range(rows)})
    path = written(tmp_path / "t.parquet", table, row_group_size=100, use_dictionary=False)
    for where in ("day = DATE '2024-01-03'", "flag", "flag = true"):
        assert advice_of(path, where).remedies == ()


@pytest.fixture(scope="module")
def few_values(folder):
    """Tables of 102 and 51 rows of a mebibyte, with columns of few values."""
    rows, mebibyte = 102, b"\0" * (1 << 20)
    table = pa.table(
        {
            "kind": ["abc"[i % 3] for i in range(rows)],
            "code": [10 * (i % 3 + 1) ** 5 if i % 3 else 20 for i in range(rows)],
            "number": [i % 3 for i in range(rows)],
            "flag": [i % 17 > 0 for i in range(rows)],
            "payload": pa.array([mebibyte] * rows),
        }
    )
    named = ["kind", "code", "number", "flag"]
    options = {"row_group_size": 17, "use_dictionary": ["kind", "code"], "write_statistics": named}
    return [written(folder / f"few_{count}.parquet", table[:count], **options) for count in (rows, rows // 2)]


@pytest.mark.parametrize("where", ["kind = 'a'", "code = 20", "number = 1"])
def test_few_values_of_a_large_table_are_advised_as_partitions(few_values, where):
    path, smaller = few_values
    (remedy,) = advice_of(path, where).remedies
    assert remedy.kind == "partition_by"
    assert "has at most 3 values" in remedy.said
    assert remedy.kept_bytes == pytest.approx((102 << 20) / 3, rel=0.01)
    assert advice_of(path, "flag").remedies == (), "of two values, one may have nearly all rows"
    assert advice_of(smaller, where).remedies == (), "directories of less than 32 MiB"


def test_a_directory_is_large_enough_where_its_files_need_not_be_small():
    assert LEAST_PARTITION_BYTES == SMALL_BYTES
