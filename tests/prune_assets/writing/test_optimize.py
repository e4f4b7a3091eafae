"""Tables optimized through Spark: selected files are rewritten, rows stay the same, and a second run does nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from delta_tables import delete_rows, write_table

import deltalog
import prune_assets as pr
from deltalog.errors import CommitConflict, UnsupportedTable
from deltalog.log.actions import DeletionVector
from parquet_core.errors import LayoutError, PruneError, UnfinishedWrite, UnsupportedFeature
from prune_assets.cli import main
from prune_assets.spark.spark_versions import to_arrow
from prune_assets.tables.delta import rewriting
from prune_assets.tables.writes.write_lock import write_lock
from tests.peers.delta_matrix import GOLDEN
from tests.peers.delta_readers import ask
from tests.peers.plain_rows import plain_rows

pytestmark = pytest.mark.spark

LAYOUT = pr.LayoutSpec(sort_by=["id"], bloom={"k": 0.01}, files=1)
# Inline, the rows 3, 4, 7, 11, 18 and 29 of a file: the example of the protocol.
VECTOR = DeletionVector("i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 44, 6)


def rows_of(spark, table):
    return plain_rows(to_arrow(pr.read(table, where="true", session=spark)).to_pylist())


def rows_by_delta_rs(table):
    (answer,) = ask("delta-rs", [{"table": str(table)}])
    return answer["rows"]


def live(table):
    return set(deltalog.open_snapshot(table).paths())


def write_directories(table):
    return sorted(path.name for path in Path(table).iterdir() if path.name.startswith("write-"))


def mapped_table(place):
    """An empty partitioned table whose files call the columns otherwise, and may have deletion vectors."""

    def field(name, number, kind):
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": kind, "nullable": True, "metadata": metadata}

    inner = {"type": "struct", "fields": [field("x", 5, "long")]}
    fields = [field("id", 1, "long"), field("part", 2, "string"), field("k", 3, "long"), field("st", 4, inner)]
    properties = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "5",
        "delta.enableDeletionVectors": "true",
        "delta.appendOnly": "true",
    }
    text = json.dumps({"type": "struct", "fields": fields})
    deltalog.create_table(place, text, partition_by=["part"], properties=properties)


def rows(spark, start, stop, *, step=1, part="CASE id % 3 WHEN 0 THEN 'a/b= %1' WHEN 1 THEN 'b' END"):
    return spark.range(start, stop, step).selectExpr(
        "id", f"{part} AS part", "id * 7919 % 211 AS k", "named_struct('x', id) AS st"
    )


def give_vector(table, path):
    """Give a live file a deletion vector."""
    snapshot = deltalog.open_snapshot(table)
    (add,) = deltalog.adds_of(str(table), snapshot.schema, [deltalog.NewFile(path, {"part": "b"})])
    said = json.loads(add.stats) | {"tightBounds": False}
    add = msgspec.structs.replace(add, deletion_vector=VECTOR, stats=json.dumps(said))
    change = deltalog.Change(
        operation="DELETE", adds=[add], removes=[path], data_change=False, reads=deltalog.Reads(files=frozenset([path]))
    )
    deltalog.commit(snapshot, change)


def test_a_delta_table_keeps_its_rows_and_what_needs_nothing(spark, tmp_path, monkeypatch):
    """Partitions, mapped columns, deleted rows, and an append that comes between."""
    mapped_table(tmp_path)
    first = pr.write(rows(spark, 0, 300), tmp_path, layout=LAYOUT)
    give_vector(tmp_path, next(file for file in first.files if "=b/" in file).removeprefix(f"{tmp_path}/"))
    for start in (1000, 1001):
        pr.write(rows(spark, start, 1300, step=2, part="'a/b= %1'"), tmp_path, layout=LAYOUT)
    pr.write(rows(spark, 250, 340, part="'b'"), tmp_path, layout=LAYOUT)
    before, alive = rows_of(spark, tmp_path), live(tmp_path)
    assert len(before) == 300 - 6 + 300 + 90

    request = {"layout": LAYOUT, "predicates": ["id BETWEEN 1010 AND 1015", "part IS NULL"]}
    forecast = pr.optimize(tmp_path, dry_run=True, **request)
    assert (live(tmp_path), forecast.dry_run, forecast.version) == (alive, True, 5)
    reasons = {file.path.removeprefix(f"{tmp_path}/"): file.reasons for file in forecast.picked}
    assert sorted(reasons.values()) == [("overlaps", "small")] * 3 + [("overlaps", "small", "deleted rows")]

    real, between = rewriting._tag_clustered, rows(spark, 5000, 5010, part="'new'")

    def late_append(adds, snapshot):
        pr.write(between, tmp_path, layout=LAYOUT)
        return real(adds, snapshot)

    monkeypatch.setattr(rewriting, "_tag_clustered", late_append)
    done = pr.optimize(tmp_path, session=spark, **request)
    assert done.picked == forecast.picked
    assert (done.new_files, done.left, done.version) == (forecast.new_files, 0, 7)
    assert (done.depth_before, done.depth_after) == (forecast.depth_before, forecast.depth_predicted)
    assert [one.before for one in done.predicates] == [one.before for one in forecast.predicates]
    assert done.predicates[0].after < done.predicates[0].before
    assert rows_of(spark, tmp_path) == sorted([*before, *plain_rows(to_arrow(between).to_pylist())])
    assert rows_by_delta_rs(tmp_path) == rows_of(spark, tmp_path)
    assert alive - reasons.keys() <= live(tmp_path)
    assert not reasons.keys() & live(tmp_path)
    errors = [finding for finding in pr.check(tmp_path, layout=LAYOUT) if finding.severity == "error"]
    assert errors == []
    assert pr.optimize(tmp_path, layout=LAYOUT, session=spark).picked == ()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("partition_by", [(), ("part",)])
def test_a_plain_table_keeps_its_rows_and_what_needs_nothing(spark, tmp_path, partition_by):
    layout = pr.LayoutSpec(sort_by=["id"], bloom={"k": 0.01}, files=1, partition_by=partition_by)
    table = tmp_path / "t"
    pr.write(rows(spark, 0, 60), table, layout=layout)
    for start in (1000, 1001):
        pr.write(rows(spark, start, 1300, step=2, part="'a/b= %1'"), table, layout=layout)
    before, files = plain_rows(to_arrow(spark.read.parquet(str(table))).to_pylist()), sorted(table.rglob("*.parquet"))
    forecast = pr.optimize(table, layout=layout, dry_run=True)
    assert sorted(table.rglob("*.parquet")) == files
    assert len(forecast.picked) == 2
    done = pr.optimize(table, layout=layout, session=spark)
    assert (done.picked, done.new_files, done.left, done.depth_after) == (forecast.picked, forecast.new_files, 0, 1.0)
    left = set(files) - {Path(file.path) for file in done.picked}
    new = set(table.rglob("*.parquet")) - left
    assert len(left) == len(files) - len(done.picked)
    assert {file.parent for file in new} == {Path(file.path).parent for file in done.picked}
    assert plain_rows(to_arrow(spark.read.parquet(str(table))).to_pylist()) == before
    assert [path.name for path in table.iterdir() if path.name.startswith("_")] == ["_SUCCESS"] * table.joinpath(
        "_SUCCESS"
    ).exists()
    assert pr.optimize(table, layout=layout, session=spark).picked == ()


def test_directories_keep_their_names_whatever_spark_makes_of_them(spark, tmp_path):
    for directory, start in (("n=01", 0), ("n=01", 5), ("n=1", 10), ("n=__HIVE_DEFAULT_PARTITION__", 20)):
        (tmp_path / directory).mkdir(exist_ok=True)
        ids = pa.table({"id": pa.array(range(start, start + 10), pa.int64())})
        pq.write_table(ids, tmp_path / directory / f"{start}.parquet", write_page_index=True)
    before = plain_rows(to_arrow(spark.read.parquet(str(tmp_path))).to_pylist())
    layout = pr.LayoutSpec(sort_by=["id"])
    assert len(pr.optimize(tmp_path, layout=layout, session=spark).picked) == 2
    assert plain_rows(to_arrow(spark.read.parquet(str(tmp_path))).to_pylist()) == before
    assert len([*(tmp_path / "n=01").glob("*.parquet")]) == len([*(tmp_path / "n=1").glob("*.parquet")]) == 1


def clustered_table(place, *columns):
    """An empty clustered table, as delta-spark would make it."""
    features = {"writerFeatures": ["clustering", "domainMetadata", "appendOnly", "invariants"]}
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("id", "k")]
    said = {"clusteringColumns": [[name] for name in columns], "domainName": "delta.clustering"}
    metadata = {
        "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
    }
    domain = {"domain": "delta.clustering", "configuration": json.dumps(said), "removed": False}
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, **features}},
        {"metaData": metadata},
        {"domainMetadata": domain},
    ]
    (place / "_delta_log").mkdir(parents=True)
    (place / "_delta_log" / f"{0:020d}.json").write_text("".join(f"{json.dumps(action)}\n" for action in actions))


def adds_in(table, version):
    lines = (table / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    return [action["add"] for action in map(json.loads, lines) if "add" in action]


def test_files_of_a_clustered_table_are_tagged_as_one_cube(spark, tmp_path):
    clustered_table(tmp_path, "k", "id")
    layout = pr.LayoutSpec(sort_by=["k", "id"], files=1)
    cubes = set()
    for version in (1, 4):
        for start in (0, 1):
            pr.write(spark.range(start, 100, 2).selectExpr("id", f"id * {version} AS k"), tmp_path, layout=layout)
        done = pr.optimize(tmp_path, layout=layout, session=spark)
        (add,) = adds_in(tmp_path, done.version)
        assert add["clusteringProvider"] == "liquid"
        assert (add["tags"]["ZCUBE_ZORDER_BY"], add["dataChange"]) == ('["k","id"]', False)
        cubes.add(add["tags"]["ZCUBE_ID"])
    # All files of one cube are what delta-spark leaves alone.
    assert len(cubes) == 1
    info = deltalog.history(deltalog.open_snapshot(tmp_path), limit=1)[0].info
    assert info["operationParameters"] == {
        "predicate": "[]",
        "zOrderBy": "[]",
        "clusterBy": '["k", "id"]',
        "auto": "false",
        "isFull": "false",
    }
    assert info["operationMetrics"]["numRemovedFiles"] == "3"
    with pytest.raises(LayoutError, match="clustered by k, which sort_by lacks"):
        pr.optimize(tmp_path, layout=LAYOUT, dry_run=True)


@pytest.mark.deep
def test_a_commit_that_takes_a_picked_file_away_is_not_undone(spark, tmp_path, monkeypatch):
    for start in (0, 1):
        pr.write(spark.range(start, 100, 2).selectExpr("id", "id AS k"), tmp_path, layout=LAYOUT, format="delta")
    before = write_directories(tmp_path)

    def late_delete(adds, snapshot):
        deltalog.rewrite(deltalog.open_snapshot(tmp_path), removes=snapshot.paths()[:1])
        return adds

    monkeypatch.setattr(rewriting, "_tag_clustered", late_delete)
    with pytest.raises(CommitConflict, match="which this commit removes too"):
        pr.optimize(tmp_path, layout=LAYOUT, session=spark)
    assert write_directories(tmp_path) == before
    assert pr.read(tmp_path, where="true", session=spark).count() == 50


@pytest.fixture(scope="module")
def small_tables(spark, tmp_path_factory):
    """A Delta table and a plain one of two partitions, each with two files that overlap."""
    place = tmp_path_factory.mktemp("small")
    layout = pr.LayoutSpec(sort_by=["id"], files=1, partition_by=["part"])
    for name in ("delta", "parquet"):
        for start in (0, 1):
            frame = spark.range(start, 100, 2).selectExpr("id", "id AS k", "CAST(id DIV 50 AS INT) AS part")
            pr.write(frame, place / name, layout=layout, format=name)
    return place


@pytest.mark.parametrize("kind", ["delta", "parquet"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": pr.LayoutSpec(sort_by=["ids"])}, "sort_by: the table has no column ids: did you mean id"),
        ({"layout": pr.LayoutSpec(bloom={"x": 0.1})}, "bloom: the table has no column x"),
        ({"layout": pr.LayoutSpec(partition_by=["k"])}, "is partitioned by part, and optimize cannot change it"),
        ({"where": "id = 4"}, "selects parts of files .* use its partition columns only"),
        ({"where": "part = 1 OR id > 0"}, "selects parts of files"),
        ({"where": "parts = 1"}, "parts"),
    ],
)
def test_bad_input_is_refused_before_spark_is_needed(small_tables, kind, options, message):
    with pytest.raises(PruneError, match=message):
        pr.optimize(small_tables / kind, **{"layout": pr.LayoutSpec(sort_by=["id"]), "dry_run": True} | options)


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_where_names_the_partitions_that_are_looked_at(small_tables, kind):
    layout = pr.LayoutSpec(sort_by=["part", "id"])
    for where, files in (("part = 1", 2), ("part > 0 AND part < 9", 2), ("part IN (0, 1)", 4), ("part = 7", 0)):
        found = pr.optimize(small_tables / kind, layout=layout, where=where, dry_run=True)
        assert (len(found.picked), found.considered) == (files, files)


def test_row_ids_are_refused_by_name(spark, tmp_path):
    clustered_table(tmp_path, "id")
    log = tmp_path / "_delta_log" / f"{0:020d}.json"
    log.write_text(log.read_text().replace('"clustering",', '"clustering", "rowTracking",'))
    with pytest.raises(UnsupportedTable, match="rowTracking: rows must keep their ids"):
        pr.optimize(tmp_path, layout=pr.LayoutSpec(sort_by=["id"]), dry_run=True)


def test_a_column_of_the_name_that_groups_have_is_refused_by_name(tmp_path):
    pq.write_table(pa.table({"id": [1], "Prune_Group": [1]}), tmp_path / "0.parquet")
    with pytest.raises(UnsupportedFeature, match="column Prune_Group has a name that optimize reserves"):
        pr.optimize(tmp_path, layout=pr.LayoutSpec(sort_by=["id"]), dry_run=True)


def test_files_that_spark_would_not_write_alike_are_refused(spark, tmp_path):
    layout = pr.LayoutSpec(sort_by=["id"])
    for name, kinds in {"kinds": (pa.int64(), pa.int32()), "unsigned": (pa.uint32(), pa.uint32())}.items():
        (tmp_path / name).mkdir()
        for i, kind in enumerate(kinds):
            pq.write_table(pa.table({"id": pa.array([1, 5], kind)}), tmp_path / name / f"{i}.parquet")
    (tmp_path / "more").mkdir()
    pq.write_table(pa.table({"id": [1, 5]}), tmp_path / "more" / "0.parquet")
    pq.write_table(pa.table({"id": [1, 5], "x": [1, 5]}), tmp_path / "more" / "1.parquet")
    said = {"kinds": "column id differs", "unsigned": "id is uint32, but Spark", "more": "column x differs"}
    for name, message in said.items():
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(UnsupportedFeature, match=message):
            pr.optimize(tmp_path / name, layout=layout, session=spark)
        assert sorted(tmp_path.rglob("*")) == before


def test_a_table_that_somebody_writes_is_left_to_them(spark, small_tables, monkeypatch):
    monkeypatch.setenv("PRUNE_LOCK_TIMEOUT", "0")
    with write_lock(small_tables / "parquet"), pytest.raises(UnfinishedWrite, match="another write is running"):
        pr.optimize(small_tables / "parquet", layout=pr.LayoutSpec(sort_by=["id"]), session=spark)


def test_the_command_says_what_would_be_done_and_what_was(spark, tmp_path):
    for start in (0, 1):
        pr.write(spark.range(start, 100, 2).selectExpr("id", "id AS k"), tmp_path / "t", layout=LAYOUT, format="delta")
    (tmp_path / "l.yaml").write_text("sort_by: [id]\nbloom: {k: 0.01}\n")
    command = ["optimize", str(tmp_path / "t"), "--layout", str(tmp_path / "l.yaml"), "--predicate", "id < 5"]
    dry = CliRunner().invoke(main, [*command, "--dry-run"])
    assert (dry.exit_code, dry.stderr) == (0, "")
    assert "version 1: 2 of 2 files" in dry.stdout
    assert "would be rewritten to about 1" in dry.stdout
    assert "overlap depth (1 if none overlap): 2.00 before, 1.00 predicted\n" in dry.stdout
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "version 2: 2 of 2 files" in done.stdout
    assert "2.00 before, 1.00 predicted, 1.00 after" in done.stdout
    assert "bytes kept for id < 5:" in done.stdout
    again = CliRunner().invoke(main, [*command, "--json"])
    said = json.loads(again.stdout)
    assert (said["schema"], said["picked"], said["left"]) == ("table-optimize/1", [], 0)
    assert "no file needs a rewrite (1 file checked)" in CliRunner().invoke(main, command).stdout
    bad = CliRunner().invoke(main, [*command, "--where", "k = 1"])
    assert (bad.exit_code, bad.stdout) == (2, "")
    assert [line.partition(" ")[0] for line in bad.stderr.splitlines()] == ["starting", "error:"]


def test_a_key_may_descend(spark, tmp_path):
    layout = pr.LayoutSpec(sort_by=["k DESC"], files=1, row_group_rows=50)
    for i in range(2):
        pr.write(spark.range(i, 400, 2).withColumnRenamed("id", "k"), tmp_path, layout=layout)
    done = pr.optimize(tmp_path, layout=layout, session=spark)
    assert (len(done.picked), done.new_files, done.left) == (2, 1, 0)
    assert not [finding for finding in pr.check(tmp_path, layout=layout) if finding.severity != "info"]
    assert pr.optimize(tmp_path, layout=layout, dry_run=True).picked == ()
    (ascending,) = pr.optimize(tmp_path, layout=pr.LayoutSpec(sort_by=["k"]), dry_run=True).picked
    assert "not sorted" in ascending.reasons


@pytest.mark.deep
def test_a_new_day_of_a_thousand_is_rewritten_alone(spark, tmp_path):
    schema = pa.schema({"at": pa.int64(), "x": pa.int64()})
    deltalog.create_table(tmp_path, schema)

    def put(name, first, values):
        rows = pa.table({"at": [first + i for i in values], "x": [i * 7919 % 1009 for i in values]}, schema)
        pq.write_table(rows, tmp_path / name, write_page_index=True, compression="zstd")
        return deltalog.NewFile(name), (tmp_path / name).stat().st_size

    def append(files):
        snapshot = deltalog.open_snapshot(tmp_path)
        deltalog.append(snapshot, deltalog.adds_of(str(tmp_path), snapshot.schema, [file for file, _ in files]))
        return sum(size for _, size in files)

    layout, rows = pr.LayoutSpec(sort_by=["at"], row_group_rows=1000), 5000
    old = append([put(f"{day}.parquet", day * rows, range(rows)) for day in range(1000)])
    layout = replace(layout, target_file_bytes=2 * old // 1000)
    assert pr.optimize(tmp_path, layout=layout, dry_run=True).picked == ()
    day = append([put(f"new{i}.parquet", 1000 * rows, range(i, rows, 6)) for i in range(6)])
    done = pr.optimize(tmp_path, layout=layout, session=spark, predicates=[f"at >= {1001 * rows - 10}"])
    assert (len(done.picked), done.picked_bytes, done.new_files, done.left) == (6, day, 1, 0)
    assert done.new_bytes < 2 * day
    assert (done.depth_predicted, done.depth_after) == (1.0, 1.0)
    (kept,) = done.predicates
    # A fifth of the day: the last row group.
    assert kept.after < 0.3 * kept.before
    assert kept.predicted / day == pytest.approx(kept.after / done.new_bytes, rel=0.3)
    assert pr.optimize(tmp_path, layout=layout, session=spark).picked == ()


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(place.parent.name for place in GOLDEN.glob("*/_delta_log")))
def test_golden_tables_have_the_same_rows_after_it(spark, tmp_path, name):
    import shutil

    table = shutil.copytree(GOLDEN / name, tmp_path / "t")
    try:
        leaves = deltalog.open_snapshot(table).schema.columns
        before = rows_of(spark, table)
    except PruneError:
        pytest.skip("is not read")
    plain = [column for column in leaves if column.partition is None and not column.leaf.max_repetition_level]
    key = [column.leaf.name for column in plain if len(column.leaf.path) == 1]
    layout = pr.LayoutSpec(sort_by=key[:1])
    try:
        done = pr.optimize(table, layout=layout, session=spark)
    except UnsupportedTable:
        pytest.skip("has a feature that is refused by name")
    assert (rows_of(spark, table), done.left) == (before, 0)
    assert pr.optimize(table, layout=layout, session=spark).picked == ()


@pytest.mark.parametrize("table_format", ["parquet", "delta"])
def test_rows_that_bounds_call_in_order_are_read_and_sorted(spark, tmp_path, table_format):
    """Files in order by bounds but unsorted by the second key are rewritten once; a dry run selects the same files."""
    of_one_key = pr.LayoutSpec(sort_by=["a"], files=1, page_rows=100)
    layout = replace(of_one_key, sort_by=["a", "b"])
    for start in (0, 100):
        rows = spark.range(start, start + 100).selectExpr("id AS a", "-id AS b").selectExpr("a - a % 10 AS a", "b")
        pr.write(rows.orderBy("b"), tmp_path, layout=of_one_key, format=table_format)
    before = rows_of(spark, tmp_path)
    unsorted = {f.code for f in pr.check(tmp_path, layout=layout) if f.severity == "error"}
    dry = pr.optimize(tmp_path, layout=layout, dry_run=True, rows=True)
    assert (unsorted, dry.reasons.get("not sorted")) == ({"order.rows"}, 2)
    done = pr.optimize(tmp_path, layout=layout, session=spark, rows=True)
    assert (done.picked, done.left, done.rows_read) == (dry.picked, 0, True)
    assert not [f for f in pr.check(tmp_path, layout=layout) if f.severity == "error"]
    assert rows_of(spark, tmp_path) == before
    assert pr.optimize(tmp_path, layout=layout, session=spark, rows=True).picked == ()


def test_a_budget_rewrites_the_largest_groups_that_fit_and_says_what_is_left(spark, tmp_path):
    layout = pr.LayoutSpec(sort_by=["id"], partition_by=["part"], files=1)
    for part, count in (("a", 30_000), ("b", 20_000), ("c", 1_000)):
        for start in (0, 1):
            pr.write(rows(spark, start, count, step=2, part=f"'{part}'"), tmp_path, layout=layout)
    sizes = {file.path: file.bytes for file in pr.optimize(tmp_path, layout=layout, dry_run=True).picked}
    of = {part: sum(size for path, size in sizes.items() if f"part={part}" in path) for part in "abc"}
    budget = of["a"] - 1
    assert budget > of["b"] + of["c"]
    before = plain_rows(to_arrow(spark.read.parquet(str(tmp_path))).to_pylist())
    forecast = pr.optimize(tmp_path, layout=layout, dry_run=True, budget=budget)
    assert (len(forecast.picked), forecast.left) == (4, 2)
    done = pr.optimize(tmp_path, layout=layout, session=spark, budget=budget)
    assert (done.picked, done.picked_bytes, done.left) == (forecast.picked, of["b"] + of["c"], 2)
    assert plain_rows(to_arrow(spark.read.parquet(str(tmp_path))).to_pylist()) == before
    none = pr.optimize(tmp_path, layout=layout, session=spark, budget=budget)
    assert (none.picked, none.left) == ((), 2)
    assert "no group of files that needs a rewrite fits the budget" in str(none)
    assert pr.optimize(tmp_path, layout=layout, session=spark, budget=of["a"]).left == 0


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_a_layout_says_how_many_files_are_left(spark, tmp_path, format):  # noqa: A002
    layout, table = pr.LayoutSpec(sort_by=["id"], files=4), str(tmp_path / "t")
    for mode, picked in (("error", 0), ("append", 8)):
        pr.write(spark.range(40_000).toDF("id"), table, layout=layout, format=format, mode=mode)
        done = pr.optimize(table, layout=layout, session=spark)
        assert len(done.picked) == picked
    assert done.new_files == 4
    assert not pr.optimize(table, layout=layout, session=spark).picked


@pytest.mark.sampled(4)
@pytest.mark.parametrize("format", ["parquet", "delta"])
@pytest.mark.parametrize("curve", ["zorder_by", "hilbert_by"])
def test_a_full_rewrite_puts_a_table_along_a_curve(spark, tmp_path, format, curve):  # noqa: A002
    table, queries = str(tmp_path / "t"), ["a = 70", "b = 11"]
    made = spark.range(40_000).selectExpr("id", "hash(id) % 200 AS a", "hash(id, 1) % 200 AS b", "id % 2 AS part")
    for start in (0, 1):
        rows_here = made.where(f"id % 4 DIV 2 = {start}")
        pr.write(rows_here, table, layout=pr.LayoutSpec(partition_by=["part"], files=4), format=format, mode="append")
    layout = pr.LayoutSpec(**{curve: ["a", "b"]}, partition_by=["part"], row_group_rows=1000, page_rows=1000, files=1)
    before = sorted(pr.read(table, where="true", session=spark).collect())
    forecast = pr.optimize(table, layout=layout, full=True, dry_run=True)
    done = pr.optimize(table, layout=layout, session=spark, full=True, predicates=queries)
    assert (done.picked, done.left) == (forecast.picked, 0)
    assert {file.reasons for file in done.picked} == {("full rewrite",)}
    assert sorted(pr.read(table, where="true", session=spark).collect()) == before
    assert all(one.after < 0.6 * one.before for one in done.predicates), done.predicates
    assert not [finding for finding in pr.check(table, layout=layout) if finding.severity == "error"]
    assert pr.optimize(table, layout=layout, session=spark).picked == ()


def test_a_full_rewrite_needs_room_in_the_budget_for_a_whole_partition(spark, tmp_path):
    layout = pr.LayoutSpec(partition_by=["part"], sort_by=["id"], files=1)
    pr.write(spark.range(9_000).selectExpr("id", "IF(id < 1000, 0, 1) AS part"), tmp_path, layout=layout)
    sizes = sorted(path.stat().st_size for path in tmp_path.rglob("*.parquet"))
    assert pr.optimize(tmp_path, layout=layout, dry_run=True).picked == ()
    some = pr.optimize(tmp_path, layout=layout, full=True, dry_run=True, budget=sizes[-1] - 1)
    assert ([file.bytes for file in some.picked], some.left) == ([sizes[0]], 1)


def test_optimize_applies_the_deleted_rows_that_check_reports(spark, tmp_path):
    place, layout = str(tmp_path), pr.LayoutSpec(sort_by=["id"], files=1)
    enabled = {"delta.enableDeletionVectors": "true"}
    for first in (0, 1000):
        rows = pa.table({"id": pa.array(range(first, first + 1000), pa.int64())})
        write_table(place, rows, mode="append", properties=None if first else enabled)
    delete_rows(place, {path: range(0, 1000, 3) for path in deltalog.open_snapshot(place).paths()})
    (finding,) = (each for each in pr.check(place) if each.code.startswith("deletes."))
    assert (finding.severity.value, "prune optimize TABLE" in finding.remedy) == ("error", True)
    pr.optimize(place, layout=layout, session=spark)
    assert [each for each in pr.check(place) if each.code.startswith("deletes.")] == []
    assert sorted(pr.read_arrow(place)["id"].to_pylist()) == [i for i in range(2000) if i % 1000 % 3]
