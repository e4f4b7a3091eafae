"""What a MERGE opens of its target: the files, the condition that follows from the keys, and why not less."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from delta_tables import write_table

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature, WrongUse
from prune_assets.cli import main
from prune_assets.merging import plan_merge as plan_merge_module
from prune_assets.merging.plan_merge import plan_merge_sql
from prune_assets.merging.report import WhyNotLess

UPSERT = ["MATCHED UPDATE", "NOT MATCHED INSERT"]
FILES, ROWS = 40, 100


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    """Forty files; file i has the keys 100 * i to 100 * i + 99."""
    path = str(tmp_path_factory.mktemp("orders") / "t")
    for i in range(FILES):
        keys = pa.array(range(ROWS * i, ROWS * (i + 1)), pa.int64())
        write_table(path, pa.table({"k": keys, "note": [f"n{key}" for key in keys]}), mode="append")
    return path


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """One file per day of January, each with the same keys 0 to 999 of which file i has every fifth at i % 5."""
    path = str(tmp_path_factory.mktemp("events") / "t")
    for day in range(10):
        for part in range(5):
            keys = pa.array(range(200 * part, 200 * (part + 1)), pa.int32())
            days = pa.array([dt.date(2024, 1, 1 + day)] * len(keys))
            write_table(path, pa.table({"day": days, "k": keys}), mode="append", partition_by=["day"])
    return path


def opened(table, condition):
    """Files that partition values and statistics leave for a condition."""
    return {file.path for file in pr.plan(table, where=condition, depth="row_groups").surviving_files}


def obstacles(planned):
    return [(obstacle.why, obstacle.subject) for obstacle in planned.report.obstacles]


def test_a_few_keys_are_listed(orders):
    planned = pr.plan_merge(orders, pa.table({"k": [7, 3999, 7, None]}), on="t.k = s.k", when=UPSERT)
    assert planned.condition == "(t.k = 7L) OR (t.k = 3999L)"
    assert planned.report.keys == 2
    assert (planned.report.as_written.files, planned.report.with_condition.files) == (FILES, 2)
    assert planned.report.holding.files == len(planned.surviving_files) == 2
    assert planned.statement == (
        f"MERGE INTO delta.`{orders}` AS t\nUSING source AS s\n"
        "ON (t.k = s.k) AND ((t.k = 7L) OR (t.k = 3999L))\n"
        "WHEN MATCHED THEN UPDATE SET *\nWHEN NOT MATCHED THEN INSERT *"
    )
    assert obstacles(planned) == [(WhyNotLess.NO_CONDITION, "t.k = s.k")]


def test_many_keys_become_ranges_around_the_files_without_a_key(orders):
    keys = [*range(250, 350), *range(1000, 1050), 3900, *range(3950, 4020)]
    planned = pr.plan_merge(orders, pa.table({"k": keys}), on="s.k = t.k", when=UPSERT)
    assert planned.condition == (
        "(t.k >= 250L AND t.k <= 349L) OR (t.k >= 1000L AND t.k <= 1049L) OR (t.k >= 3900L AND t.k <= 4019L)"
    )
    assert planned.report.with_condition.files == planned.report.holding.files == 4
    assert planned.report.keys_in_no_file == 20
    assert opened(orders, planned.condition.replace("t.k", "k")) == {it.path for it in planned.surviving_files}


def test_more_ranges_are_made_where_they_leave_out_files(tmp_path):
    table = str(tmp_path / "t")
    for i in range(100):
        write_table(table, pa.table({"k": [10 * i, 10 * i + 5]}), mode="append")
    keys = [key for i in range(0, 100, 2) for key in (10 * i, 10 * i + 1)]
    planned = pr.plan_merge(table, pa.table({"k": keys}), on="t.k = s.k", when=UPSERT)
    assert planned.report.with_condition.files == 50
    assert len(planned.condition.split(" OR ")) == 50


def test_ranges_are_made_for_each_partition(events):
    source = pa.table({"day": [dt.date(2024, 1, 2)] * 150 + [dt.date(2024, 1, 9)], "k": [*range(150), 999]})
    planned = pr.plan_merge(events, source, on="t.day = s.day AND t.k = s.k", when=UPSERT)
    assert planned.condition == (
        "((t.day = DATE '2024-01-02') AND (t.k >= 0 AND t.k <= 149)) OR ((t.day = DATE '2024-01-09') AND (t.k = 999))"
    )
    assert planned.report.with_condition.files == planned.report.holding.files == 2


def test_a_partition_column_alone_is_a_list(events):
    source = pa.table({"day": [dt.date(2024, 1, 2), dt.date(2024, 1, 9), dt.date(2025, 1, 1)]})
    planned = pr.plan_merge(events, source, on="t.day = s.day", when=["MATCHED DELETE"])
    assert planned.condition == "t.day IN (DATE '2024-01-02', DATE '2024-01-09', DATE '2025-01-01')"
    assert planned.report.with_condition.files == 10


def test_null_is_a_key_of_a_null_safe_comparison(orders):
    planned = pr.plan_merge(orders, pa.table({"k": [7, None]}), on="t.k <=> s.k", when=UPSERT)
    assert planned.condition == "(t.k = 7L) OR (t.k IS NULL)"


def test_a_source_without_keys_opens_nothing(orders):
    source = pa.table({"k": pa.array([None], pa.int64())})
    planned = pr.plan_merge(orders, source, on="t.k = s.k", when=UPSERT)
    assert (planned.condition, planned.report.with_condition.files) == ("t.k < 0L", 0), "Spark may fail on false"


def test_no_footer_is_read_of_very_many_files(orders, monkeypatch):
    source = pa.table({"k": range(0, 4000, 7)})
    planned = pr.plan_merge(orders, source, on="t.k = s.k", when=UPSERT)
    monkeypatch.setattr(plan_merge_module, "_MOST_FOOTERS", 10)
    by_log = pr.plan_merge(orders, source, on="t.k = s.k", when=UPSERT)
    assert by_log.plan is None
    assert by_log.statement == planned.statement
    assert {file.path for file in by_log.surviving_files} == {file.path for file in planned.surviving_files}


def test_rows_without_a_partner_need_every_file(orders):
    when = ["MATCHED UPDATE", "NOT MATCHED BY SOURCE DELETE"]
    planned = pr.plan_merge(orders, pa.table({"k": [7]}), on="t.k = s.k", when=when)
    assert planned.condition is None
    assert planned.statement == planned.parsed.sql
    assert planned.report.with_condition.files == planned.report.holding.files == FILES
    assert obstacles(planned) == [(WhyNotLess.SWITCHED_OFF, "WHEN NOT MATCHED BY SOURCE THEN DELETE")]


@pytest.mark.parametrize(
    ("on", "why"),
    [
        ("CAST(t.k AS STRING) = s.name", WhyNotLess.NOT_USED),
        ("t.k + 1 = s.k", WhyNotLess.NOT_USED),
        ("t.k = s.k OR t.note = s.name", WhyNotLess.NOT_USED),
        ("t.k = s.name", WhyNotLess.KEY_NOT_USED),
        ("t.k > s.k", WhyNotLess.NO_KEY),
    ],
)
def test_a_condition_that_does_not_restrict_the_target_is_named(orders, on, why):
    planned = pr.plan_merge(orders, pa.table({"k": [7], "name": ["7"]}), on=on, when=UPSERT)
    assert planned.condition is None
    assert why in [obstacle.why for obstacle in planned.report.obstacles]
    assert planned.report.with_condition.files == FILES


def test_a_condition_of_the_statement_is_used_beside_the_keys(orders):
    planned = pr.plan_merge(orders, pa.table({"k": [7, 3999]}), on="t.k = s.k AND t.k < 1000", when=UPSERT)
    assert planned.report.as_written.files == 10
    assert planned.report.with_condition.files == 1
    assert obstacles(planned) == []


def test_files_without_statistics_are_named(tmp_path):
    table = str(tmp_path / "t")
    write_table(table, pa.table({"k": [1]}), properties={"delta.dataSkippingNumIndexedCols": "0"})
    write_table(table, pa.table({"k": [2]}), mode="append")
    planned = pr.plan_merge(table, pa.table({"k": [7]}), on="t.k = s.k", when=UPSERT)
    assert (WhyNotLess.NO_STATISTICS, "k") in obstacles(planned)


def test_overlap_is_named(tmp_path):
    table = str(tmp_path / "t")
    for i in range(8):
        write_table(table, pa.table({"k": [i, 1000 + i]}), mode="append")
    planned = pr.plan_merge(table, pa.table({"k": [500]}), on="t.k = s.k", when=UPSERT)
    assert (WhyNotLess.OVERLAP, "k") in obstacles(planned)


@pytest.mark.parametrize(
    ("values", "literals"),
    [
        (pa.array([Decimal("1.50"), Decimal("2.00")], pa.decimal128(10, 2)), "CAST(1.50BD AS DECIMAL(10,2))"),
        (pa.array([1, 2], pa.int16()), "1S"),
        (pa.array(["a", "b"]), "'a'"),
        (
            pa.array([dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in (1, 2)], pa.timestamp("us", "UTC")),
            "TIMESTAMP_LTZ '2024-01-01 00:00:00Z'",
        ),
        (pa.array([1.5, 2.5]), "1.5"),
    ],
)
def test_literals_have_the_type_of_the_column(tmp_path, values, literals):
    table = str(tmp_path / "t")
    for value in values:
        write_table(table, pa.table({"k": pa.array([value.as_py()], values.type)}), mode="append")
    planned = pr.plan_merge(table, pa.table({"k": values[:1]}), on="t.k = s.k", when=UPSERT)
    assert literals in planned.condition


def test_a_source_on_disk_is_read_without_spark(orders, tmp_path):
    source = tmp_path / "changes"
    source.mkdir()
    pq.write_table(pa.table({"k": [7, 3999], "n": [1, 2]}), source / "a.parquet")
    by_path = pr.plan_merge(orders, str(source), on="t.k = s.k", when=UPSERT)
    assert f"USING parquet.`{source}` AS s" in by_path.statement
    sql = f"MERGE INTO delta.`{orders}` USING parquet.`{source}` s ON k = s.k AND n > 1 WHEN MATCHED THEN DELETE"
    assert (WhyNotLess.NO_KEY, "k = s.k AND n > 1") in obstacles(plan_merge_sql(sql)), "k may be the source's"
    planned = plan_merge_sql(sql.replace("ON k", f"ON delta.`{orders}`.k"))
    assert planned.report.with_condition.files == 2


def test_a_query_needs_spark(orders):
    sql = f"MERGE INTO delta.`{orders}` t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE"
    with pytest.raises(WrongUse, match="only Spark runs"):
        plan_merge_sql(sql)
    with pytest.raises(WrongUse, match=r"only Spark computes s\.k \+ 1 of the source; pass a session"):
        pr.plan_merge(orders, pa.table({"k": [1]}), on="t.k = s.k + 1", when=UPSERT)


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("t.kk = s.k", "ON: unknown column t.kk: did you mean t.k?"),
        ("t.k = s.kk", "ON: unknown column s.kk: did you mean s.k?"),
        ("target.k = s.k", "ON: unknown column target.k: "),
    ],
)
def test_a_misspelt_column_is_an_error(orders, on, message):
    with pytest.raises(WrongUse, match=message.replace(".", r"\.").replace("?", r"\?")):
        pr.plan_merge(orders, pa.table({"k": [1]}), on=on, when=UPSERT)


def test_a_name_that_exists_as_a_path_is_a_path(orders, monkeypatch):
    monkeypatch.chdir(Path(orders).parent)
    planned = pr.plan_merge("t", "t", on="t.k = s.k", when=UPSERT)
    assert f"MERGE INTO delta.`{orders}` AS t\nUSING delta.`{orders}` AS s\n" in planned.statement


def test_a_key_that_depends_on_the_current_time_is_not_used(events):
    """The statement may run on another day than the plan."""
    source = pa.table({"n": pa.array([1, 2], pa.int32())})
    on = "t.day = date_sub(current_date(), s.n) AND t.k = s.n"
    planned = pr.plan_merge(events, source, on=on, when=UPSERT)
    assert planned.condition == "(t.k = 1) OR (t.k = 2)"
    assert (WhyNotLess.NOT_USED, "t.day = date_sub(current_date(), s.n)") in obstacles(planned)


def test_a_relative_path_is_refused_because_spark_takes_none(orders, monkeypatch):
    monkeypatch.chdir(orders)
    with pytest.raises(WrongUse, match=r"Spark takes only absolute paths; write /"):
        plan_merge_sql("MERGE INTO delta.`./x` t USING delta.`/y` s ON t.k = s.k WHEN MATCHED THEN DELETE")


def test_a_source_that_only_spark_knows_names_the_option(orders):
    with pytest.raises(WrongUse, match=r"source updates: .*, or --spark to prune merge"):
        plan_merge_sql(f"MERGE INTO delta.`{orders}` t USING updates s ON t.k = s.k WHEN MATCHED THEN DELETE")


def test_rows_of_other_libraries_are_read_as_arrow(orders):
    class Rows:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"k": [7]}).__arrow_c_stream__(requested_schema)

    Rows.__name__ = "DataFrame"
    assert pr.plan_merge(orders, Rows(), on="t.k = s.k", when=UPSERT).condition == "t.k = 7L"
    assert pr.read_arrow(orders, keys=Rows(), columns=["k"]).to_pylist() == [{"k": 7}]


def test_plain_files_have_no_merge(tmp_path):
    pq.write_table(pa.table({"k": [1]}), tmp_path / "a.parquet")
    with pytest.raises(UnsupportedFeature, match="no MERGE"):
        pr.plan_merge(str(tmp_path), pa.table({"k": [1]}), on="t.k = s.k", when=UPSERT)


def test_the_command_prints_the_statement_to_run(orders, tmp_path):
    source, file = tmp_path / "changes", tmp_path / "upsert.sql"
    deltalake.write_deltalake(str(source), pa.table({"k": [7]}))
    sql = f"MERGE INTO delta.`{orders}` t USING delta.`{source}` s ON t.k = s.k WHEN MATCHED THEN DELETE;\n"
    file.write_text(sql)
    run = CliRunner().invoke(main, ["merge", str(file), "--statement"])
    assert run.output == sql.replace("ON t.k = s.k", "ON (t.k = s.k) AND (t.k = 7L)")
    report = json.loads(CliRunner().invoke(main, ["merge", str(file), "--json"]).output)
    assert (report["schema"], report["with_condition"]["files"]) == ("merge-report/1", 1)
    text = CliRunner().invoke(main, ["merge", str(file)]).output
    assert "Opens as written 40 files" in text
    assert "With condition   1 file" in text
    gate = CliRunner().invoke(main, ["merge", str(file), "--max-opened", "0.001"])
    assert gate.exit_code == 1
    assert gate.stderr.startswith("--max-opened 0.001: the MERGE opens 2.")
