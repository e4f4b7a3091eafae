"""MERGEs in event logs are shapes of their own, with the join keys of their ON.

`merge_logs/delta-4.4.zstd` is the log of four MERGEs by Spark 4.2 with delta-spark 4.4, without unused events. Into
`named`: `t.k = s.k AND t.day = s.day WHEN MATCHED THEN DELETE`, whose source has `k > 5`; `t.k = s.k AND t.k BETWEEN
3000 AND 3020`, which finds no row; `t.k = s.k WHEN NOT MATCHED THEN INSERT *`. Into `/tables/t`: `t.k = s.k AND
t.word <=> s.word` with WHEN NOT MATCHED BY SOURCE.
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from log_lines import HEAD, LOGS, end, line, metrics, plan, start

from prune_assets.advisor.workload.event_logs.table_of import merge_of
from prune_assets.advisor.workload.json_form import from_json, to_json
from prune_assets.advisor.workload.load import merged
from prune_assets.advisor.workload.query_shapes import Workload
from prune_assets.cli import main

LOG = LOGS.parent / "merge_logs" / "delta-4.4.zstd"
NAMED, OTHER = "/tables/warehouse/named", "/tables/t"


@pytest.fixture(scope="module")
def workload():
    return Workload.read(LOG)


def test_a_merge_is_named_with_its_join_keys(workload):
    found = {(shape.table, shape.statement, shape.joined_on, shape.shape): shape for shape in workload.shapes}
    assert {key: (shape.runs, shape.totals.files_read) for key, shape in found.items()} == {
        # The second and the third MERGE. Adaptive execution has dropped the join of the second, which found no row.
        (NAMED, "MERGE", ("k",), ""): (2, 4),
        # The condition follows from the condition on the source. The file that it rewrites is read again, without it.
        (NAMED, "MERGE", ("day", "k"), "k > ?"): (1, 2),
        (NAMED, "MERGE", ("day", "k"), ""): (1, 1),
        # `<=>` compares a column too. Without a match, all 20 files are read again, twice.
        (OTHER, "MERGE", ("k", "word"), ""): (3, 60),
    }
    assert all(shape.totals.rows_selected is None for shape in workload.shapes)


def test_the_statement_is_kept_in_json_and_in_merged_workloads(workload):
    assert from_json(to_json(workload)) == workload
    twice = merged([workload, workload])
    assert [(shape.statement, shape.joined_on) for shape in twice.shapes] == [
        (shape.statement, shape.joined_on) for shape in workload.shapes
    ]
    older = json.loads(to_json(workload))
    for shape in older["shapes"]:
        del shape["statement"]
    assert {shape.statement for shape in from_json(json.dumps(older)).shapes} == {""}


def test_the_command_shows_merges():
    lines = [text.strip() for text in CliRunner().invoke(main, ["workload", str(LOG)]).output.splitlines()]
    assert lines[lines.index("MERGE on k, word") + 1] == "3 x, 537.2 KiB of files opened, reads k, word"
    assert "MERGE on day, k WHERE k > ?" in lines
    assert not any("joined on" in text for text in lines)


_SQL = "org.apache.spark.sql.execution.ui."


def command(number, arguments, *, name="Execute MergeIntoCommand"):
    node = {"nodeName": name, "simpleString": name, "children": [], "metrics": [], "metadata": {}}
    tree = f"== Physical Plan ==\n{name} (1)\n   +- MergeIntoCommand (2)\n"
    text = f"{tree}\n\n(2) MergeIntoCommand\nArguments: {arguments}\n"
    fields = {"executionId": number, "physicalPlanDescription": text, "sparkPlanInfo": node, "time": 1}
    return line(f"{_SQL}SparkListenerSQLExecutionStart", **fields)


def part(number, root, **options):
    fields = json.loads(start(number, plan(**options)))
    return line(fields.pop("Event"), **fields, rootExecutionId=root)


def statements(tmp_path, *lines):
    path = tmp_path / "app-1"
    path.write_bytes(b"".join([HEAD, *lines]))
    return [(shape.table, shape.statement, shape.joined_on) for shape in Workload.read(path).shapes]


INTO_T = "SubqueryAlias s, SubqueryAlias t, Delta[version=4, file:/lake/t], (k#1 = k#9), [Update [..]]"


def test_only_scans_of_the_table_that_a_merge_changes_are_its_own(tmp_path):
    found = statements(
        tmp_path,
        command(1, INTO_T),
        part(2, 1),
        metrics(2),
        end(2),
        part(3, 1, location="TahoeBatchFileIndex [file:/lake/source]"),
        metrics(3),
        end(3),
        end(1),
        part(4, 4),
        metrics(4),
        end(4),
    )
    assert sorted(found) == [("/lake/source", "", ()), ("/lake/t", "", ()), ("/lake/t", "MERGE", ("k",))]


@pytest.mark.parametrize(
    ("arguments", "name", "expected"),
    [
        (INTO_T, "Execute MergeIntoCommandEdge", [("/lake/t", "MERGE", ("k",))]),
        (INTO_T, "Execute UpdateCommand", [("/lake/t", "", ())]),
        ("SubqueryAlias s, SubqueryAlias t, ...", "Execute MergeIntoCommand", [("/lake/t", "", ())]),
    ],
)
def test_commands(tmp_path, arguments, name, expected):
    found = statements(tmp_path, command(1, arguments, name=name), part(2, 1), metrics(2), end(2), end(1))
    assert found == expected


def test_a_merge_has_the_columns_of_its_condition_alone():
    keys = merge_of(f"Arguments: {INTO_T.replace('[..]', '[condition: (a#3 = b#4)]')}").keys
    assert keys == {"k#1", "k#9"}
    assert merge_of("Arguments: s, t, Delta[version=4, ...], (k#1 = k#9)") is None


def test_the_flag_of_deletion_vectors_is_no_condition(tmp_path):
    """Delta adds it to each scan of a table with deletion vectors."""
    flag = "__delta_internal_is_row_deleted#5"
    scan = start(1, plan(where=f"(({flag} = 0) AND (k#1 = 3))")).replace(b"k#1]", f"k#1,{flag}]".encode())
    path = tmp_path / "app-1"
    path.write_bytes(b"".join([HEAD, scan.replace(b"k#1,__", b"k#1, __"), metrics(1), end(1)]))
    (shape,) = Workload.read(path).shapes
    assert (shape.shape, shape.columns, shape.left_out) == ("k = ?", ("id", "k"), ())
