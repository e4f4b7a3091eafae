"""Invalid commits are refused before anything is written; errors name the file, column or feature, and a remedy."""

from __future__ import annotations

import json
import shutil

import msgspec
import pyarrow as pa
import pytest
from committed_files import SCHEMA, by, lines, named, partitioned, versions
from delta_tables import alter
from golden import GOLDEN, MISSING
from log_writer import add as logged
from log_writer import field, remove

from deltalog.errors import DeltaError, RefusedCommit, UnsupportedTable
from deltalog.log.actions import Add, DeletionVector, DomainMetadata, Metadata, Protocol, Transaction
from deltalog.snapshot.opening import open_snapshot
from deltalog.table.constraints import Constraint, constraints_of
from deltalog.table.features import writer_features
from deltalog.transaction.change import Change
from deltalog.transaction.commit import commit
from deltalog.transaction.create import create_table
from deltalog.transaction.operations import append, compact, overwrite, rewrite

ONE = "2024-01-01"


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / "table")


@pytest.fixture
def table(place):
    return partitioned(place)


def refused(snapshot, said, act, error=RefusedCommit):
    """Check that the change raises an error with problem and next step, and that nothing was written."""
    before = versions(snapshot.table)
    with pytest.raises(error, match=said) as raised:
        act()
    assert "; " in str(raised.value)
    assert "\n" not in str(raised.value)
    assert versions(snapshot.table) == before


def with_stats(said, **more):
    return msgspec.structs.replace(named("x", day=ONE), stats=said if said is None else json.dumps(said), **more)


# Files


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a b", "not percent-encoded"),
        ("a%2", "not percent-encoded"),
        ("a%zz", "not percent-encoded"),
        ("a?b", "not percent-encoded"),
        ("a#b", "not percent-encoded"),
        ("", "not percent-encoded"),
        ("%FF", "not percent-encoded"),
        ("a\nb", "not percent-encoded"),
        ("/a", "not relative"),
        ("%2Fa", "not relative"),
        ("s3://b/a", "not relative"),
        ("s3:a", "not relative"),
        ("file:/a", "not relative"),
        ("s3%3A//b/a", "not relative"),
        ("a/../b", "a part|an empty part"),
        ("a/%2E%2E/b", "an empty part, or one that is"),
        ("a//b", "an empty part"),
        ("./a", "an empty part, or one that is"),
        ("_delta_log/a", "_delta_log is reserved"),
        ("_change_data/a", "_change_data is reserved"),
    ],
)
def test_a_path_that_readers_stumble_over(table, path, said):
    refused(table, said, lambda: append(table, [named(path, day=ONE)]))


@pytest.mark.parametrize(
    "path", ["a", "a%20b/c.parquet", "é", "day=2024-01-01/x", "p=a%252Fb/x", "a:b/c", "a+b", "~a'(b)"]
)
def test_a_path_that_is_right(table, place, path):
    if path == "a:b/c":  # a colon in the first part looks like a scheme
        refused(table, "not relative", lambda: append(table, [named(path, day=ONE)]))
        path = "./".strip("./") + "d/" + path
    append(table, [named(path, day=ONE)])
    assert open_snapshot(place).file_count == 1


def test_numbers_that_are_none(table):
    for more in ({"size": -1}, {"size": 1 << 63}):
        refused(
            table,
            "is not valid; give the size",
            lambda more=more: append(table, [with_stats({"numRecords": 1}, **more)]),
        )
    refused(
        table, "the modification time -5", lambda: append(table, [with_stats({"numRecords": 1}, modification_time=-5)])
    )


def test_partition_values_of_other_columns(table):
    for values in ({}, {"day": ONE, "id": "1"}, {"Day": ONE}, {"id": "1"}):
        refused(table, "the table is partitioned by day", lambda values=values: append(table, [named("x", **values)]))


