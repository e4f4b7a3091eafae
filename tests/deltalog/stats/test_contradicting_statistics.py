"""Statistics of a Delta log that contradict each other, as JSON and as structs of a checkpoint: they keep the file."""

from __future__ import annotations

import pyarrow as pa
import pytest
from checkpoint_writer import add_type, head, parsed_type, write_checkpoint
from log_writer import Log, add

from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from parquet_core.pruning.predicate import IsNull, Not

ROWS = 5
CUT = "x" * 40 + "\ufffd"
# Bounds in files whose null count covers all rows: used bounds and unused bounds of each type.
BOUNDS = {
    "long": [(1, 2), (1, None), (None, 2), ("a", "b")],
    "integer": [(1 << 40, 1 << 41)],
    "double": [(0.5, 1.5), ("NaN", "NaN")],
    "decimal(12,2)": [(1, 2), (1e20, 1e20)],
    "string": [("", ""), (None, CUT), (1, 2)],
    "date": [("2024-01-01", "2024-01-02"), ("1400-01-01", "1400-01-02"), ("soon", "later")],
    "timestamp": [("2024-01-01T00:00:00.000Z", "2024-01-02T00:00:00.000Z"), ("2024", "2024")],
    "boolean": [(False, True), (False, False)],
    "binary": [("a", "b")],
}
CASES = [(kind, *pair) for kind, pairs in BOUNDS.items() for pair in pairs]


def statistics(low, high, nulls=ROWS):
    found = {"numRecords": ROWS, "nullCount": {"x": nulls}}
    found |= {"minValues": {} if low is None else {"x": low}, "maxValues": {} if high is None else {"x": high}}
    return found


def kept(log, predicate):
    snapshot = open_snapshot(log.path)
    return snapshot.paths(skip_files(snapshot, predicate).kept)


@pytest.mark.parametrize("files", [1, 100], ids=["one by one", "at once"])
@pytest.mark.parametrize(("kind", "low", "high"), CASES)
def test_all_null_next_to_bounds_keeps_the_file(tmp_path, kind, low, high, files):
    log = Log(tmp_path / "t")
    some = [add(f"{i}", stats=statistics(None, None)) for i in range(files - 1)]
    log.create([("x", kind)], add("lies", stats=statistics(low, high)), *some)
    assert kept(log, Not(IsNull(("x",)))) == ["lies"], "the others hold nulls alone"


@pytest.mark.parametrize(
    ("kind", "stored", "low", "high"),
    [
        ("long", pa.int64(), 1, 2),
        ("date", pa.date32(), -200_000, -199_000),
        ("timestamp", pa.timestamp("us"), 0, 1),
        ("string", pa.string(), CUT, CUT),
        ("boolean", pa.bool_(), False, True),
    ],
)
def test_all_null_next_to_structs_of_bounds_keeps_the_file(tmp_path, kind, stored, low, high):
    log = Log(tmp_path / "t")
    log.create([("x", kind)])
    actions = head(log)
    for name, pair in (("lies", (low, high)), ("null", (None, None))):
        action = add(name)
        bounds = [None if value is None else pa.scalar(value, stored).as_py() for value in pair]
        action["add"]["stats_parsed"] = {
            "numRecords": ROWS,
            "minValues": {"x": bounds[0]},
            "maxValues": {"x": bounds[1]},
            "nullCount": {"x": ROWS},
        }
        actions.append(action)
    file = log.place / f"{0:020d}.checkpoint.parquet"
    write_checkpoint(file, actions, add=add_type(parsed_type(x=stored), stats=False))
    assert kept(log, Not(IsNull(("x",)))) == ["lies"]
