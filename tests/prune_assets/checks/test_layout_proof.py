"""Layout checks of a Delta table cover the files in its log."""

from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import LayoutError, MalformedFile, UnknownColumn, WrongUse
from parquet_core.layout.spec import LayoutSpec, Severity
from prune_assets.checks.layout_proof import check, prove

deltalake = pytest.importorskip("deltalake")

SORTED = LayoutSpec(sort_by=("x",))
FIELDS = (("x", "long"), ("s", "string"))


def write(path, numbers, mode="append", **options):
    rows = pa.table({"x": numbers, "s": [str(n) for n in numbers]})
    deltalake.write_deltalake(str(path), rows, mode=mode, **options)


def of_rows(findings):
    return [(finding.severity, finding.message) for finding in findings if finding.code == "order.rows"]


def test_removed_files_and_those_that_nobody_committed_are_not_looked_at(tmp_path):
    table = tmp_path / "t"
    write(table, [3, 1, 2])
    assert [severity for severity, _ in of_rows(check(table, layout=SORTED))] == [Severity.ERROR]
    write(table, [1, 2, 3], mode="overwrite")
    pq.write_table(pa.table({"x": [9, 8], "s": ["", ""]}), table / "not-committed.parquet")
    assert of_rows(check(table, layout=SORTED)) == [(Severity.INFO, "all 3 rows ascend inside their files")]
    assert len(list(table.glob("*.parquet"))) == 3


def test_a_table_without_files_has_every_layout(tmp_path):
    write(tmp_path / "t", [1])
    deltalake.DeltaTable(str(tmp_path / "t")).delete()
    assert not [found for found in check(tmp_path / "t", layout=SORTED) if found.severity is not Severity.INFO]


def of_overlap(findings):
    return {finding.code: finding.severity for finding in findings if finding.code.startswith("overlap.")}


def test_files_are_compared_within_a_partition_of_the_log(tmp_path):
    rows = pa.table({"x": [1, 2, 3, 1, 2, 3], "s": ["a", "a", "a", "b", "b", None]})
    deltalake.write_deltalake(str(tmp_path / "t"), rows, partition_by=["s"])
    assert set(of_overlap(check(tmp_path / "t", layout=SORTED)).values()) == {Severity.INFO}
    deltalake.write_deltalake(str(tmp_path / "t"), rows.slice(4), mode="append")
    assert of_overlap(check(tmp_path / "t", layout=SORTED))["overlap.files"] is Severity.INFO  # single values touch
    deltalake.write_deltalake(str(tmp_path / "t"), rows.slice(0, 3), mode="append")
    assert of_overlap(check(tmp_path / "t", layout=SORTED))["overlap.files"] is Severity.ERROR


def test_a_partition_column_of_the_key_holds_by_itself(tmp_path):
    rows = pa.table({"x": [1, 2, 1, 2], "s": ["a", "a", "b", "b"]})
    deltalake.write_deltalake(str(tmp_path / "t"), rows, partition_by=["s"])
    findings = check(tmp_path / "t", layout=LayoutSpec(sort_by=("s", "x")))
    assert [finding.location for finding in findings if finding.code == "order.partitions"] == ["column s"]
    assert set(of_overlap(findings).values()) == {Severity.INFO}
    with pytest.raises(LayoutError, match="bloom: s is a partition column"):
        check(tmp_path / "t", layout=LayoutSpec(bloom={"s": 0.1}))