@pytest.mark.parametrize("text", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_a_partition_value_that_is_null_to_some(table, text):
    refused(
        table,
        "is null to some readers and a string to others; write null",
        lambda: append(table, [named("x", day=text)]),
    )


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (pa.int32(), ["0", "-7"], ["x", "1.5", "99999999999", "0x10"]),
        (pa.int8(), ["127"], ["128"]),
        (pa.date32(), [ONE], ["yesterday", "2024-13-01", "2024-1-5"]),
        (pa.bool_(), ["true", "false"], ["yes", "1", "True"]),
        (pa.decimal128(5, 2), ["1.50", "-0.01"], ["abc", "123456.70", "0.001", "1.5", "7", "1E2"]),
        (pa.decimal128(5, 0), ["7"], ["7.0", "7.00"]),
        (pa.float64(), ["1.5", "NaN", "-Infinity", "1e10"], ["abc"]),
        (pa.float32(), ["0.1"], ["x"]),
        (pa.timestamp("us"), ["2024-01-01 10:00:00.5"], ["2024-01-01T10:00:00Z", "2024-01-01"]),
        (pa.timestamp("us", "UTC"), ["2024-01-01 10:00:00", "2024-01-01T10:00:00.123456Z"], ["noon"]),
    ],
)
def test_partition_values_are_of_their_type(tmp_path, kind, good, bad):
    place = str(tmp_path / "table")
    create_table(place, pa.schema([("id", pa.int64()), ("p", kind)]), partition_by=["p"])
    snapshot = open_snapshot(place)
    append(snapshot, [named(f"{i}", p=text) for i, text in enumerate([*good, None])])
    for text in bad:
        refused(snapshot, "the partition value .* is no", lambda text=text: append(snapshot, [named("x", p=text)]))


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"numRecords":"1"}',
        '{"numRecords":1.5}',
        '{"numRecords":1,"minValues":[]}',
        '{"numRecords":1} x',
    ],
)
def test_statistics_that_are_no_statistics(table, said):
    add = msgspec.structs.replace(named("x", day=ONE), stats=said)
    refused(table, "its statistics are not JSON with numRecords", lambda: append(table, [add]))


def test_statistics_that_contradict_the_table(table):
    refused(table, "-1 records", lambda: append(table, [with_stats({"numRecords": -1})]))
    for part in ("minValues", "maxValues", "nullCount"):
        add = with_stats({"numRecords": 1, part: {"ID": 0}})
        refused(table, f"{part} of ID, which the table lacks", lambda add=add: append(table, [add]))


def test_a_file_may_have_no_statistics(table, place):
    append(table, [with_stats(None)])
    assert open_snapshot(place).file_count == 1


def test_nested_statistics_are_looked_up(tmp_path):
    place = str(tmp_path / "table")
    create_table(place, pa.schema([("s", pa.struct([("a", pa.int64())])), ("l", pa.list_(pa.int64()))]))
    snapshot = open_snapshot(place)
    good = {"numRecords": 1, "minValues": {"s": {"a": 1}}, "nullCount": {"s": {"a": 0}, "l": 0}}
    append(snapshot, [Add("a", 1, {}, 1, json.dumps(good))])
    bad = Add("b", 1, {}, 1, json.dumps({"numRecords": 1, "minValues": {"s": {"b": 1}}}))
    refused(snapshot, "minValues of s.b, which the table lacks", lambda: append(snapshot, [bad]))


def test_a_file_is_spoken_of_once(table, place):
    refused(table, "is added twice", lambda: append(table, [named("x", day=ONE), named("%78", day=ONE)]))
    append(table, [named("x", day=ONE)])
    snapshot = open_snapshot(place)
    refused(snapshot, "a file of version 1 already", lambda: append(snapshot, [named("x", day=ONE)]))
    again = named("x", day=ONE)
    refused(snapshot, "added and removed by one commit", lambda: rewrite(snapshot, removes=["x"], adds=[again]))


# Deletion vectors


def vector(cardinality=1):
    return DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, cardinality, 1)


def test_deletion_vectors_need_their_feature_and_whole_counts(table, place):
    wide = {"numRecords": 2, "tightBounds": False}
    refused(
        table,
        "a deletion vector, which the table does not allow; set delta.enableDeletionVectors",
        lambda: append(table, [with_stats(wide, deletion_vector=vector())]),
    )
    alter(table, properties={"delta.enableDeletionVectors": "true"})
    append(open_snapshot(place), [named("x", rows=2, day=ONE)])
    snapshot = open_snapshot(place)
    for said, dv in ((None, vector()), ({"numRecords": 2}, vector()), (wide, vector(3))):
        refused(
            snapshot,
            "needs statistics; give numRecords, all rows counted, and tightBounds=false",
            lambda said=said, dv=dv: rewrite(snapshot, removes=["x"], adds=[with_stats(said, deletion_vector=dv)]),
        )
    good = with_stats(wide, deletion_vector=vector())
    refused(snapshot, "a file of version 2 already", lambda: append(snapshot, [good]))
    rewrite(snapshot, removes=["x"], adds=[good])
    (block,) = open_snapshot(place).blocks
    assert block.vectors[0].as_py()["cardinality"] == 1
    # The next one names the vector that it removes.
    rewrite(open_snapshot(place), removes=["x"])
    assert open_snapshot(place).file_count == 0


