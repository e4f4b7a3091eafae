"""Other readers read every version of tables written by prune-assets with the same rows, or refuse it by name."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import alter, append_rows, delete_rows

import deltalog
import prune_assets as pr
from tests.peers.delta_readers import READERS_OF_VERSIONS, ask, missing
from tests.peers.plain_rows import plain_rows

ODD = ["a", "a b", "a=b", "a/b", "a%b", "a%20b", "a:b", "é", "ü%3D", "日本", '"q"', "#?*[]{}^\\'", "a+b&c", "..", " a "]
ODD += ["x\ty", "2024-01-01T10:00:00Z"]
DAYS = [dt.date(2024, 1, 1), dt.date(1969, 12, 31)]
NOON = dt.datetime(2024, 1, 1, 12, 30, 15, 123456, dt.UTC)
VALUES = {
    "int": (pa.int32(), [1, -2]),
    "long": (pa.int64(), [1 << 40, -2]),
    "date": (pa.date32(), DAYS),
    "string": (pa.string(), ODD),
    "timestamp": (pa.timestamp("us", "UTC"), [NOON, NOON.replace(hour=0, minute=0, second=0, microsecond=0)]),
    "timestamp_ntz": (pa.timestamp("us"), [NOON.replace(tzinfo=None), dt.datetime(1969, 1, 1)]),  # noqa: DTZ001
    "boolean": (pa.bool_(), [True, False]),
    # pyarrow's dataset by delta-rs 1.6 spells a negative one as "-2.-25", and ends.
    "decimal": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("0.25")]),
    "double": (pa.float64(), [1.5, float("inf")]),
}
MAPPED = {"delta.columnMapping.mode": "name"}
VECTORS = {"delta.enableDeletionVectors": "true"}
RANDOM = {"delta.randomizeFilePrefixes": "true", "delta.randomPrefixLength": "3"}
# Features that a reader documents as unsupported.
REFUSED = {
    "delta-rs": set(),
    "polars-deltalake": set(),
    "delta-spark": set(),
    "polars": {"columnMapping"},
    "pyarrow": {"columnMapping", "deletionVectors"},
}
# polars knows partition values by the names of directories alone, which this property is there to avoid.
WRONG = {"polars": "delta.randomizeFilePrefixes"}
WHERE = {"p IS NULL": lambda row: row["p"] is None, "x > 2": lambda row: row["x"] > 2}


def history(place, kind, values, properties):
    """Write a table by every writer that needs no Spark; return the rows of each version."""
    fields = [pa.field("x", pa.int64()), pa.field("p", kind), pa.field("day", pa.date32())]
    create(place, pa.schema(fields), properties)
    rows = [{"x": i, "p": value, "day": DAYS[i % 2]} for i, value in enumerate([*values, None])]
    rows.append({**rows[-1], "x": 40})
    versions = [[]]

    def write(some, mode, kept=()):
        append_rows(place, pa.Table.from_pylist(some, schema=pa.schema(fields)), mode)
        versions.append([*kept, *some])

    write(rows, deltalog.append)
    write(rows[:1], deltalog.append, versions[-1])
    write([{**rows[0], "x": 7}], deltalog.replace_partitions, [row for row in versions[-1] if row["p"] != rows[0]["p"]])
    if properties == VECTORS:
        versions.append(without_one(place, versions[-1]))
    deltalog.write_checkpoint(str(place))
    write([{**row, "x": row["x"] + 10} for row in rows], deltalog.append, versions[-1])
    fields.append(pa.field("new", pa.string()))
    snapshot = deltalog.open_snapshot(place)
    alter(snapshot, **with_column(snapshot, fields[-1]))
    versions.append([{**row, "new": None} for row in versions[-1]])
    write([{**row, "new": "z"} for row in rows], deltalog.append, versions[-1])
    deltalog.write_checkpoint(str(place))
    write([{**row, "new": "last"} for row in rows[-2:]], deltalog.overwrite)
    return versions


def create(place, schema, properties):
    if properties == MAPPED:
        properties, schema = properties | {"delta.columnMapping.maxColumnId": "3"}, mapped(schema)
    deltalog.create_table(place, schema, partition_by=["p", "day"], properties=properties)


def with_column(snapshot, field):
    """The schema and the properties of a table that gets one more column."""
    tree = json.loads(snapshot.schema.text)
    (added,) = json.loads(deltalog.check_create("/t", pa.schema([field])).text)["fields"]
    properties = {}
    if snapshot.schema.mapping != "none":
        added["metadata"] = {"delta.columnMapping.id": 4, "delta.columnMapping.physicalName": "col-4"}
        properties = {"delta.columnMapping.maxColumnId": "4"}
    return {"schema": json.dumps({**tree, "fields": [*tree["fields"], added]}), "properties": properties}


def mapped(schema):
    """The schema as Spark's JSON, each column with a number and a physical name."""
    tree = json.loads(deltalog.check_create("/t", schema).text)
    for number, field in enumerate(tree["fields"], 1):
        field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number} é"}
    return json.dumps(tree)


