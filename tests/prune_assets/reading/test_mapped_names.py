"""Delta tables in which a renamed column has the name of another column in the files."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import prune_assets as pr

# By SQL: the keys of the rows. `name` is stored as `old`, `key` as `name`.
ROWS = {
    "name = 20": [2],
    "name > 5": [1, 2, 3],
    "key > 5": [],
    "name >= 20 AND key < 3": [2],
    "name IS NOT NULL AND key <> 1": [2, 3],
    "part = 'b'": [3],
    "part > 'a' AND name = 30": [3],
}


@pytest.fixture
def table(tmp_path):
    """Two files: `key` of 1 to 3 next to `name` of 10 to 30, partitioned by `part`."""
    place = tmp_path / "t"
    rows = pa.table({"name": [1, 2, 3], "old": [10, 20, 30], "p": ["a", "a", "b"]})
    write_deltalake(str(place), rows, partition_by=["p"])
    commit = place / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    commit.write_text("\n".join(json.dumps(renamed(action)) for action in actions))
    return str(place)


def renamed(action):
    """Return an action of the log after RENAME COLUMN of each column."""
    if "protocol" in action:
        return {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    if metadata := action.get("metaData"):
        schema = json.loads(metadata["schemaString"])
        for number, (column, name) in enumerate(zip(schema["fields"], ["key", "name", "part"], strict=True)):
            mapping = {"delta.columnMapping.id": number + 1, "delta.columnMapping.physicalName": column["name"]}
            column.update(name=name, metadata=mapping)
        settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
        metadata.update(schemaString=json.dumps(schema), partitionColumns=["part"], configuration=settings)
    return action


@pytest.mark.parametrize(("where", "keys"), ROWS.items())
def test_a_condition_is_on_the_column_of_the_table_not_of_the_file(table, where, keys):
    found = pr.read_arrow(table, where=where)
    assert sorted(found["key"].to_pylist()) == keys
    assert found["name"].to_pylist() == [10 * key for key in found["key"].to_pylist()]
    assert pr.count(table, where=where) == len(keys)


@pytest.mark.spark
def test_spark_reads_the_same_rows(spark, table):
    for where, keys in ROWS.items():
        assert sorted(row.key for row in pr.read(table, where=where, session=spark).collect()) == keys, where