# Promises of a table


def test_an_append_only_table_loses_no_rows(place):
    snapshot = partitioned(place, **{"delta.appendOnly": "true"})
    append(snapshot, [named("a", day=ONE), named("b", day=ONE)])
    snapshot = open_snapshot(place)
    refused(snapshot, "append-only and 1 file would be removed; unset", lambda: rewrite(snapshot, removes=["a"]))
    refused(snapshot, "append-only and 2 files", lambda: overwrite(snapshot, []))
    sneaky = Change(operation="?", removes=["a"], metadata=msgspec.structs.replace(snapshot.metadata, configuration={}))
    refused(snapshot, "append-only", lambda: commit(snapshot, sneaky))
    compact(snapshot, removes=["a", "b"], adds=[named("c", rows=2, day=ONE)])
    assert open_snapshot(place).paths() == ["c"]


def test_a_change_feed_takes_whole_files_alone(place):
    snapshot = partitioned(place, **{"delta.enableChangeDataFeed": "true"})
    append(snapshot, [named("a", day=ONE), named("b", day=ONE)])
    snapshot = open_snapshot(place)
    refused(
        snapshot,
        "changeDataFeed: rows move",
        lambda: rewrite(snapshot, removes=["a"], adds=[named("c", day=ONE)]),
        UnsupportedTable,
    )
    rewrite(snapshot, removes=["a"])
    compact(open_snapshot(place), removes=["b"], adds=[named("c", day=ONE)])
    overwrite(open_snapshot(place), [named("d", day=ONE)])
    assert open_snapshot(place).paths() == ["d"]


@pytest.mark.parametrize(
    ("columns", "configuration", "feature"),
    [
        ([field("id", "long", **{"delta.invariants": '{"expression":{"expression":"id > 0"}}'})], {}, "invariants"),
        ([field("id", "long", **{"delta.generationExpression": "1"})], {}, "generatedColumns"),
        ([field("id", "long", **{"delta.identity.start": 1, "delta.identity.step": 1})], {}, "identityColumns"),
        ([field("id", "long")], {"delta.constraints.positive": "id > 0"}, "checkConstraints"),
    ],
)
def test_rows_that_would_have_to_be_looked_at(log, columns, configuration, feature):
    log.create(columns, logged("a"), protocol={"minReaderVersion": 1, "minWriterVersion": 6}, **configuration)
    snapshot = open_snapshot(log.path)
    refused(
        snapshot,
        f"{feature}: .*not checked here; commit with Spark",
        lambda: append(snapshot, [named("x")]),
        UnsupportedTable,
    )
    # Compaction and removal add no new rows, so they are allowed.
    compact(snapshot, removes=["a"], adds=[named("b")])
    rewrite(open_snapshot(log.path), removes=["b"])


def test_a_column_that_must_not_be_null_is_proven_by_statistics(tmp_path):
    place = str(tmp_path / "table")
    create_table(
        place,
        pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("p", pa.string(), nullable=False)]),
        partition_by=["p"],
    )
    snapshot = open_snapshot(place)
    for said, count in (
        (None, "unknown"),
        ({"numRecords": 1}, "unknown"),
        ({"numRecords": 1, "nullCount": {"id": 1}}, "1"),
    ):
        add = Add("x", 1, {"p": "a"}, 1, None if said is None else json.dumps(said))
        refused(
            snapshot,
            f"column id must not be null, and its null count in the file is {count}",
            lambda add=add: append(snapshot, [add]),
        )
    refused(snapshot, "partition column p must not be null", lambda: append(snapshot, [named("x", p=None)]))
    append(snapshot, [named("x", p="a")])


