"""Remedies for Iceberg tables use only options that Iceberg's writers accept."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from parquet_core.fix import Fix, Setting, Step
from prune_assets.advisor.layout_changes import location_of
from prune_assets.checks.health.health import check_files
from prune_assets.tables.iceberg.opening import ICEBERG
from prune_assets.tables.parquet import PARQUET
from tests.prune_assets.tables.iceberg import iceberg_tables

OPTIMIZE, WRITE_TABLE = str(Fix(step=Step.OPTIMIZE)), str(Fix(step=Step.WRITE_TABLE))
# parquet-java options that Iceberg ignores, layout options that it refuses, and options that rewrite no file.
REFUSED = re.compile(
    r"parquet\.(block|page)\.row|enabled#|dictionary#|row_group_rows=|write_page_index|min_rows_per_group"
)
LAYOUT = pr.LayoutSpec(sort_by=["id"], bloom={"id": 0.01}, row_group_rows=10, page_rows=10, partition_by=["days(ts)"])


@pytest.fixture
def name(tmp_path, monkeypatch):
    """A table of many small files, of two writers, one of them parquet-cpp with page indexes."""
    table = iceberg_tables.catalog_in(tmp_path).create_table("db.t", schema=pa.schema([("id", pa.int64())]))
    iceberg_tables.configure(monkeypatch, "tests", tmp_path)
    for i in range(12):
        table.append(pa.table({"id": [i, 100, i]}))
    file = f"{iceberg_tables.folder(table)}/data/indexed.parquet"
    rows = pa.table({"id": range(2000)})
    pq.write_table(rows, file, write_page_index=True, row_group_size=100, max_rows_per_page=50)
    table.add_files([f"file://{file}"])
    return "tests.db.t"


def remedies_of(name):
    for finding in [*pr.check(name, layout=LAYOUT), *pr.check(name), *check_files(name)]:
        if finding.remedy:
            yield finding.code, finding.remedy


@pytest.mark.parametrize("prefix", ["", "iceberg:"])
def test_no_remedy_names_what_iceberg_refuses(name, prefix):
    remedies = list(remedies_of(f"{prefix}{name}"))
    assert {"size.row_groups", "size.pages", "overlap.files", "column_index.absent"} <= {code for code, _ in remedies}
    for code, remedy in remedies:
        assert not REFUSED.search(remedy), (code, remedy)
        rewrites = OPTIMIZE in remedy or WRITE_TABLE in remedy
        by_name = "use the table's name in Spark" in remedy
        assert by_name == (rewrites and bool(prefix)), (code, remedy)


@pytest.mark.parametrize("setting", Setting)
def test_each_setting_is_one_that_iceberg_has(setting):
    fix = Fix("write it again", setting=setting, value="id")
    assert REFUSED.search(str(fix))
    assert fix.with_setting(PARQUET.settings) == replace(fix, after=setting.value.format(value="id"), setting=None)
    assert not REFUSED.search(str(fix.with_setting(ICEBERG.settings)))


@pytest.mark.parametrize(
    ("setting", "instead"),
    [
        (
            Setting.BLOOM_FILTER,
            "write.parquet.bloom-filter-enabled.column.id=true; the spelling of the column is case-sensitive",
        ),
        (Setting.NO_DICTIONARY, "parquet.enable.dictionary=false, of all columns"),
    ],
)
def test_options_of_parquet_java_are_named_as_properties_of_the_table(setting, instead):
    fix = Fix("rewrite", setting=setting, value="id").with_setting(ICEBERG.settings)
    assert str(fix) == f"rewrite, or write with the table property {instead}"


def test_spellings_of_a_transform_are_one_spec(tmp_path):
    """So a rewrite is named, not a new table."""
    schema = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us"))])
    table = iceberg_tables.catalog_in(tmp_path).create_table("db.t", schema=schema)
    with table.update_spec() as spec:
        spec.add_field("ts", "day")
        spec.add_field("id", "bucket[4]")
    for _ in range(2):
        table.append(pa.table({"id": [2, 1], "ts": [0, 0]}).cast(schema))

    def named(*partition_by):
        layout = pr.LayoutSpec(sort_by=["id"], partition_by=partition_by)
        (finding,) = (
            each for each in pr.check(iceberg_tables.folder(table), layout=layout) if each.code == "order.rows"
        )
        return OPTIMIZE in finding.remedy, WRITE_TABLE in finding.remedy

    assert named("day(ts)", "bucket(4,id)") == named("DAYS(TS)", "bucket( 4, id )") == (True, False)
    assert named("days(ts)") == named("hours(ts)", "bucket(4, id)") == (False, True)


def test_advice_of_a_report_names_what_layouts_of_iceberg_have(tmp_path):
    table = iceberg_tables.catalog_in(tmp_path).create_table("db.t", schema=pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [i * 7919 % 1000 for i in range(1000)]}))
    advice = pr.plan(iceberg_tables.folder(table), where="id = 5").report.advice
    (of_row_groups,) = (remedy for remedy in advice.remedies if remedy.kind == "row_groups")
    assert "row_group_bytes=.." in str(of_row_groups)
    assert "row_group_rows" not in str(of_row_groups)


def test_layouts_are_not_changed_by_themselves(name):
    with pytest.raises(UnsupportedFeature, match=r"tests.db.t: automatic layouts are not supported .* `advise` names"):
        location_of(name, None)


@pytest.mark.parametrize("prefix", ["", "iceberg:"])
def test_advice_is_verified_beside_the_table_and_not_in_it(name, prefix, tmp_path):
    """For a table name the opened path is the metadata file, and the folder was created next to that file."""
    before = sorted(map(str, tmp_path.rglob("*")))
    queries = ["id = 5"]
    advice = pr.advise(f"{prefix}{name}", workload=queries)
    assert advice.verify(workload=queries)
    assert sorted(map(str, tmp_path.rglob("*"))) == before


def test_a_name_that_cannot_commit_is_refused_with_the_one_that_can(name):
    with pytest.raises(UnsupportedFeature, match=r"only Iceberg commits to it.*Spark session, such as tests.db.t"):
        pr.optimize(f"iceberg:{name}", layout=LAYOUT, dry_run=True)
