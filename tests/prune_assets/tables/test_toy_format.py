"""A third format can be planned, checked, read, written and reported with `toy_format.py` and one registry entry."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from toy_format import MANIFEST, TOY

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from prune_assets.cli import main
from prune_assets.spark.scan_metrics import scan_metrics
from prune_assets.tables import opening
from prune_assets.tables.changed_partitions import partition_fingerprints
from prune_assets.tables.changes import table_fingerprint
from prune_assets.tables.lake import tables_below

ROWS, ROW_GROUP = 100, 25
DAYS = ("mon", "mon", "tue", "wed")
DELETED = ([], [0, 7, 99], [], [50])
# Predicates, and the files that may contain matches: by bounds, by the day, by neither.
WHERES = {
    "id < 30": [0],
    "id BETWEEN 90 AND 110": [0, 1],
    "day = 'mon'": [0, 1],
    "day = 'mon' AND id > 150": [1],
    "day = 'tue' OR id = 5": [0, 2],
    "id IN (100, 107, 350)": [1, 3],
    "name = 'n42'": [0, 1, 2, 3],
    "day IS NULL": [],
    "id > 1000": [],
    "NOT (day <> 'wed')": [3],
}


def rows_of(number):
    ids = range(number * ROWS, (number + 1) * ROWS)
    return [{"id": id_, "name": f"n{id_}", "day": DAYS[number]} for id_ in ids]


@pytest.fixture(autouse=True)
def a_third_entry(monkeypatch):
    monkeypatch.setattr(opening, "FORMATS", (TOY, *opening.FORMATS))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Write the table, with a file that does not belong to it, and the live rows as plain files without a layout."""
    table, live = tmp_path_factory.mktemp("toy"), tmp_path_factory.mktemp("live")
    files, left = [], []
    for number, (day, deleted) in enumerate(zip(DAYS, DELETED, strict=True)):
        rows, path = rows_of(number), f"{number}.parquet"
        stored = pa.Table.from_pylist(rows).select(["id", "name"])
        pq.write_table(stored, table / path, row_group_size=ROW_GROUP, write_page_index=True)
        bounds = {"id": [rows[0]["id"], rows[-1]["id"]]}
        files.append({"path": path, "rows": ROWS, "day": day, "bounds": bounds, "deleted": deleted})
        left += [row for at, row in enumerate(rows) if at not in deleted]
    pq.write_table(pa.table({"id": range(500), "name": ["n42"] * 500}), table / "stray.parquet")
    (table / MANIFEST).write_text(json.dumps({"partition": "day", "files": files}))
    pq.write_table(pa.Table.from_pylist(left), live / "0.parquet", write_statistics=False)
    return table, live


@pytest.fixture
def table(made):
    return made[0]


