"""Every accepted commit can be read by deltalog and delta-rs; unreadable commits are refused."""

from __future__ import annotations

import json
import random
from urllib.parse import unquote

import pyarrow as pa
import pytest

from deltalog.errors import RefusedCommit
from deltalog.log.actions import Add
from deltalog.log.paths import canonical_path
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from deltalog.transaction.create import create_table
from deltalog.transaction.operations import append
from parquet_core.pruning.predicate import Compare, IsNull, Op

KINDS = {
    "s": (pa.string(), "x"),
    "n": (pa.int32(), "-007"),
    "d": (pa.decimal128(6, 2), "1.50"),
    "t": (pa.timestamp("us", "UTC"), "2024-01-01 10:00:00"),
    "l": (pa.timestamp("us"), "2024-01-01 10:00:00.123"),
    "y": (pa.date32(), "2024-02-29"),
    "b": (pa.bool_(), "true"),
    "f": (pa.float64(), "1e3"),
}
SCHEMA = pa.schema([("id", pa.int64()), *((name, kind) for name, (kind, _) in KINDS.items())])
PIECES = [
    "a",
    "Z9",
    "/",
    "%",
    "%20",
    "%2",
    "%25",
    "%2F",
    "..",
    ".",
    " ",
    "é",
    "%C3%A9",
    "%FF",
    "\\",
    "?",
    "#",
    ":",
    "=",
    "+",
    "\n",
    "_",
]
TEXTS = [
    None,
    "",
    "x",
    "é/%\n",
    "7",
    "-007",
    "1.5",
    "1e3",
    "NaN",
    "2147483648",
    "99999.99",
    "0.001",
    "\u0000",
    " 5 ",
    "2024-01-01",
    "2024-1-1",
    "2024-01-01T10:00:00.5Z",
    "2024-01-01 10:00",
    "12:00",
    "FALSE",
]
VALUES = [0, -1, 1.5, "x", None, True, [], {}, "NaN", 1 << 70]


def add(chance, number):
    """Draw an `add` action whose fields are each usually valid."""

    def often(right, *others):
        return right if chance.random() < 0.85 else chance.choice([right, *others])

    path = often("d/%20x", "".join(chance.choices(PIECES, k=5))) + often(f"{number}", "")
    values = {name: right if chance.random() < 0.95 else chance.choice(TEXTS) for name, (_, right) in KINDS.items()}
    if chance.random() < 0.05:
        values[chance.choice(["id", "N", "zzz"])] = "1"
    if chance.random() < 0.05:
        del values["s"]
    stats = {"numRecords": often(5, *VALUES)}
    for part in ("minValues", "maxValues", "nullCount"):
        if chance.random() < 0.5:
            stats[part] = often({"id": 3}, {"id": chance.choice(VALUES)}, {"zzz": 1}, [], None)
    text = json.dumps(stats)
    return Add(path, often(1 << 40, 0, -1, 1 << 70), values, often(0, -1), often(text, None, text[:-3], "null", ""))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_taken_can_be_read(tmp_path, seed):
    place = str(tmp_path / "table")
    create_table(place, SCHEMA, partition_by=list(KINDS))
    snapshot, chance, taken = open_snapshot(place), random.Random(seed), []
    refused = []
    for number in range(200):
        one = add(chance, number)
        try:
            append(snapshot, [one], checkpoint=False)
        except RefusedCommit as error:
            refused.append(str(error))
        else:
            taken.append(one)
            snapshot = open_snapshot(place)
    assert len(taken) >= 20
    assert len(refused) >= 20
    assert all("; " in said and "\n" not in said for said in refused)
    assert sorted(snapshot.paths()) == sorted(canonical_path(one.path) for one in taken)
    assert snapshot.total_bytes == sum(one.size for one in taken)
    for predicate in (
        Compare(("id",), Op.GT, pa.scalar(2)),
        Compare(("n",), Op.EQ, pa.scalar(7, pa.int32())),
        IsNull(("d",)),
    ):
        skip_files(snapshot, predicate)
    deltalake = pytest.importorskip("deltalake")
    theirs = pa.table(deltalake.DeltaTable(place).get_add_actions())
    assert sorted(unquote(path) for path in theirs["path"].to_pylist()) == sorted(unquote(one.path) for one in taken)
