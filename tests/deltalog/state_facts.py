"""Everything that a log contains for a version, as plain values, to compare two ways to read it."""

from __future__ import annotations

import json
from decimal import Decimal

import msgspec

from deltalog.log.paths import canonical_path
from deltalog.maintenance.checkpoint_rows import STORED_ADD, STORED_REMOVE
from deltalog.maintenance.log_state import open_state
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import file_bounds


def snapshot_facts(table, **options):
    """Return the facts of a snapshot, with bounds as they are read."""
    snapshot = open_snapshot(table, **options)
    columns = [column for column in snapshot.schema.columns if not column.refused and column.partition is None]
    bounds = file_bounds(snapshot, columns)
    facts = {}
    first = 0
    for block in snapshot.blocks:
        for i, path in enumerate(block.path.to_pylist()):
            texts = {
                name: None if said.codes[i] < 0 else said.values[int(said.codes[i])].as_py()
                for name, said in block.partition.items()
            }
            vector = None if block.vectors is None else block.vectors[i].as_py()
            key = (path, json.dumps(vector))
            assert key not in facts
            facts[key] = {
                "size": int(block.size[i]),
                "modified": int(block.modified[i]),
                "partition": texts,
                "bounds": {
                    column.leaf.path: (
                        found.lower[first + i].as_py(),
                        found.upper[first + i].as_py(),
                        found.null_count[first + i].as_py(),
                        int(found.row_count[first + i]),
                    )
                    for column, found in zip(columns, bounds, strict=True)
                },
            }
        first += len(block)
    return {
        "version": snapshot.version,
        "protocol": snapshot.protocol,
        "metadata": msgspec.to_builtins(snapshot.metadata) | {"format": None},
        "transactions": snapshot.transactions,
        "domains": snapshot.domains,
        "files": facts,
    }


def action_facts(table, **options):
    """Every field of every live file and tombstone, by path and deletion vector."""
    state = open_state(str(table), **options)
    adds = [msgspec.to_builtins(add) for add in state.adds]
    removes = [msgspec.to_builtins(remove) for remove in state.removes]
    for stored in state.stored_actions(adds=STORED_ADD, removes=STORED_REMOVE):
        adds += [] if stored.adds is None else stored.adds.to_pylist()
        removes += [] if stored.removes is None else stored.removes.to_pylist()
    return {"adds": _by_key(adds), "removes": _by_key(removes)}


def _by_key(actions):
    found = {}
    for action in actions:
        said = {
            name: _plain(name, value)
            for name, value in action.items()
            if name not in {"dataChange", "stats_parsed", "partitionValues_parsed"}
        }
        said = {name: value for name, value in said.items() if value is not None}
        key = canonical_path(said["path"]), json.dumps(said.get("deletionVector"), sort_keys=True)
        assert key not in found
        found[key] = said
    return found


def _plain(name, value):
    if name == "stats" and isinstance(value, str):
        try:
            return json.loads(value, parse_float=Decimal)
        except ValueError:
            return value
    if isinstance(value, list):
        return dict(value)
    if name == "deletionVector" and value is not None:
        return {key: inner for key, inner in value.items() if inner is not None}
    return value