def prune(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


def changed(table, tmp_path, **of_first):
    """Return a copy of the table whose manifest has other claims about the first file."""
    manifest = json.loads((table / MANIFEST).read_text())
    for file in manifest["files"]:
        (tmp_path / file["path"]).write_bytes((table / file["path"]).read_bytes())
    manifest["files"][0] |= of_first
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    return tmp_path


@pytest.mark.parametrize("where", WHERES)
def test_a_plan_opens_the_files_that_the_manifest_leaves(table, where):
    plan = pr.plan(table, where=where)
    opened = [file.path for file, is_open in zip(plan.index.groups.files, _opened(plan), strict=True) if is_open]
    assert opened == [f"{table}/{number}.parquet" for number in WHERES[where]]


def _opened(plan):
    return (
        [True] * len(plan.index.groups.files) if plan.index.groups.opened is None else plan.index.groups.opened.tolist()
    )


@pytest.mark.spark
@pytest.mark.parametrize("where", WHERES)
def test_the_rows_are_those_that_spark_finds(spark, made, where):
    table, live = made
    plan = pr.plan(table, where=where, session=spark)
    frame = pr.read(table, where=where, session=spark, plan=plan)
    expected = spark.read.parquet(str(live)).where(where)
    assert frame.columns == expected.columns
    assert sorted(frame.collect()) == sorted(expected.collect())
    assert sorted(pr.read(table, where=where, session=spark).collect()) == sorted(expected.collect())
    foretold = next(engine for engine in plan.report.engines if engine.name.endswith("with this plan"))
    scanned = sum(scan.rows for scan in scan_metrics(frame))
    assert scanned <= foretold.kept.rows if foretold.estimated else scanned == foretold.kept.rows


@pytest.mark.spark
def test_read_arrow_finds_the_same_rows(spark, made):
    table, live = made
    found = pr.read_arrow(table, where="id BETWEEN 90 AND 110").to_pylist()
    expected = spark.read.parquet(str(live)).where("id BETWEEN 90 AND 110").collect()
    assert sorted(found, key=lambda row: row["id"]) == [row.asDict() for row in sorted(expected)]


@pytest.mark.spark
def test_merged_schemas_matter_to_what_spark_lists_alone(spark, table):
    spark.conf.set("spark.sql.parquet.mergeSchema", "true")
    try:
        assert pr.read(table, where="id < 30", session=spark).count() == 30
    finally:
        spark.conf.unset("spark.sql.parquet.mergeSchema")


def test_a_lake_has_it(table):
    assert tables_below(str(table)) == [((), str(table), "toy")]


def test_a_report_says_what_skipped_and_who_reads_it_alone(table):
    report = json.loads(prune("explain", table, "--where", "day = 'mon' AND id < 30", "--json").stdout)
    assert (report["total"]["files"], report["kept"]["files"], report["kept"]["rows"]) == (4, 1, 50)
    assert report["engines"][0]["name"] == "the toy's own reader alone"
    text = prune("explain", table, "--where", "day = 'mon' AND id < 30").stdout
    assert "the toy's own reader alone" in text


def test_a_layout_is_proven_of_the_files_of_the_manifest(table):
    assert _faults(pr.check(table, layout={"sort_by": ["id"]})) == []
    assert "overlap.files" in _faults(pr.check(table, layout={"sort_by": ["name"]}))
    by_bounds = pr.check(table, layout={"sort_by": ["id"]}, where="id < 30")
    assert _faults(by_bounds) == []


def _faults(findings):
    return [finding.code for finding in findings if finding.severity is not pr.Severity.INFO]


def test_its_own_checks_are_among_those_of_its_health(table, tmp_path):
    assert "toy.bounds" not in _faults(pr.check(table))
    assert "toy.bounds" in _faults(pr.check(changed(table, tmp_path, bounds={})))


@pytest.mark.parametrize(
    ("claim", "codes"),
    [({}, []), ({"bounds": {"id": [0, 50]}}, ["log_bounds"]), ({"rows": 90}, ["log_rows"]), ({"deleted": [3]}, [])],
)
def test_the_audit_verifies_what_the_manifest_claims(table, tmp_path, claim, codes):
    report = pr.audit(changed(table, tmp_path, **claim))
    assert [finding.code for finding in report.findings] == codes
    assert all("the manifest" in finding.message for finding in report.findings)


def test_inspect_shows_it_in_its_own_way(table):
    assert prune("inspect", table).stdout == "a toy of 4 files\n"
    assert len(json.loads(prune("inspect", table, "--json").stdout)["files"]) == 4
    refused = prune("inspect", table, "--orphans")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "is a toy, which keeps no old files" in refused.stderr


def test_a_change_is_seen_by_the_manifest_and_by_its_partitions(table, tmp_path):
    other = changed(table, tmp_path, deleted=[3])
    assert table_fingerprint(table) != table_fingerprint(other)
    before, after = (partition_fingerprints(each, ["day"]) for each in (table, other))
    assert [day for day in before if before[day] != after[day]] == [("mon",)]


@pytest.mark.spark
def test_rows_are_written_and_files_rewritten(spark, table, tmp_path):
    """`write` and `optimize` have no code for the format; rows stay the same, and deleted rows stay deleted."""
    copy = changed(table, tmp_path)
    layout = pr.LayoutSpec(sort_by=["id"], partition_by=["day"], files=1)
    more = spark.sql("SELECT id + 50 AS id, 'new' AS name, 'mon' AS day FROM range(10)")
    assert pr.write(more, copy, layout=layout).rows == 10
    before = sorted(pr.read(copy, where="true", session=spark).collect())
    assert len(before) == sum(ROWS - len(deleted) for deleted in DELETED) + 10
    assert pr.optimize(copy, layout=layout, dry_run=True).reasons["overlaps"] == 2
    done = pr.optimize(copy, layout=layout, session=spark)
    assert (done.left, done.depth_after) == (0, 1.0)
    assert sorted(pr.read(copy, where="true", session=spark).collect()) == before


def test_a_format_that_says_nothing_of_writing_is_not_written(table, monkeypatch):
    monkeypatch.setattr(opening, "FORMATS", (replace(TOY, writing=None), *opening.FORMATS[1:]))
    with pytest.raises(UnsupportedFeature, match=f"{table}: tables of toy are read only"):
        pr.optimize(table, layout=pr.LayoutSpec(sort_by=["id"]), dry_run=True)