def test_a_clustered_table_needs_statistics_of_what_it_is_clustered_by(log):
    features = ["appendOnly", "clustering", "domainMetadata", "invariants"]
    clustering = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"]]}', "removed": False}
    log.create(
        [("id", "long")],
        {"domainMetadata": clustering},
        protocol={"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features},
    )
    snapshot = open_snapshot(log.path)
    for stats in (None, {"numRecords": 1}, {"numRecords": 1, "nullCount": {"id": 0}}):
        add = Add("x", 1, {}, 1, None if stats is None else json.dumps(stats))
        refused(
            snapshot, "clustered by id, so every file needs its statistics", lambda add=add: append(snapshot, [add])
        )
    append(snapshot, [named("x"), Add("null", 1, {}, 1, '{"numRecords":2,"nullCount":{"id":2}}')])
    system = Change(operation="CLUSTER BY", domains=[DomainMetadata("delta.clustering", "{}")])
    refused(
        snapshot, "the domain delta.clustering belongs to a feature", lambda: commit(snapshot, system), UnsupportedTable
    )


# Row ids


def given(place, version):
    """Return the row ids of the files of a commit, and the value of its domain."""
    adds = [line["add"] for line in lines(place, version) if "add" in line]
    said = [line["domainMetadata"]["configuration"] for line in lines(place, version) if "domainMetadata" in line]
    return [(add["baseRowId"], add["defaultRowCommitVersion"]) for add in adds], [json.loads(one) for one in said]


def test_every_row_gets_an_id_of_its_own(place):
    create_table(place, SCHEMA, properties={"delta.feature.rowTracking": "supported"}, adds=[named("z", rows=4)])
    seen = open_snapshot(place)
    assert seen.protocol.writer_features == ["appendOnly", "domainMetadata", "invariants", "rowTracking"]
    append(seen, [named("a", rows=3), named("b", rows=5)])
    # The append starts from version 0, and takes the ids after those of version 1.
    append(seen, [named("c", rows=2), named("empty", rows=0)])
    append(seen, [])
    overwrite(open_snapshot(place), [named("d", rows=1)])
    assert given(place, 0) == ([(0, 0)], [{"rowIdHighWaterMark": 3}])
    assert given(place, 1) == ([(4, 1), (7, 1)], [{"rowIdHighWaterMark": 11}])
    assert given(place, 2) == ([(12, 2), (14, 2)], [{"rowIdHighWaterMark": 13}])
    assert given(place, 3) == ([], [])
    assert given(place, 4) == ([(14, 4)], [{"rowIdHighWaterMark": 14}])
    snapshot = open_snapshot(place)
    refused(
        snapshot, "rowTracking gives every row an id; give statistics", lambda: append(snapshot, [Add("x", 1, {}, 1)])
    )


def test_rows_that_must_keep_their_ids_are_not_carried(log):
    enabled = {"delta.enableRowTracking": "true", "delta.rowTracking.materializedRowIdColumnName": "_id"}
    features = ["appendOnly", "domainMetadata", "invariants", "rowTracking"]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    log.create([("id", "long")], protocol=protocol, **enabled)
    append(open_snapshot(log.path), [named("a"), named("b")])
    snapshot = open_snapshot(log.path)
    for act in (
        lambda: rewrite(snapshot, removes=["a"], adds=[named("c")]),
        lambda: compact(snapshot, removes=["a", "b"], adds=[named("c", rows=2)]),
    ):
        refused(snapshot, "rowTracking: rows must keep their ids", act, UnsupportedTable)
    rewrite(snapshot, removes=["a"])
    overwrite(open_snapshot(log.path), [named("d")])
    assert given(log.path, 3) == ([(2, 3)], [{"rowIdHighWaterMark": 2}])


def test_row_tracking_is_not_switched_on(table, place):
    features = {"delta.feature.rowTracking": "supported"}
    refused(
        table, "rowTracking is not added to a table here", lambda: alter(table, properties=features), UnsupportedTable
    )
    with pytest.raises(UnsupportedTable, match="rowTracking is not enabled here"):
        create_table(f"{place}-2", SCHEMA, properties={"delta.enableRowTracking": "true"})


# Features by name


UNKNOWN = [
    "allTheNewThings",
    "coordinatedCommits-preview",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "icebergWriterCompatV1",
    "materializePartitionColumns",
    "redirectWriterOnly-preview",
    "collations-preview",
    "columnMappingUsageTracking",
]


@pytest.mark.parametrize("feature", UNKNOWN)
def test_a_writer_feature_that_is_not_understood_is_named(log, feature):
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["appendOnly", feature]}
    log.create([("id", "long")], protocol=protocol)
    snapshot = open_snapshot(log.path)
    for act in (lambda: append(snapshot, [named("x")]), lambda: alter(snapshot, properties={"a": "b"})):
        refused(snapshot, f"table feature {feature} is not understood by this writer; ", act, UnsupportedTable)


