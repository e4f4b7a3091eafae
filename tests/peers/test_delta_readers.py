"""Other readers return the same rows from tables with statistics and checkpoints written by deltalog."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltalog.maintenance.write_checkpoint import write_checkpoint
from deltalog.stats.footer_statistics import NewFile, adds_of
from deltalog.table.schema import read_schema
from tests.peers.delta_readers import READERS, ask, missing
from tests.peers.plain_rows import plain_rows

ROWS, FILES = 60, 6
START = dt.datetime(2024, 1, 1, 12, 30, 15, 678_912, tzinfo=dt.UTC)
FORMS = {
    "json": {},
    "struct": {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"},
    "both": {"delta.checkpoint.writeStatsAsStruct": "true"},
}
FEATURES = ["timestampNtz", "v2Checkpoint"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURES, "writerFeatures": FEATURES}
KINDS = {
    "part": "string",
    "day": "date",
    "i": "integer",
    "big": "long",
    "f": "float",
    "d": "double",
    "dec": "decimal(20,2)",
    "s": "string",
    "ts": "timestamp",
    "ntz": "timestamp_ntz",
    "born": "date",
    "flag": "boolean",
    "raw": "binary",
    "st": {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]},
    "arr": {"type": "array", "elementType": "integer", "containsNull": True},
}
PREDICATES = [
    "i > 51000",
    "i < 3000 OR i IS NULL",
    "big = 4611686018427387913",
    "f >= 7.25",
    "d <= 0.2",
    "s >= 'long'",
    "s = ''",
    "born = DATE '2024-02-10'",
    "born < DATE '2024-01-05'",
    "flag = true AND i > 20000",
    "part = 'b c'",
    "part IS NULL",
    "day = DATE '2024-01-02' AND d > 4",
    "i IN (1000, 52000)",
]


@pytest.fixture(scope="module")
def rows():
    numbers = range(ROWS)
    times = pa.array([START + dt.timedelta(hours=i, microseconds=7 * i) for i in numbers], pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "part": pa.array([["a", "b c", None][i * FILES // ROWS % 3] for i in numbers]),
            "day": pa.array([dt.date(2024, 1, 1 + i * FILES // ROWS // 3) for i in numbers]),
            "i": pa.array([None if i % 7 == 0 else i * 1000 for i in numbers], pa.int32()),
            "big": pa.array([(1 << 62) + i for i in numbers], pa.int64()),
            "f": pa.array([i / 8 for i in numbers], pa.float32()),
            "d": pa.array([-0.0 if i == 0 else i / 7 for i in numbers]),
            "dec": pa.array([Decimal(f"{123456789012345678 + i}.{i:02d}") for i in numbers], pa.decimal128(20, 2)),
            "s": pa.array([None if i == 3 else ["", "long" * (i % 30), "é" * (i % 40)][i % 3] for i in numbers]),
            "ts": times,
            "ntz": times.cast(pa.timestamp("us")),
            "born": pa.array([dt.date(2024, 1, 1) + dt.timedelta(i) for i in numbers]),
            "flag": pa.array([i % 2 == 0 for i in numbers]),
            "raw": pa.array([bytes([i]) for i in numbers]),
            "st": pa.array([None if i % 5 == 0 else {"a": i} for i in numbers]),
            "arr": pa.array([[i, None] for i in numbers], pa.list_(pa.int32())),
        }
    )


def make(place, rows, **configuration):
    """Write a partitioned table whose statistics are stored only in its checkpoint."""
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in KINDS.items()]
    text = json.dumps({"type": "struct", "fields": fields})
    schema = read_schema(text, partition_columns=["part", "day"], mapping="none", location="t")
    files = []
    for number in range(FILES):
        some = rows.slice(number * ROWS // FILES, ROWS // FILES)
        part, day = some["part"][0].as_py(), some["day"][0].as_py()
        path = place / f"part={part or '__HIVE_DEFAULT_PARTITION__'}" / f"day={day}" / f"{number} x.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(some.drop_columns(["part", "day"]), path, row_group_size=4)
        files.append(NewFile(str(path.relative_to(place)), {"part": part, "day": day.isoformat()}))
    adds = adds_of(str(place), schema, files, properties=configuration)
    metadata = {"id": "5b8f1c1e-3a55-4e0e-8f54-000000000001", "format": {"provider": "parquet", "options": {}}}
    metadata |= {"schemaString": text, "partitionColumns": ["part", "day"], "configuration": configuration}
    metadata["createdTime"] = 1
    log = place / "_delta_log"
    log.mkdir()
    for version, lines in enumerate(
        (
            [{"protocol": PROTOCOL}, {"metaData": metadata}],
            [{"add": _said(add)} for add in adds],
            [{"txn": {"appId": "a", "version": 1}}],
        )
    ):
        (log / f"{version:020d}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


def _said(add):
    return {name: value for name, value in msgspec.to_builtins(add).items() if value is not None}


def leave_checkpoint_alone(place):
    """Remove all commits that the newest checkpoint replaces; delta-spark requires one commit."""
    commits = sorted((place / "_delta_log").glob("*[0-9].json"))
    for commit in [commit for commit in commits if "checkpoint" not in commit.name][:-1]:
        commit.unlink()


@pytest.fixture(scope="module")
def tables(rows, tmp_path_factory):
    found = {}
    for form, properties in FORMS.items():
        for policy in ("classic", "v2"):
            place = tmp_path_factory.mktemp("readers") / f"{form}-{policy}"
            make(place, rows, **properties, **({"delta.checkpointPolicy": "v2"} if policy == "v2" else {}))
            write_checkpoint(str(place))
            leave_checkpoint_alone(place)
            found[form, policy] = place
    return found


@pytest.fixture(scope="module")
def truth(rows):
    """Return the rows that each predicate selects, from DuckDB without a table format."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("SET timezone='UTC'")
    connection.register("t", rows)
    order = sorted(rows.column_names)
    found = {None: plain_rows(rows.select(order).to_pylist())}
    for where in PREDICATES:
        numbers = connection.execute(f"SELECT big FROM t WHERE {where}").fetchall()
        chosen = {number for (number,) in numbers}
        found[where] = plain_rows(row for row in rows.to_pylist() if row["big"] in chosen)
        assert 0 < len(found[where]) < ROWS
    return found


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_the_rows_of_a_table_that_our_checkpoint_tells_of(reader, tables, truth):
    if reason := missing(reader):
        pytest.skip(reason)
    # delta-spark takes seconds per query.
    asked = [(kind, where) for kind in tables for where in (None, *PREDICATES[:: 7 if reader == "delta-spark" else 1])]
    answers = ask(reader, [{"table": str(tables[kind]), "where": where} for kind, where in asked])
    for (kind, where), found in zip(asked, answers, strict=True):
        assert "error" not in found, (kind, where, found)
        assert found["rows"] == truth[where], (kind, where)
        assert found["files"] is None or len(found["files"]) == FILES


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reader", [reader for reader in READERS if reader != "delta-spark"])
def test_golden_tables_are_the_same_to_every_reader_from_our_checkpoint(reader, tmp_path):
    from tests.peers.delta_matrix import GOLDEN, copies

    if not GOLDEN.is_dir():
        pytest.skip(f"{GOLDEN} is not there: the golden Delta tables are not part of the project")
    if reason := missing(reader):
        pytest.skip(reason)
    found = copies(tmp_path)
    before = ask(reader, [{"table": str(first)} for first, _ in found.values()])
    after = ask(reader, [{"table": str(second)} for _, second in found.values()])
    same = 0
    for name, was, now in zip(found, before, after, strict=True):
        if "error" not in was:
            assert now.get("rows") == was["rows"], (name, now.get("error"))
            same += 1
    assert same > 25


def test_a_reader_that_loses_a_row_is_noticed(tables, truth, tmp_path):
    """The comparison itself: with a file too few the answers differ."""
    place = tmp_path / "table"
    shutil.copytree(tables["json", "classic"], place)
    (checkpoint,) = (place / "_delta_log").glob("*.checkpoint.parquet")
    table = pq.read_table(checkpoint)
    pq.write_table(table.slice(0, len(table) - 1), checkpoint)
    (found,) = ask("delta-rs", [{"table": str(Path(place))}])
    assert found["rows"] != truth[None]