def without_one(place, rows):
    """Delete a row of a file that has more by a deletion vector."""
    snapshot = deltalog.open_snapshot(place)
    for path in snapshot.paths():
        with pq.ParquetFile(place / path) as file:
            numbers = file.read(["x"])["x"].to_pylist()
        if len(numbers) > 1:
            break
    delete_rows(place, {path: [0]})
    assert deltalog.inspect_snapshot(deltalog.open_snapshot(place)).deletion_vectors == 1
    return [row for row in rows if row["x"] != numbers[0]]


def check(reader, place, versions):
    """Compare the rows that a reader returns for each version with the written rows; count reads and refusals."""
    found = Counter()
    questions = [
        {"table": str(place), "version": version, "where": where}
        for version in range(len(versions))
        for where in (None, *WHERE)
    ]
    for question, answer in zip(questions, ask(reader, questions), strict=True):
        version = question["version"]
        features = set(deltalog.open_snapshot(place, version=version).protocol.reader_features or ())
        if features & REFUSED[reader]:
            assert "error" in answer, (question, features)
            found["refused"] += 1
            continue
        wanted = [row for row in versions[version] if WHERE.get(question["where"], lambda _: True)(row)]
        assert "error" not in answer, (question, answer)
        assert answer["rows"] == plain_rows(wanted), question
        found["read"] += 1
    return found


FORMS = {"plain": {}, "mapped": MAPPED, "vectors": VECTORS, "random": RANDOM}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", VALUES)
def test_readers_find_the_rows_of_every_version(tmp_path, name, form):
    versions = history(tmp_path, *VALUES[name], FORMS[form])
    assert len(versions) == deltalog.open_snapshot(tmp_path).version + 1
    for reader in READERS_OF_VERSIONS:
        if not missing(reader) and WRONG.get(reader) not in FORMS[form]:
            done = check(reader, tmp_path, versions)
            assert done["read"] or done["refused"], reader


