"""Logs of every kind, and ways to damage their bytes, lines, values and files."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
from checkpoint_writer import add_type, head, parsed_type, write_checkpoint
from log_writer import Log, add, remove

UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"
FEATURES = ["deletionVectors", "v2Checkpoint", "columnMapping", "timestampNtz"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURES, "writerFeatures": FEATURES}
COLUMNS = [("x", "long"), ("s", "string"), ("d", "double"), ("m", "decimal(12,2)"), ("t", "timestamp"), ("p", "date")]
HOSTILE = [
    *(None, True, -1, 0, 1 << 31, 1 << 63, 1 << 80, 1.5, 1e308, "", "\x00", "NaN", "9" * 400, "%", "%zz", "../../x"),
    *([], {}, [[]], {"a": {}}, "struct", "\ud83d\ude00", "1e999999999", "2024-99-99", "file:/", "1" * 20),
]


def bounds(i):
    first, last = f"2024-01-{1 + i:02d}T00:00:00.000Z", f"2024-02-{1 + i:02d}T00:00:00.000Z"
    return {
        "numRecords": 10,
        "minValues": {"x": i, "s": f"a{i}", "d": i / 2, "m": i + 0.25, "t": first},
        "maxValues": {
            "x": i + 5,
            "s": f"b{i}",
            "d": i / 2 + 1,
            "m": i + 0.75,
            "t": last,
        },
        "nullCount": {"x": 0, "s": 1, "d": 0, "m": 0, "t": 10 * (i == 2)},
    }


def file_(i, *, parsed=False):
    vector = {"storageType": "i", "pathOrInlineDv": "0rJua", "sizeInBytes": 4, "cardinality": 0} if i % 3 == 0 else None
    partition = {"p": [f"2024-03-{1 + i:02d}", None, ""][i % 3]}
    action = add(f"p={i}/part-{i}%20x.parquet", stats=bounds(i), partition=partition, vector=vector)
    if parsed:
        said = {part: {"x": value["x"]} if isinstance(value, dict) else value for part, value in bounds(i).items()}
        action["add"]["stats_parsed"] = said
    return action


def base_logs(folder):
    """Write logs with commits only, a classic checkpoint, a multi-part checkpoint, sidecars, and log compaction."""
    return [_commits(folder), _classic(folder), _parts(folder), _sidecars(folder), _compacted(folder)]


def _commits(folder):
    log = Log(folder / "commits")
    log.create(COLUMNS, file_(0), file_(1), partitioned=["p"], protocol=PROTOCOL)
    log.commit(file_(2), remove(file_(1)["add"]["path"]), {"txn": {"appId": "a", "version": 1}})
    log.commit({"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}}, file_(4))
    return log


def _classic(folder):
    log = _renamed(_commits, folder, "classic")
    actions = [*head(log), *(file_(i, parsed=True) for i in (0, 2, 4)), remove("gone")]
    write_checkpoint(log.place / f"{2:020d}.checkpoint.parquet", actions, add=add_type(parsed_type(x=pa.int64())))
    (log.place / "_last_checkpoint").write_text(json.dumps({"version": 2, "size": 6}))
    log.commit(file_(5), remove("p=2/part-2%20x.parquet"))
    return log


def _parts(folder):
    log = _renamed(_commits, folder, "parts")
    for part, actions in ((1, [*head(log), file_(0)]), (2, [file_(2), file_(4)])):
        write_checkpoint(log.place / f"{2:020d}.checkpoint.{part:010d}.{2:010d}.parquet", actions)
    log.commit(file_(5))
    return log


def _sidecars(folder):
    log = _renamed(_commits, folder, "sidecars")
    write_checkpoint(log.place / "_sidecars" / "one.parquet", [file_(0), file_(2)], names=["add"])
    sidecar = {"sidecar": {"path": "one.parquet", "sizeInBytes": 1, "modificationTime": 1}}
    log.write(f"{2:020d}.checkpoint.{UUID}.json", {"checkpointMetadata": {"version": 2}}, *head(log), sidecar)
    log.commit(file_(6))
    return log


def _compacted(folder):
    log = _renamed(_commits, folder, "compacted")
    log.write(f"{1:020d}.{2:020d}.compacted.json", file_(2), file_(4), remove(file_(1)["add"]["path"]))
    return log


def _renamed(make, folder, name):
    log = make(folder / name)
    log.path.rename(folder / f"{name}-log")
    log.path = folder / f"{name}-log"
    log.place = log.path / "_delta_log"
    return log


def mutated(log, folder, random):
    """Copy a log and damage it; returns the copy's path."""
    path = folder / "damaged"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(log.path, path)
    files = sorted(file for file in (path / "_delta_log").rglob("*") if file.is_file())
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        file = random.choice(files)
        if file.exists():
            random.choice([_bytes, _cut, _values, _values, _values, _lines, _whole])(file, random, files)
    return path


def _bytes(file, random, _):
    data = bytearray(file.read_bytes())
    for _ in range(random.choice([1, 2, 8]) if data else 0):
        data[random.randrange(len(data))] = random.choice([0, 255, 34, 123, random.randrange(256)])
    file.write_bytes(data)


def _cut(file, random, _):
    data = file.read_bytes()
    file.write_bytes(data[: random.randrange(len(data) + 1)])


def _lines(file, random, _):
    if file.suffix == ".json":
        lines = file.read_bytes().splitlines(keepends=True)
        lines.insert(random.randrange(len(lines) + 1), random.choice([*lines, b"null\n", b"{}\n", b"[1]\n"]))
        file.write_bytes(b"".join(lines))


def _whole(file, random, files):
    match random.randrange(4):
        case 0:
            file.unlink()
        case 1:
            shutil.copy(random.choice([other for other in files if other.exists()]), file.with_name("x"))
            file.with_name("x").rename(file)
        case 2:
            file.write_bytes(b"")
        case 3:
            file.write_bytes(file.read_bytes() * 2)


def _values(file, random, others):
    if file.suffix != ".json" and file.name != "_last_checkpoint":
        _bytes(file, random, others)
        return
    try:
        lines = [json.loads(line) for line in file.read_text().splitlines()]
    except ValueError:
        return  # damaged already
    if lines:
        _replace_one(random.choice(lines), random)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _replace_one(tree, random):
    """Replace a value anywhere in a tree, including the text of statistics, by a hostile one."""
    places = []
    stack = [tree] if isinstance(tree, dict | list) else []
    while stack:
        node = stack.pop()
        keys = node.keys() if isinstance(node, dict) else range(len(node))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list):
                stack.append(node[key])
    if not places:
        return
    node, key = random.choice(places)
    if key in {"stats", "schemaString"} and random.random() < 0.8:
        try:
            inner = json.loads(node[key])
        except (TypeError, ValueError):
            return  # damaged already
        _replace_one(inner, random)
        node[key] = json.dumps(inner)
    else:
        node[key] = random.choice(HOSTILE)
