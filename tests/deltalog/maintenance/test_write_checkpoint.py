"""A checkpoint contains everything from the commits before it; reads return the same rows with either."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden import GOLDEN, MISSING, REFUSED, tables
from log_writer import add, field, remove
from state_facts import action_facts, snapshot_facts

from deltalog.errors import MalformedLog, NoSuchVersion, UnsupportedTable
from deltalog.log.listing import list_log
from deltalog.maintenance import write_checkpoint as module
from deltalog.maintenance.last_checkpoint import write_hint
from deltalog.maintenance.log_state import open_state
from deltalog.maintenance.write_checkpoint import write_checkpoint
from deltalog.snapshot.opening import open_snapshot
from deltalog.table.properties import TableProperties

ROOT = Path(__file__).parents[3]
NOW = time.time_ns() // 1_000_000
DAY = 86_400_000
COLUMNS = [
    ("part", "string"),
    ("day", "date"),
    ("i", "integer"),
    ("big", "long"),
    ("d", "double"),
    ("f", "float"),
    ("dec", "decimal(24,2)"),
    ("s", "string"),
    ("ts", "timestamp"),
    ("ntz", "timestamp_ntz"),
    ("when", "date"),
    ("flag", "boolean"),
    field("st", {"type": "struct", "fields": [field("a", "long"), field("t", "string")]}),
    field("arr", {"type": "array", "elementType": "long", "containsNull": True}),
]
FEATURES = ["deletionVectors", "timestampNtz", "v2Checkpoint"]
PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": FEATURES,
    "writerFeatures": [*FEATURES, "domainMetadata", "rowTracking", "appendOnly"],
}
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
INLINE = {
    "storageType": "i",
    "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 40,
    "cardinality": 2,
}


def stats(i, **more):
    low = {
        "i": i,
        "big": (1 << 60) + i,
        "d": i / 7,
        "f": i / 8,
        "s": f"a{i}",
        "ts": f"2024-01-01T00:00:{i:02d}.123Z",
        "ntz": f"2024-01-01T00:00:{i:02d}.5",
        "when": f"2024-01-{i + 1:02d}",
        "st": {"a": i, "t": "x"},
    }
    text = json.dumps(
        {
            "numRecords": 10 + i,
            "minValues": low,
            "maxValues": low | {"s": f"b{i}", "d": "NaN" if i == 3 else i + 1.0, "st": {"a": i + 1, "t": "y"}},
            "nullCount": dict.fromkeys(low, 1) | {"st": {"a": 1, "t": 2}, "flag": 3, "arr": 0},
            "tightBounds": True,
        }
        | more
    )
    # A decimal keeps its digits; written as a string it would not be a number.
    return text.replace('"minValues": {', f'"minValues": {{"dec": {12345678901234567890 + i}.05, ').replace(
        '"maxValues": {', f'"maxValues": {{"dec": {12345678901234567890 + i}.25, '
    )


def partition(i):
    return {"part": ["a", "b c", None, "é"][i % 4], "day": f"2024-01-{i % 9 + 1:02d}"}


def fill(log, **configuration):
    """Write a table with every kind of action, in ten versions."""
    first = [
        add(f"p {i}.parquet".replace(" ", "%20"), stats=stats(i), partition=partition(i), size=i + 1) for i in range(8)
    ]
    first += [add("rows.parquet", stats=stats(8), partition=partition(8), baseRowId=7, defaultRowCommitVersion=0)]
    first += [
        add(
            "tags.parquet",
            stats=stats(9),
            partition=partition(9),
            tags={"a": "1", "b": None},
            clusteringProvider="liquid",
        )
    ]
    log.create(COLUMNS, *first, protocol=PROTOCOL, partitioned=["part", "day"], **configuration)
    log.commit({"txn": {"appId": "one", "version": 1, "lastUpdated": NOW}}, {"txn": {"appId": "two", "version": 5}})
    log.commit(
        remove("p%201.parquet", at=NOW),
        add("p%202.parquet", stats=stats(2), partition=partition(2), vector=VECTOR),
        remove("p%202.parquet", at=NOW),
    )
    log.commit(
        {"domainMetadata": {"domain": "d", "configuration": '{"x":1}', "removed": False}}, {"commitInfo": {"a": 1}}
    )
    log.commit(
        {"domainMetadata": {"domain": "gone", "configuration": "", "removed": True}}, {"cdc": {"path": "c", "size": 1}}
    )
    log.commit(add("silent.parquet", partition=partition(1)), add("broken.parquet", stats="{", partition=partition(1)))
    log.commit(
        add("partly.parquet", stats={"numRecords": 4}, partition=partition(2)),
        {"txn": {"appId": "one", "version": 2, "lastUpdated": NOW}},
    )
    log.commit(
        remove("p%203.parquet", at=NOW), remove("old.parquet", at=NOW - 30 * DAY), {"remove": {"path": "older.parquet"}}
    )
    log.commit(add("inline.parquet", stats=stats(5), partition=partition(5), vector=INLINE), {"unknown": {"x": 1}})
    log.commit(
        {
            "remove": {
                "path": "whole.parquet",
                "deletionTimestamp": NOW,
                "dataChange": True,
                "extendedFileMetadata": True,
                "partitionValues": partition(0),
                "size": 9,
                "stats": "{}",
                "tags": {"a": "b"},
                "baseRowId": 1,
            }
        }
    )
    return log


FORMS = {
    "json": {},
    "struct": {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"},
    "both": {"delta.checkpoint.writeStatsAsStruct": "true"},
}
POLICIES = {"classic": {}, "v2": {"delta.checkpointPolicy": "v2"}}


@pytest.fixture(params=[(form, policy) for form in FORMS for policy in POLICIES], ids="-".join)
def kind(request):
    form, policy = request.param
    return FORMS[form] | POLICIES[policy]


def drop_commits(log, *, to):
    """Remove all commits that the checkpoint replaces."""
    for version in range(to):
        (log.place / f"{version:020d}.json").unlink()


def without_bounds_of(facts, names):
    for file in facts["files"].values():
        for name in names:
            file["bounds"].pop(name)
    return facts


def test_a_table_reads_the_same_from_its_checkpoint(log, kind):
    fill(log, **kind)
    before, actions = snapshot_facts(log.path), action_facts(log.path)
    written = write_checkpoint(str(log))
    assert written.version == log.version
    assert written.written
    drop_commits(log, to=log.version)
    assert open_snapshot(log.path).segment.checkpoint is not None
    after = snapshot_facts(log.path)
    if "delta.checkpoint.writeStatsAsStruct" in kind:
        # Text is read as the closest double and that as a float; a struct has the float on either side of it.
        before, after = (without_bounds_of(facts, [("f",)]) for facts in (before, after))
    assert after == before
    found = action_facts(log.path)
    for key in [key for key in actions["removes"] if key[0] in {"old.parquet", "older.parquet"}]:
        del actions["removes"][key]
    for said in actions["removes"].values():
        said.pop("stats", None)
        said.pop("tags", None)
    assert found["removes"] == actions["removes"]
    if "delta.checkpoint.writeStatsAsJson" in kind:
        actions["adds"], found["adds"] = (_without_statistics(adds) for adds in (actions["adds"], found["adds"]))
    assert found["adds"] == actions["adds"]
    assert written.adds == len(found["adds"])


def _without_statistics(adds):
    return {key: {name: value for name, value in said.items() if name != "stats"} for key, said in adds.items()}


def test_statistics_survive_each_change_of_their_form(log):
    fill(log, **FORMS["struct"])
    before = snapshot_facts(log.path)
    metadata = open_snapshot(log.path).metadata
    for form in ("json", "both", "struct", "both", "json"):
        write_checkpoint(str(log))
        drop_commits(log, to=max(0, log.version)) if form == "json" and log.version < 11 else None
        log.commit(
            {
                "metaData": {
                    "id": "t",
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": metadata.schema_string,
                    "partitionColumns": ["part", "day"],
                    "configuration": FORMS[form],
                }
            }
        )
    write_checkpoint(str(log))
    names = [("f",)]
    after = without_bounds_of(snapshot_facts(log.path), names)
    assert open_snapshot(log.path).segment.checkpoint.version == log.version
    assert after["files"] == without_bounds_of(before, names)["files"]
    # Bounds of floats were widened by one step, never narrowed.
    table = pq.read_table(log.place / f"{log.version:020d}.checkpoint.parquet")["add"].combine_chunks()
    for row in table.drop_null().to_pylist():
        said = json.loads(row["stats"]) if row["stats"] not in {None, "{"} else {}
        if "minValues" in said and row["path"].startswith("p%20"):
            i = int(row["path"][4])
            assert said["minValues"]["f"] <= i / 8 <= said["maxValues"]["f"]


def test_structs_of_fewer_columns_are_made_anew_from_the_text(log):
    few = {"delta.dataSkippingNumIndexedCols": "1"} | FORMS["both"]
    fill(log, **few)
    write_checkpoint(str(log))
    metadata = open_snapshot(log.path).metadata
    said = {"id": "t", "format": {"provider": "parquet", "options": {}}, "schemaString": metadata.schema_string}
    log.commit({"metaData": said | {"partitionColumns": ["part", "day"], "configuration": FORMS["both"]}})
    names = []
    for version in (9, 10):
        write_checkpoint(str(log), version)
        table = pq.read_table(log.place / f"{version:020d}.checkpoint.parquet")["add"].combine_chunks().drop_null()
        (row,) = (row for row in table.to_pylist() if row["path"] == "p%200.parquet")
        names.append(row["stats_parsed"]["minValues"])
    assert names[0] == {"i": 0}
    assert names[1].keys() > {"i", "big", "s"}
    assert names[1]["s"] == "a0"


def test_what_the_columns_of_a_checkpoint_hold(log):
    fill(log, **FORMS["both"])
    write_checkpoint(str(log))
    rows = pq.read_table(log.place / f"{log.version:020d}.checkpoint.parquet").to_pylist()
    assert all(sum(value is not None for value in row.values()) == 1 for row in rows)
    assert not {"commitInfo", "cdc"} & rows[0].keys()
    adds = {row["add"]["path"]: row["add"] for row in rows if row["add"]}
    assert not any(said["dataChange"] for said in adds.values())
    assert adds["p%200.parquet"]["stats_parsed"]["minValues"]["i"] == 0
    assert adds["broken.parquet"]["stats_parsed"] is None
    assert "arr" not in adds["p%200.parquet"]["stats_parsed"]["minValues"]
    assert adds["p%200.parquet"]["stats_parsed"]["nullCount"]["arr"] == 0
    assert adds["p%200.parquet"]["partitionValues_parsed"]["part"] == "a"
    assert adds["silent.parquet"]["partitionValues_parsed"]["day"].isoformat() == "2024-01-02"
    (protocol,) = (row["protocol"] for row in rows if row["protocol"])
    assert protocol["readerFeatures"] == FEATURES
    (metadata,) = (row["metaData"] for row in rows if row["metaData"])
    assert metadata["format"] == {"provider": "parquet", "options": []}
    assert {row["domainMetadata"]["domain"] for row in rows if row["domainMetadata"]} == {"d"}
    assert {row["remove"]["path"] for row in rows if row["remove"]} == {
        "p%201.parquet",
        "p%202.parquet",
        "p%203.parquet",
        "whole.parquet",
    }


def test_writing_a_checkpoint_loads_no_pandas(log):
    """Checkpoints are written in processes that commit, which may have no other use for pandas."""
    fill(log)
    script = "import sys; from deltalog.maintenance.write_checkpoint import *; write_checkpoint(sys.argv[1]); "
    script += "print('pandas' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", script, str(log)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=120)
    assert done.stdout.strip() == "False"
    assert open_snapshot(log.path).segment.checkpoint is not None


def test_old_protocols_have_no_lists_of_features(log):
    log.create([("x", "long")], add("a"))
    write_checkpoint(str(log))
    rows = pq.read_table(log.place / f"{0:020d}.checkpoint.parquet").to_pylist()
    (protocol,) = (row["protocol"] for row in rows if row["protocol"])
    assert protocol["readerFeatures"] is protocol["writerFeatures"] is None


@pytest.mark.parametrize("value", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_partition_values_of_doubtful_meaning_are_not_parsed(log, value):
    log.create([("p", "string"), ("x", "long")], add("a", partition={"p": value}), partitioned=["p"], **FORMS["both"])
    write_checkpoint(str(log))
    kind = pq.read_schema(log.place / f"{0:020d}.checkpoint.parquet").field("add").type
    assert kind.get_field_index("partitionValues_parsed") < 0
    assert kind.get_field_index("stats_parsed") >= 0


def test_a_time_without_a_zone_is_not_parsed(log):
    adds = [add("a", partition={"p": "2024-01-01 00:00:00"})]
    log.create([("p", "timestamp"), ("x", "long")], *adds, partitioned=["p"], **FORMS["both"])
    write_checkpoint(str(log))
    kind = pq.read_schema(log.place / f"{0:020d}.checkpoint.parquet").field("add").type
    assert kind.get_field_index("partitionValues_parsed") < 0


@pytest.mark.parametrize("policy", POLICIES)
def test_checkpoints_follow_each_other(log, policy):
    """A checkpoint is built from the previous one and the commits since then."""
    fill(log, **POLICIES[policy])
    write_checkpoint(str(log))
    log.commit(remove("p%204.parquet", at=NOW), add("p%203.parquet", stats=stats(1), partition=partition(3)))
    log.commit(add("p%205.parquet", stats=stats(6), partition=partition(5)), add("new.parquet", partition=partition(5)))
    log.commit(remove("p%202.parquet", at=NOW, vector=VECTOR))
    before, actions = snapshot_facts(log.path), action_facts(log.path)
    write_checkpoint(str(log))
    drop_commits(log, to=log.version)
    assert open_snapshot(log.path).segment.checkpoint.version == log.version
    assert snapshot_facts(log.path) == before
    assert action_facts(log.path)["adds"] == actions["adds"]
    assert action_facts(log.path)["removes"].keys() == actions["removes"].keys()


def test_rows_that_came_back_keep_their_count_and_lose_their_bounds(log):
    fewer = VECTOR | {"cardinality": 1, "offset": 90}
    log.create([("x", "long")], add("a", stats={"numRecords": 9}), protocol=PROTOCOL)
    log.commit(remove("a", at=NOW), add("a", vector=VECTOR, stats={"numRecords": 9, "minValues": {"x": 3}}))
    log.commit(
        remove("a", at=NOW, vector=VECTOR), add("a", vector=fewer, stats={"numRecords": 9, "minValues": {"x": 3}})
    )
    write_checkpoint(str(log))
    ((_, said),) = action_facts(log.path)["adds"].items()
    assert said["stats"] == {"numRecords": 9}


def test_transactions_expire_when_the_table_says_so(log):
    log.create([("x", "long")], **{"delta.setTransactionRetentionDuration": "interval 1 day"})
    ages = {"young": NOW, "old": NOW - 2 * DAY}
    log.commit(*({"txn": {"appId": name, "version": 1, "lastUpdated": at}} for name, at in ages.items()))
    log.commit({"txn": {"appId": "ageless", "version": 1}})
    write_checkpoint(str(log))
    drop_commits(log, to=log.version)
    assert open_snapshot(log.path).transactions.keys() == {"young", "ageless"}


@pytest.mark.parametrize(
    ("retention", "kept"), [("interval 3 days", {"young"}), ("interval 3 months", {"young", "old", "ageless"})]
)
def test_tombstones_expire_by_the_property_or_not_at_all(log, retention, kept):
    log.create([("x", "long")], add("a"), **{"delta.deletedFileRetentionDuration": retention})
    log.commit(remove("young", at=NOW - 2 * DAY), remove("old", at=NOW - 4 * DAY), {"remove": {"path": "ageless"}})
    write_checkpoint(str(log))
    drop_commits(log, to=log.version)
    state = open_state(str(log))
    assert {
        row["path"] for part in state.stored_actions(adds=(), removes=("size",)) for row in part.removes.to_pylist()
    } == kept


def test_there_is_one_checkpoint_of_a_version(log):
    fill(log)
    first = write_checkpoint(str(log))
    content = (log.place / first.files[0]).read_bytes()
    (log.place / "_last_checkpoint").unlink()
    second = write_checkpoint(str(log))
    assert not second.written
    assert second.files == first.files
    assert (log.place / first.files[0]).read_bytes() == content
    said = json.loads((log.place / "_last_checkpoint").read_text())
    assert (said["version"], said["size"]) == (first.version, first.actions)


def test_a_damaged_checkpoint_is_replaced(log):
    fill(log)
    before = snapshot_facts(log.path)
    broken = log.place / f"{log.version:020d}.checkpoint.parquet"
    broken.write_bytes(b"PAR1 nothing PAR1")
    assert write_checkpoint(str(log)).written
    drop_commits(log, to=log.version)
    assert snapshot_facts(log.path) == before


def test_an_older_version_can_be_given_and_does_not_move_the_hint_back(log):
    fill(log)
    write_checkpoint(str(log))
    said = (log.place / "_last_checkpoint").read_text()
    facts = snapshot_facts(log.path, version=4)
    assert write_checkpoint(str(log), 4).version == 4
    assert (log.place / "_last_checkpoint").read_text() == said
    drop_commits(log, to=4)
    assert snapshot_facts(log.path, version=4) == facts
    with pytest.raises(NoSuchVersion, match="version 99 does not exist"):
        write_checkpoint(str(log), 99)


def test_the_hint_has_the_fields_of_the_protocol(log):
    fill(log)
    write_checkpoint(str(log))
    said = json.loads((log.place / "_last_checkpoint").read_text())
    assert said["numOfAddFiles"] == open_snapshot(log.path).file_count
    assert said["sizeInBytes"] == (log.place / f"{log.version:020d}.checkpoint.parquet").stat().st_size
    assert "checksum" not in said


@pytest.mark.parametrize("content", ["", "{", '{"version":99,"size":1}', '{"version":"x"}'])
def test_a_hint_that_lies_is_replaced(log, content):
    fill(log)
    (log.place / "_last_checkpoint").write_text(content)
    write_checkpoint(str(log))
    assert json.loads((log.place / "_last_checkpoint").read_text())["version"] == log.version


def test_writers_at_once_leave_a_whole_hint(log):
    for version in range(6):
        log.create([("x", "long")], add("a")) if version == 0 else log.commit(add(f"f{version}"))
    for version in range(6):
        write_checkpoint(str(log), version, clean=False)
    (log.place / "_last_checkpoint").unlink()
    threads = [
        threading.Thread(target=write_hint, args=(str(log), str(log.place), {"version": version, "size": 1}))
        for version in (0, 5, 1, 4, 2, 3) * 4
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert json.loads((log.place / "_last_checkpoint").read_text())["version"] in range(6)


def test_unknown_features_of_writers_are_refused_by_name(log):
    log.create([("x", "long")], add("a"), protocol=PROTOCOL | {"writerFeatures": [*FEATURES, "futureThing"]})
    with pytest.raises(UnsupportedTable, match="futureThing"):
        write_checkpoint(str(log))
    assert not list_log(str(log)).checkpoints


@pytest.mark.parametrize("policy", POLICIES)
def test_a_number_that_its_field_cannot_hold_is_told(log, policy):
    log.create([("x", "long")], add("a"), protocol=PROTOCOL, **POLICIES[policy])
    log.commit(remove("b", at=NOW) | {"remove": {"path": "b", "deletionTimestamp": NOW, "size": 1 << 80}})
    with pytest.raises(MalformedLog, match=r"an action has a value that its field cannot.*commit the action again"):
        write_checkpoint(str(log))
    assert sorted(file.name for file in log.place.rglob("*") if file.is_file()) == [f"{0:020d}.json", f"{1:020d}.json"]


def test_protected_versions_get_no_checkpoint(log):
    protocol = PROTOCOL | {"writerFeatures": [*FEATURES, "checkpointProtection"]}
    log.create([("x", "long")], add("a"), protocol=protocol, **{"delta.requireCheckpointProtectionBeforeVersion": "1"})
    with pytest.raises(NoSuchVersion, match="no new checkpoint before version 1"):
        write_checkpoint(str(log))
    log.commit(add("b"))
    assert write_checkpoint(str(log)).version == 1


def test_files_that_an_older_checkpoint_names_twice_are_written_once(log):
    log.create([("x", "long")], add("a"), add("b"))
    write_checkpoint(str(log))
    path = log.place / f"{0:020d}.checkpoint.parquet"
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table.slice(2)]), path)
    log.commit(add("c"))
    assert write_checkpoint(str(log)).adds == 3


def test_a_manifest_with_its_files_inside_is_read_whole(log):
    fill(log)
    actions = [
        json.loads(line)
        for version in range(log.version + 1)
        for line in (log.place / f"{version:020d}.json").read_text().splitlines()
    ]
    head = [action for action in actions if "protocol" in action or "metaData" in action]
    facts = action_facts(log.path)
    adds = [
        {"add": dict(said) | ({"stats": json.dumps(said["stats"], default=float)} if "stats" in said else {})}
        for said in facts["adds"].values()
    ]
    name = f"{log.version:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
    log.write(name, {"checkpointMetadata": {"version": log.version}}, *head, *adds)
    drop_commits(log, to=log.version + 1)
    log.commit(add("after.parquet", partition=partition(1)))
    names = set(facts["adds"]) | {("after.parquet", "null")}
    write_checkpoint(str(log))
    drop_commits_after(log, name)
    assert action_facts(log.path)["adds"].keys() == names


def drop_commits_after(log, name):
    (log.place / name).unlink()


@pytest.mark.skipif(not GOLDEN.is_dir(), reason=MISSING)
@pytest.mark.sampled(3)
@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "table", [table for table in tables() if table not in REFUSED and "canonicalized" not in table]
)
def test_golden_tables_read_the_same_from_a_checkpoint_of_ours(table, form, tmp_path, monkeypatch):
    """The table is not copied: its checkpoint is written into a copy of its log."""
    place = tmp_path / table
    (place / "_delta_log").mkdir(parents=True)
    for source in (GOLDEN / table / "_delta_log").rglob("*"):
        target = place / "_delta_log" / source.relative_to(GOLDEN / table / "_delta_log")
        if source.is_dir():
            target.mkdir(exist_ok=True)
        elif source.name != "_last_checkpoint":
            target.write_bytes(source.read_bytes())
    state = open_state(str(place))
    before, actions = snapshot_facts(place), action_facts(place)
    properties = state.properties | {"delta.checkpoint.writeStatsAsJson": "true"} | FORMS[form]
    monkeypatch.setattr(module, "checkpoint_of", lambda listing, version: (None, True))
    monkeypatch.setattr(module, "open_state", lambda *_: _with(state, properties))
    written = write_checkpoint(str(place), clean=False)
    for file in (place / "_delta_log").glob("*.checkpoint.*"):
        if str(file) not in written.files:
            file.unlink()
    for file in (place / "_delta_log").glob("*.json"):
        if str(file) not in written.files:
            file.unlink()
    after = snapshot_facts(place)
    assert after["files"].keys() == before["files"].keys()
    for key, file in before["files"].items():
        found = after["files"][key]
        assert {name: found[name] for name in ("size", "modified")} == {
            name: file[name] for name in ("size", "modified")
        }
        for path, bounds in file["bounds"].items():
            encloses(found["bounds"][path], bounds, loosely=form != "json")
    assert {name: after[name] for name in ("version", "protocol", "metadata", "domains")} == {
        name: before[name] for name in ("version", "protocol", "metadata", "domains")
    }
    assert after["transactions"] == before["transactions"]
    if form == "json":
        told = {key for key, said in actions["adds"].items() if "stats" in said}
        assert told <= {key for key, said in action_facts(place)["adds"].items() if "stats" in said}


def _with(state, properties):
    import dataclasses

    altered = dataclasses.replace(state.state, properties=TableProperties(properties))
    return dataclasses.replace(state, state=altered)


def encloses(found, wanted, *, loosely):
    """Compare bounds read through a checkpoint with bounds read without it.

    Bounds of structs may be wider or missing if `loosely`.
    """
    assert found[3] == wanted[3] or found[3] == 1
    for side, outward in ((0, -1), (1, 1)):
        if found[side] != wanted[side]:
            assert loosely
            assert found[side] is None or (found[side] > wanted[side]) == (outward > 0)
    assert found[2] == wanted[2] or loosely