def spark_history(spark, place, properties):
    """Write a table by Spark and optimize it; return the rows of each version."""
    schema = pa.schema({"x": pa.int64(), "p": pa.string(), "day": pa.date32(), "at": pa.timestamp("us", "UTC")})
    parts = ["p", "day", "at"]
    properties = properties | ({"delta.columnMapping.maxColumnId": "4"} if properties == MAPPED else {})
    text = mapped(schema) if properties.keys() >= MAPPED.keys() else schema
    deltalog.create_table(place, text, partition_by=parts, properties=properties)
    layout = pr.LayoutSpec(sort_by=["x"], partition_by=parts, files=2)
    partitions = [{"p": p, "day": DAYS[i % 2], "at": NOON} for i, p in enumerate([*ODD[:10], None])]
    partitions += [{"p": "a", "day": None, "at": None}] * 2
    rows = [{"x": i, **partition} for i, partition in enumerate(partitions)]
    versions = [[]]

    def write(some, mode, kept=(), **options):
        frame = spark.createDataFrame(pa.Table.from_pylist(some, schema=schema))
        pr.write(frame, place, layout=layout, format="delta", mode=mode, **options)
        versions.append([*kept, *some])

    write(rows, "append")
    write([{**row, "x": row["x"] + 50} for row in rows], "append", versions[-1])
    write([{**rows[1], "x": 7}], "replace_partitions", [row for row in versions[-1] if row["p"] != rows[1]["p"]])
    write([{**rows[2], "x": 8}], "overwrite", [row for row in versions[-1] if row["p"] != "a=b"], where="p = 'a=b'")
    if properties.items() >= VECTORS.items():
        versions.append(without_one(place, versions[-1]))
    before = deltalog.open_snapshot(place).version
    pr.optimize(place, layout=pr.LayoutSpec(sort_by=["x"]), session=spark)
    versions += [versions[-1]] * (deltalog.open_snapshot(place).version - before)
    assert deltalog.open_snapshot(place).version > before
    return versions


@pytest.mark.spark
@pytest.mark.deep
@pytest.mark.parametrize("form", ["vectors", "plain", "mapped"])
def test_readers_find_the_rows_of_every_version_that_spark_wrote(spark, tmp_path, form):
    versions = spark_history(spark, tmp_path, FORMS[form])
    for version, rows in enumerate(versions):
        found = pr.read(tmp_path, where="true", session=spark, version=version).toArrow()
        assert plain_rows(found.to_pylist()) == plain_rows(rows)
    for path in deltalog.open_snapshot(tmp_path).paths():
        assert "prune_group" not in path
    for reader in READERS_OF_VERSIONS:
        if not missing(reader):
            done = check(reader, tmp_path, versions)
            assert done["read"] or done["refused"], reader


def test_a_value_too_long_for_a_directory_lies_outside_of_them(tmp_path):
    rows = pa.table({"x": [1, 2], "p": ["x" * 300, "é" * 120]})
    deltalog.create_table(tmp_path, rows.schema, partition_by=["p"])
    append_rows(tmp_path, rows)
    folders = sorted(path.rpartition("/")[0] for path in deltalog.open_snapshot(tmp_path).paths())
    assert folders == ["", f"p={'é' * 120}"]
    for reader in ("delta-rs", "polars-deltalake"):
        if not missing(reader):
            (answer,) = ask(reader, [{"table": str(tmp_path)}])
            assert answer["rows"] == plain_rows(rows.to_pylist())


def test_a_random_directory_has_the_length_that_the_table_asks_for(tmp_path):
    rows = pa.table({"x": [1], "p": ["a"]})
    deltalog.create_table(tmp_path, rows.schema, partition_by=["p"], properties=RANDOM)
    append_rows(tmp_path, rows)
    (path,) = deltalog.open_snapshot(tmp_path).paths()
    assert len(path.partition("/")[0]) == 3
    assert path.partition("/")[0].isalnum()


def test_the_log_encodes_paths_of_odd_values_once(tmp_path):
    """The path of the directory `p=a%2Fb é` is URI-encoded in the log, as delta-spark writes it."""
    rows = pa.table({"x": [1], "p": ["a/b é"]})
    deltalog.create_table(tmp_path, rows.schema, partition_by=["p"])
    append_rows(tmp_path, rows)
    lines = (tmp_path / "_delta_log" / f"{1:020d}.json").read_text().splitlines()
    (add,) = (action["add"] for action in map(json.loads, lines) if "add" in action)
    (file,) = tmp_path.glob("p=*/*.parquet")
    assert file.parent.name == "p=a%2Fb é"
    assert add["path"] == f"p=a%252Fb%20%C3%A9/{file.name}"