def test_partition_values_need_not_stand_in_the_names_of_directories(tmp_path):
    table = tmp_path / "t"
    (table / "_delta_log").mkdir(parents=True)
    schema = {"type": "struct", "fields": [{"name": n, "type": k, "nullable": True, "metadata": {}} for n, k in FIELDS]}
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {"id": "t", "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(schema)}},
    ]
    actions[1]["metaData"] |= {"partitionColumns": ["s"], "configuration": {}}
    for name in ("a", "b"):
        pq.write_table(pa.table({"x": [1, 2, 3]}), table / name)
        size = (table / name).stat().st_size
        added = {"path": name, "partitionValues": {"s": name}, "size": size, "modificationTime": 1, "dataChange": True}
        actions.append({"add": added})
    (table / "_delta_log" / f"{0:020d}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
    assert set(of_overlap(check(table, layout=SORTED)).values()) == {Severity.INFO}


@pytest.mark.parametrize(("numbers", "severity"), [([1, 2, 3], Severity.INFO), ([3, 1, 2], Severity.ERROR)])
def test_columns_have_the_names_of_the_table(tmp_path, numbers, severity):
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    pq.write_table(pa.table({"col-1": numbers}), tmp_path / "t" / "f.parquet")
    size = (tmp_path / "t" / "f.parquet").stat().st_size
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    fields = [{"name": "x", "type": "long", "nullable": True, "metadata": mapped}]
    metadata = {
        "id": "t",
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {"delta.columnMapping.mode": "name"},
    }
    actions = [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metaData": metadata},
        {"add": {"path": "f.parquet", "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}},
    ]
    (log / f"{0:020d}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
    assert [found for found, _ in of_rows(check(tmp_path / "t", layout=SORTED))] == [severity]
    with pytest.raises(LayoutError, match="no column col-1"):
        check(tmp_path / "t", layout=LayoutSpec(sort_by=("col-1",)))


def test_files_from_before_a_column_hold_nulls_in_it(tmp_path):
    write(tmp_path / "t", [1, 2])
    rows = pa.table({"x": [3, 4], "s": ["", ""], "y": [2, 1]})
    deltalake.write_deltalake(str(tmp_path / "t"), rows, mode="append", schema_mode="merge")
    found = of_rows(check(tmp_path / "t", layout=LayoutSpec(sort_by=("y",))))
    assert [severity for severity, _ in found] == [Severity.ERROR]
    assert [severity for severity, _ in of_rows(check(tmp_path / "t", layout=SORTED))] == [Severity.INFO]


PARTS = {"a": [3, 1, 2], "b": [1, 2, 3], "c": [4, 5]}


def in_directories(table):
    for part, numbers in PARTS.items():
        (table / f"s={part}").mkdir(parents=True)
        pq.write_table(pa.table({"x": numbers}), table / f"s={part}/x.parquet")


def in_delta(table):
    for part, numbers in PARTS.items():
        rows = pa.table({"x": numbers, "s": [part] * len(numbers)})
        deltalake.write_deltalake(str(table), rows, mode="append", partition_by=["s"])


@pytest.mark.parametrize("make", [in_directories, in_delta])
def test_of_some_partitions_only_the_files_are_read(tmp_path, make):
    table = tmp_path / "t"
    make(table)
    (damaged,) = table.glob("s=c/*.parquet")
    damaged.write_bytes(b"PAR1 damaged")
    for where, severity in {"s = 'b'": Severity.INFO, "s < 'c'": Severity.ERROR, "s = 'a'": Severity.ERROR}.items():
        assert severity in [found for found, _ in of_rows(check(table, layout=SORTED, where=where))], where
    with pytest.raises(MalformedFile):
        check(table, layout=SORTED)
    with pytest.raises(WrongUse, match="can hold matching rows; change the condition"):
        check(table, layout=SORTED, where="s = 'z'")
    if make is in_directories:
        with pytest.raises(WrongUse) as refused:
            check(table, layout=SORTED, where="x > 1")
        problem = "a condition selects files of a plain table by its partition columns; name one of them: s"
        assert str(refused.value) == f"where='x > 1': {problem}"
        with pytest.raises(WrongUse) as refused:
            check(table / "s=a/x.parquet", layout=SORTED, where="x > 1")
        assert str(refused.value).endswith("x.parquet lacks; check the whole table, without where (--where)")
    with pytest.raises(UnknownColumn, match="nope"):
        check(table, layout=SORTED, where="nope = 1")


def test_what_a_rewrite_cannot_mend_is_to_be_written_anew(tmp_path):
    pq.write_table(pa.table({"day": ["a", "b"], "id": [2, 1]}), tmp_path / "part-0.parquet")
    layout = LayoutSpec(sort_by=["id"], partition_by=["day"])
    remedies = {finding.remedy for finding in check(tmp_path, layout=layout) if finding.severity == "error"}
    assert remedies
    assert not [remedy for remedy in remedies if "prune optimize" in remedy]
    whole = {finding.remedy for finding in check(tmp_path, layout=LayoutSpec(sort_by=["id"]))}
    assert [remedy for remedy in whole if "prune optimize" in remedy]


DATED = pa.table(
    {"day": pa.array([19_783, 19_784], pa.date32()), "at": pa.array([1, 2], pa.timestamp("us")), "id": [1, 2]}
)
EMPTY_TEXTS = [
    "day = DATE ''",
    "day >= DATE ' '",
    "day = DATE 'None'",
    "id = 1 AND day = DATE ''",
    "at >= TIMESTAMP ''",
    "at >= TIMESTAMP_NTZ 'None'",
    "day = ''",
    "id = 1 AND day = ''",
    "'' <= day",
    "day IN ('2024-03-01', '')",
    "day BETWEEN '' AND '2024-03-01'",
    "day BETWEEN '' AND ''",
    "day = CAST('' AS DATE)",
    "at >= ''",
    "id = ''",
    "day = '2024-02-30'",
    "",
    " ",
]


@pytest.fixture
def dated_table(tmp_path):
    """A Delta table, whose log has statistics of each column."""
    deltalake.write_deltalake(tmp_path / "t", DATED, partition_by=["day"])
    return tmp_path / "t"


@pytest.mark.parametrize("where", EMPTY_TEXTS)
def test_a_condition_with_an_empty_value_is_refused(where, dated_table):
    """As a template renders it that finds no value: the check would look at all files instead."""
    with pytest.raises(WrongUse) as raised:
        check(dated_table, where=where)
    assert "change the condition" not in str(raised.value)


@pytest.mark.parametrize(
    "where", ["true", "day = '2024-03-01'", "day >= DATE 'epoch' AND id > 0", "day < DATE 'today'"]
)
def test_an_ordinary_condition_is_not(where, dated_table):
    assert prove(dated_table, where=where).files


def test_a_condition_that_is_always_true_selects_all_plain_files(tmp_path):
    pq.write_to_dataset(DATED, tmp_path / "t", partition_cols=["day"])
    assert prove(tmp_path / "t", where="true").files == 2
    assert prove(tmp_path / "t", where="day = DATE '2030-01-01'") == ([], 0)


def of_partitions(table, *columns):
    found = check(table, layout=LayoutSpec(sort_by=["x"], partition_by=columns))
    return [(each.severity, each.message) for each in found if each.code == "partitions.columns"]


@pytest.mark.parametrize("table_format", ["parquet", "delta"])
def test_a_table_that_is_partitioned_otherwise_breaks_the_layout(tmp_path, table_format):
    table, rows = tmp_path / "t", pa.table({"x": [1, 2], "s": ["a", "b"], "part": [1, 2]})
    if table_format == "delta":
        deltalake.write_deltalake(str(table), rows, partition_by=["part"])
    else:
        pq.write_to_dataset(rows, table, partition_cols=["part"])
    assert of_partitions(table, "Part") == [(Severity.INFO, "partitioned by part")]
    assert of_partitions(table) == [], "a layout without partition_by says nothing about them"
    ((severity, message),) = of_partitions(table, "s")
    assert (severity, message) == (Severity.ERROR, "partitioned by part, where the layout has s")
    assert of_partitions(table, "part", "s")[0][0] is Severity.ERROR
    (finding,) = (
        each for each in check(table, layout=LayoutSpec(partition_by=["s"])) if each.code == "partitions.columns"
    )
    assert "prune write TABLE NEW_TABLE --layout layout.yaml" in finding.remedy


def test_a_table_without_partitions_breaks_a_layout_that_has_some(tmp_path):
    pq.write_table(pa.table({"x": [1], "day": [1]}), tmp_path / "0.parquet", write_page_index=True)
    assert of_partitions(tmp_path, "day") == [(Severity.ERROR, "not partitioned, where the layout has day")]


def test_the_directory_of_one_partition_and_a_list_of_files_are_checked_alone(tmp_path):
    pq.write_to_dataset(pa.table({"x": [1, 2], "part": [1, 2]}), tmp_path / "t", partition_cols=["part"])
    assert of_partitions(tmp_path / "t" / "part=1", "part") == []
    files = sorted(map(str, (tmp_path / "t").rglob("*.parquet")))
    assert of_partitions(files, "part") == []


@pytest.mark.parametrize("placeholder", [dt.datetime(1, 1, 1), dt.datetime(1900, 1, 1)])  # noqa: DTZ001
def test_placeholders_for_unknown_times_are_no_fault(tmp_path, placeholder):
    """Calendars differ for 0001-01-01 and 1900-01-01, so the minimum of row groups that hold one is unknown."""
    later = [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=i) for i in range(2000)]  # noqa: DTZ001
    table = pa.table({"t": pa.array([placeholder] * 2500 + later, pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "0.parquet", row_group_size=1000, write_page_index=True)
    layout = LayoutSpec(sort_by=["t"])
    wrong = {each.code for each in (*check(tmp_path), *check(tmp_path, layout=layout)) if each.severity != "info"}
    assert not wrong
    pq.write_table(table.slice(3000), tmp_path / "1.parquet", write_page_index=True)
    assert "overlap.files" in {each.code for each in check(tmp_path, layout=layout) if each.severity == "error"}
