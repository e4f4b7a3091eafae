"""Delta logs with MERGEs, without data files."""

from __future__ import annotations

import json

_SCHEMA = '{"type":"struct","fields":[{"name":"k","type":"long","nullable":true,"metadata":{}}]}'
# What delta-spark 4.4 with Spark 4.2 wrote for a MERGE of 20 rows that are in one of 20 files.
MERGE = {
    "operation": "MERGE",
    "operationParameters": {
        "predicate": '["(k#946L = k#389L)"]',
        "matchedPredicates": '[{"actionType":"update"}]',
        "notMatchedPredicates": '[{"actionType":"insert"}]',
        "notMatchedBySourcePredicates": "[]",
    },
    "readVersion": 0,
    "operationMetrics": {
        "numTargetRowsCopied": "920",
        "numTargetRowsUpdated": "20",
        "numTargetRowsDeleted": "0",
        "numTargetRowsInserted": "0",
        "numSourceRows": "20",
        "scanTimeMs": "3166",
        "rewriteTimeMs": "1031",
        "executionTimeMs": "4479",
    },
    "engineInfo": "Apache-Spark/4.2.1 Delta-Lake/4.4.0",
}


def add(number, **more):
    return {"add": {"path": f"{number}.parquet", "size": 100, "partitionValues": {}, "dataChange": True, **more}}


def remove(number, **more):
    return {"remove": {"path": f"{number}.parquet", "deletionTimestamp": 1, "dataChange": True, "size": 100, **more}}


def log_of(place, *commits):
    """A table of 20 files of 100 bytes, and these commits: a commitInfo and further actions."""
    folder = place / "_delta_log"
    folder.mkdir(parents=True)
    metadata = {"id": "a", "format": {"provider": "parquet"}, "schemaString": _SCHEMA, "partitionColumns": []}
    first = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}, *map(add, range(20))]
    for version, actions in enumerate([first, *([{"commitInfo": info}, *files] for info, *files in commits)]):
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        (folder / f"{version:020}.json").write_text(lines)
    return place
