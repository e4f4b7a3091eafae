"""Delta tables read by Spark without delta-spark: the same rows and columns as from other Delta readers."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltalog
import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.errors import PredicateSyntaxError
from prune_assets.spark.scan_metrics import scan_metrics
from prune_assets.spark.spark_versions import to_arrow
from prune_assets.tables.delta.reading import MAX_READS
from tests.fuzz.planner.truth import settings
from tests.peers.delta_matrix import GOLDEN
from tests.peers.delta_readers import READERS, ask, missing
from tests.peers.plain_rows import plain_rows

pytestmark = pytest.mark.spark

# Others take the texts '' that delta-rs wrote for null, delta-spark keeps them; maps are lists of structs to polars.
OTHERWISE = {
    "delta-rs": {"lab_deltars166_part"},
    "polars-deltalake": {"lab_deltars166_part", "delta-stats-optional", "table-with-columnmapping-mode-name"}
    | {"table-with-icebegCompatV2Enabled"},
}
TRUTH = GOLDEN / "_expected" / "_skip_truth.json"


def rows_of(frame):
    return plain_rows(to_arrow(frame).to_pylist())


def readable(reader, tables, where=None):
    """Return the rows that a reader returns, for each table that it can read."""
    answers = ask(reader, [{"table": str(table), "where": where} for table in tables])
    return {table: answer["rows"] for table, answer in zip(tables, answers, strict=True) if "rows" in answer}


@pytest.fixture(scope="module")
def golden():
    if not GOLDEN.is_dir():
        pytest.skip(f"{GOLDEN} is not there: the golden Delta tables are not part of the project")
    return sorted(place.parent for place in GOLDEN.glob("*/_delta_log"))


@pytest.fixture
def in_utc(spark):
    # Bounds of cached columns leave NaN out, and Spark takes them for bounds of all.
    wanted = {"spark.sql.session.timeZone": "UTC", "spark.sql.inMemoryColumnarStorage.partitionPruning": "false"}
    with settings(spark, wanted):
        yield spark


@pytest.mark.deep
@pytest.mark.parametrize("reader", READERS)
def test_golden_tables_have_the_rows_that_other_readers_find(reader, in_utc, golden):
    if reason := missing(reader):
        pytest.skip(reason)
    same = 0
    for table, rows in readable(reader, golden).items():
        if table.name in OTHERWISE.get(reader, ()):
            continue
        assert rows_of(pr.read(table, where="true", session=in_utc)) == rows, table.name
        same += 1
    assert same > 35


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", sorted(json.loads(TRUTH.read_text())) if TRUTH.exists() else [])
def test_what_a_predicate_selects_of_golden_tables_is_what_it_selects_of_all_rows(name, in_utc):
    every = pr.read(GOLDEN / name, where="true", session=in_utc).cache()
    for one in json.loads(TRUTH.read_text())[name]["predicates"][::15]:
        where = one["predicate"]
        try:
            found = pr.read(GOLDEN / name, where=where, session=in_utc)
        except PredicateSyntaxError:
            assert "[" in where
            continue
        assert found.schema == every.schema
        assert rows_of(found) == rows_of(every.where(where)), where
    every.unpersist()


def make(place, rows, *, partition_by=("part",), properties=None, name="{}/x y%41[{}].parquet"):
    """Create a table with one file per partition value, in paths that do not contain the values."""
    deltalog.create_table(place, rows.schema, partition_by=partition_by, properties=properties)
    snapshot = deltalog.open_snapshot(place)
    stored = rows.drop_columns(list(partition_by))
    files = []
    for number, value in enumerate(rows[partition_by[0]].to_pylist()):
        path = name.format(number % 3, number)
        Path(place, path).parent.mkdir(exist_ok=True)
        pq.write_table(stored.slice(number, 1), Path(place, path))
        files.append(deltalog.NewFile(path, {partition_by[0]: None if value is None else str(value)}))
    deltalog.append(snapshot, deltalog.adds_of(str(place), snapshot.schema, files))
    return place


@pytest.mark.parametrize("count", [1, 3, MAX_READS + 4])
def test_partition_values_come_from_the_log_whatever_files_are_called(in_utc, tmp_path, count):
    parts = [None, "a=b/c %", "é[1]", *(str(i) for i in range(count))][:count]
    rows = pa.table({"id": range(count), "part": pa.array(parts, pa.string())})
    make(tmp_path, rows, name="part=wrong-{}/x y%41[{}]ü.parquet")
    assert rows_of(pr.read(tmp_path, where="true", session=in_utc)) == plain_rows(rows.to_pylist())
    assert rows_of(pr.read(tmp_path, where="part IS NULL", session=in_utc)) == plain_rows(rows.to_pylist()[:1])


def test_partition_values_are_cast_as_delta_spark_casts_them(in_utc, tmp_path):
    days = [dt.date(2024, 1, day) for day in range(1, 4)]
    make(tmp_path, pa.table({"id": range(3), "part": days}))
    found = pr.read(tmp_path, where="part > DATE '2024-01-01'", session=in_utc)
    assert found.dtypes == [("id", "bigint"), ("part", "date")]
    assert sorted(row.part for row in found.collect()) == days[1:]


def test_an_older_version_is_read_as_it_was(spark, tmp_path):
    make(tmp_path, pa.table({"id": range(3), "part": ["a", "b", "c"]}))
    snapshot = deltalog.open_snapshot(tmp_path)
    deltalog.rewrite(snapshot, removes=snapshot.paths()[:2])
    assert pr.read(tmp_path, where="true", session=spark).count() == 1
    assert pr.read(tmp_path, where="true", session=spark, version=1).count() == 3
    assert pr.read(tmp_path, where="part = 'a'", session=spark, version=1).count() == 1
    with pytest.raises(WrongUse, match="leave out version and timestamp"):
        pr.read(tmp_path, where="true", session=spark, version=1, plan=pr.plan(tmp_path, where="true", session=spark))


def test_a_version_of_what_has_none_is_refused(spark, tmp_path):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    with pytest.raises(WrongUse, match="not a Delta table"):
        pr.read(tmp_path, where="id = 1", session=spark, version=0)


def test_nothing_that_survives_is_no_row_of_the_same_columns(spark, tmp_path):
    make(tmp_path, pa.table({"id": range(3), "part": ["a", "b", "c"]}))
    found = pr.read(tmp_path, where="part = 'z'", session=spark)
    assert found.columns == ["id", "part"]
    assert found.collect() == []


def test_only_surviving_files_are_opened(spark, tmp_path):
    make(tmp_path, pa.table({"id": range(4), "part": ["a", "a", "b", "b"]}))
    found = pr.read(tmp_path, where="id = 2", session=spark)
    assert [row.part for row in found.collect()] == ["b"]
    assert len(found.inputFiles()) == 1


def test_columns_with_the_names_of_ours_and_of_sparks_are_columns(spark, tmp_path):
    rows = pa.table({"_metadata": [1, 2], "file_path": ["x", "y"], "part": ["a", "b"], "d.o`t": [5, 6]})
    make(tmp_path, rows)
    assert rows_of(pr.read(tmp_path, where="`d.o``t` > 0", session=spark)) == plain_rows(rows.to_pylist())


def delta_of(place, rows, **options):
    """A Delta table of one file, as pyarrow writes it."""
    deltalog.create_table(place, rows.schema)
    snapshot = deltalog.open_snapshot(place)
    pq.write_table(rows, Path(place, "x.parquet"), **options)
    deltalog.append(snapshot, deltalog.adds_of(str(place), snapshot.schema, [deltalog.NewFile("x.parquet", {})]))


def test_no_row_is_lost_to_what_spark_skips_wrongly(in_utc, tmp_path):
    """Spark's reader distinguishes -0.0 and 0.0 in dictionaries and bloom filters, and its bounds ignore NaN."""
    rows = pa.table({"id": range(6), "x": [-0.0, -0.0, -0.0, 7.0, 7.0, float("nan")]})
    delta_of(tmp_path, rows, row_group_size=3)
    for where, ids in {"x = 0.0": [0, 1, 2], "x IN (0.0, 1.0)": [0, 1, 2], "x > 8": [5], "x >= 7": [3, 4, 5]}.items():
        assert sorted(row.id for row in pr.read(tmp_path, where=where, session=in_utc).collect()) == ids, where


def test_spark_is_handed_what_it_does_not_push_down_by_itself(in_utc, tmp_path):
    days = pa.array(range(1000), pa.date32())
    delta_of(tmp_path, pa.table({"id": range(1000), "day": days}), row_group_size=100)
    found = pr.read(tmp_path, where="year(day) = 1970 AND id % 7 < 9", session=in_utc)
    assert len(found.collect()) == 365
    (scan,) = scan_metrics(found)
    assert scan.rows == 400