def test_a_writer_version_that_is_not_known_is_named(log):
    log.create([("id", "long")], protocol={"minReaderVersion": 1, "minWriterVersion": 8, "writerFeatures": []})
    snapshot = open_snapshot(log.path)
    refused(snapshot, "writer version 8 is not known", lambda: append(snapshot, [named("x")]), UnsupportedTable)


@pytest.mark.parametrize("feature", ["icebergCompatV2", "allTheNewThings", "catalogManaged"])
def test_nobody_creates_a_table_that_cannot_be_written(place, feature):
    with pytest.raises(UnsupportedTable, match=f"table feature {feature} is not understood"):
        create_table(place, SCHEMA, properties={f"delta.feature.{feature}": "supported"})
    with pytest.raises(DeltaError):
        open_snapshot(place)


def test_every_golden_table_is_committed_to_or_refused_by_name(tmp_path):
    """Golden tables of other writers accept a file, or the refusal names the feature or constraint."""
    if not GOLDEN.is_dir():
        pytest.skip(MISSING)
    taken, named_features = [], {}
    for source in sorted(path for path in GOLDEN.iterdir() if (path / "_delta_log").is_dir()):
        place = shutil.copytree(source, tmp_path / source.name)
        try:
            snapshot = open_snapshot(place)
        except DeltaError:
            continue
        values = dict.fromkeys(column.partition for column in snapshot.schema.columns if column.partition is not None)
        new = Add("new-file", 1, values, 1, '{"numRecords":0}')
        before = sorted(snapshot.paths())
        try:
            done = append(snapshot, [new], checkpoint=False)
        except UnsupportedTable as error:
            named_features[source.name] = {name for name in writer_features(snapshot.protocol) if name in str(error)}
            continue
        assert done.version == snapshot.version + 1
        assert sorted(open_snapshot(place).paths()) == sorted([*before, "new-file"])
        if before:
            overwrite(open_snapshot(place), [], checkpoint=False)
            assert open_snapshot(place).paths() == []
        taken.append(source.name)
    assert len(taken) >= 45
    assert all(named_features.values())
    assert named_features["table-with-icebegCompatV2Enabled"] == {"icebergCompatV2"}


# metaData and protocol


def test_a_schema_may_grow_where_files_stay(table, place):
    append(table, [named("a", day=ONE)])
    snapshot = open_snapshot(place)
    tree = json.loads(snapshot.schema.text)

    def changed(change):
        copy = json.loads(json.dumps(tree))
        change(copy["fields"])
        return json.dumps(copy)

    cases = {
        "column id changes from long to string": lambda fields: fields[0].update(type="string"),
        "lack the new column n; make the column nullable": lambda fields: fields.append(
            {"name": "n", "type": "long", "nullable": False, "metadata": {}}
        ),
        "may have nulls in id; leave the column nullable": lambda fields: fields[0].update(nullable=False),
        "column ID twice": lambda fields: fields.append(field("ID", "long")),
        "column id is gone": lambda fields: fields[0].update(name="ID"),
    }
    for said, change in cases.items():
        refused(snapshot, said, lambda change=change: alter(snapshot, schema=changed(change)))
    alter(snapshot, schema=changed(lambda fields: fields.append(field("more", "timestamp_ntz"))))
    grown = open_snapshot(place)
    assert [leaf.path for leaf in grown.schema.leaves] == [("id",), ("day",), ("more",)]
    assert grown.protocol.reader_features == ["timestampNtz"]
    # If no file remains, every change is allowed.
    overwrite(grown, [], schema=changed(lambda fields: fields[0].update(type="string")))


def test_a_type_inside_of_an_array_stays(tmp_path):
    place = str(tmp_path / "table")
    create_table(place, pa.schema([("l", pa.list_(pa.int32()))]), adds=[Add("a", 1, {}, 1)])
    snapshot = open_snapshot(place)
    text = snapshot.schema.text.replace("integer", "long")
    refused(snapshot, "column l changes from array to array", lambda: alter(snapshot, schema=text))


def test_partition_columns_stay_where_files_do(table, place):
    append(table, [named("a", day=ONE)])
    snapshot = open_snapshot(place)
    other = msgspec.structs.replace(snapshot.metadata, partition_columns=[])
    refused(
        snapshot, "the partition columns cannot change", lambda: commit(snapshot, Change(operation="?", metadata=other))
    )
    change = Change(operation="?", metadata=other, removes=["a"], adds=[named("b")], replaces=True)
    commit(snapshot, change)
    assert open_snapshot(place).schema.partition_columns == ()


def test_the_table_stays_the_table(table):
    other = msgspec.structs.replace(table.metadata, id="another")
    refused(table, "another table id; keep", lambda: commit(table, Change(operation="?", metadata=other)))


def test_a_protocol_loses_nothing(place):
    snapshot = partitioned(place, **{"delta.enableDeletionVectors": "true"})
    for protocol in (Protocol(1, 2), Protocol(3, 7, ["deletionVectors"], ["deletionVectors"]), Protocol(3, 7, [], [])):
        refused(
            snapshot,
            "the protocol would lose .*; drop features with Spark",
            lambda protocol=protocol: commit(snapshot, Change(operation="?", protocol=protocol)),
        )


def test_a_property_without_its_feature_is_refused(table):
    metadata = msgspec.structs.replace(table.metadata, configuration={"delta.enableInCommitTimestamps": "true"})
    refused(
        table,
        "needs the table features inCommitTimestamp, which the protocol lacks",
        lambda: commit(table, Change(operation="?", metadata=metadata)),
    )


@pytest.mark.parametrize(
    ("columns", "partition_by", "said"),
    [
        ([("a", "long")], ["a"], "leave no column for files"),
        ([("a", "long"), ("b", "long")], ["b", "b"], "repeat, or leave no column for files"),
        ([("a", "long"), ("A", "long")], [], "column A twice"),
        ([("a", "long"), ("s", {"type": "struct", "fields": [field("x", "long")]})], ["s"], "s.* is nested"),
        ([("a", "long")], ["zzz"], "partitioned by 'zzz', which it lacks"),
    ],
)
def test_a_table_that_makes_no_sense_is_not_created(place, columns, partition_by, said):
    text = json.dumps({"type": "struct", "fields": [field(*column) for column in columns]})
    with pytest.raises(DeltaError, match=said):
        create_table(place, text, partition_by=partition_by)


def test_an_isolation_level_that_is_not_known_is_refused(tmp_path, log):
    table = partitioned(tmp_path / "other")
    said = "'Whatever', which is not known; set it to Serializable"
    refused(table, said, lambda: alter(table, properties={"delta.isolationLevel": "Whatever"}))
    log.create([("id", "long")], **{"delta.isolationLevel": "Whatever"})
    snapshot = open_snapshot(log.path)
    refused(snapshot, said, lambda: append(snapshot, []))
    alter(snapshot, properties={"delta.isolationLevel": "serializable"})


# Column mapping


def mapped(log, *actions):
    columns = [
        field("id", "long", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}),
        field("day", "string", **{"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}),
    ]
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    log.create(
        columns, *actions, partitioned=["day"], protocol={"minReaderVersion": 2, "minWriterVersion": 5}, **configuration
    )
    return open_snapshot(log.path)


def test_mapped_columns_go_by_their_physical_names(log):
    snapshot = mapped(log)
    stats = '{"numRecords":1,"minValues":{"col-1":0}}'
    logical = Add("a", 1, {"day": ONE}, 1, stats)
    refused(snapshot, "partition values of day, the table is partitioned by col-2", lambda: append(snapshot, [logical]))
    refused(
        snapshot,
        "minValues of id, which the table lacks; .* which are the physical names",
        lambda: append(snapshot, [Add("a", 1, {"col-2": ONE}, 1, '{"numRecords":1,"minValues":{"id":0}}')]),
    )
    append(snapshot, [Add("a", 1, {"col-2": ONE}, 1, stats)])
    refused(
        snapshot,
        "columnMapping: this package changes neither the columns",
        lambda: alter(snapshot, schema=snapshot.schema.text.replace('"id"', '"number"')),
        UnsupportedTable,
    )


def test_a_mapping_is_not_made_up(place):
    with pytest.raises(RefusedCommit, match=r"columnMapping: column id lacks delta\.columnMapping\.id"):
        create_table(place, SCHEMA, properties={"delta.columnMapping.mode": "name"})


def test_a_table_with_a_whole_mapping_is_created(place):
    columns = [
        field("id", "long", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}),
        field("n", "long", **{"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}),
    ]
    text = json.dumps({"type": "struct", "fields": columns})
    mode = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    with pytest.raises(RefusedCommit, match="ids repeat, or exceed"):
        create_table(place, text, properties=mode)
    create_table(place, text, properties=mode | {"delta.columnMapping.maxColumnId": "2"})
    assert open_snapshot(place).protocol.reader_features == ["columnMapping"]


# Others


def test_an_application_has_a_name_and_counts_from_zero(table):
    for txn in (Transaction("", 1), by("app", -1)):
        refused(table, "are not an application and version", lambda txn=txn: append(table, [], txn=txn))


def test_domains_need_their_feature(table):
    change = Change(operation="?", domains=[DomainMetadata("mine", "{}")])
    refused(table, "lacks the feature domainMetadata", lambda: commit(table, change))
    twice = Change(operation="?", domains=[DomainMetadata("mine", "{}")] * 2)
    refused(table, "sets a domain twice", lambda: commit(table, twice))


def test_a_first_commit_describes_the_table(place):
    from deltalog.transaction.commit import commit_first

    for change in (Change(operation="?"), Change(operation="?", metadata=Metadata(), removes=["a"])):
        with pytest.raises(
            RefusedCommit, match="the first commit of a table must have a metaData action and no removals"
        ):
            commit_first(place, change)


def test_a_type_that_delta_lacks_is_named(place):
    for kind in (pa.uint64(), pa.time64("us"), pa.decimal256(40, 2), pa.float16(), pa.duration("us")):
        with pytest.raises(RefusedCommit, match=r"column a has the type .*, which Delta lacks; cast it"):
            create_table(place, pa.schema([("a", kind)]))


def test_an_old_tombstone_of_the_same_name_is_no_file(log):
    log.create([("id", "long")], logged("a"))
    log.commit(remove("a"))
    assert append(open_snapshot(log.path), [named("a")]).version == 2
    assert open_snapshot(log.path).paths() == ["a"]


@pytest.mark.parametrize(
    "change",
    [
        {"delta.columnMapping.physicalName": "c9"},
        {"delta.columnMapping.id": 3},
        {"delta.columnMapping.id": 2, "added": True},
        {"delta.columnMapping.id": 5, "delta.columnMapping.physicalName": "c1", "added": True},
    ],
    ids=["renamed", "numbered anew", "an old number", "an old name"],
)
def test_under_column_mapping_ids_and_physical_names_of_columns_stay(place, change):
    told = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"}
    tree = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": told}]}
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    create_table(place, json.dumps(tree), properties=properties)
    if change.pop("added", False):
        metadata = {"delta.columnMapping.physicalName": "new"} | change
        tree["fields"].append(tree["fields"][0] | {"name": "new", "metadata": metadata})
    else:
        tree["fields"][0]["metadata"] = told | change
    with pytest.raises(UnsupportedTable, match="columnMapping"):
        alter(open_snapshot(place), schema=json.dumps(tree), properties={"delta.columnMapping.maxColumnId": "9"})


def test_rows_that_were_held_to_constraints_are_appended_and_to_these_alone(place):
    create_table(place, pa.schema({"id": pa.int64()}), properties={"delta.constraints.positive": "id > 0"})
    snapshot = open_snapshot(place)
    for obeys in ((), [Constraint("checkConstraints", "positive", "id > -1")]):
        with pytest.raises(UnsupportedTable, match="checkConstraints"):
            append(snapshot, [named("a")], obeys=obeys)
    assert append(snapshot, [named("a")], obeys=list(constraints_of(snapshot.properties, []))).version == 1
