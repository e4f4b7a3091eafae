"""Conditions that are printed as Spark prints them: hostile texts never crash, and never narrow what is selected."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from printed_plans import TEXTS

import prune_assets as pr
from prune_assets.workload.conditions.literals import literal
from prune_assets.workload.conditions.read_schema import leaf_types
from prune_assets.workload.conditions.scan_filter import scan_filter
from prune_assets.workload.event_logs.plan_text import operators_of
from prune_assets.workload.not_understood import NotUnderstood

OUTPUT = "[id#1L, user#2, day#3, at#4, odd name#5, s#6]"
SCHEMA = "struct<id:bigint,user:string,day:date,at:timestamp,odd name:int,s:struct<a:int,b:string>>"


def read_back(condition, **options):
    options = {"output": OUTPUT, "read_schema": SCHEMA, "zone": "Europe/Berlin", **options}
    return scan_filter(conditions=[condition], **options)


@pytest.mark.parametrize(
    ("condition", "where"),
    [
        ("(user#2 = New York)", "user = 'New York'"),
        ("(isnotnull(user#2) AND (user#2 = O'Brien))", "user = 'O\\'Brien'"),
        ("(user#2 = )", "user = ''"),
        ("(user#2 = a - b = c)", "user = 'a - b = c'"),
        ("(New <= user#2)", "'New' <= user"),
        ("(day#3 = 2024-01-05)", "day = DATE '2024-01-05'"),
        ("(at#4 > 2024-07-01 12:00:00.5)", "at > TIMESTAMP '2024-07-01 10:00:00.500000Z'"),
        ("(odd name#5 = 2)", "`odd name` = 2"),
        ("(s#6.a = 2)", "s.a = 2"),
        ("id#1L IN (1,null)", "id IN (1, NULL)"),
        ("NOT id#1L IN (1,2)", "id NOT IN (1, 2)"),
        ("user#2 INSET a, b, c", "user IN ('a', 'b', 'c')"),
        ("((id#1L + 1) > 10)", "(id + 1) > 10"),
        ("((id#1L = 1) OR ((id#1L = 2) AND isnull(user#2)))", "(id = 1 OR (id = 2 AND user IS NULL))"),
        ("NOT ((id#1L = 1) AND StartsWith(user#2, a))", "NOT (id = 1 AND startswith(user, 'a'))"),
        ("(id#1L = odd name#5)", "id = `odd name`"),
        ("(day(day#3) = 5)", "day(day) = 5"),
        ("(trim(user#2, None) = a)", "trim(user) = 'a'"),
        ("(FLOOR(id#1L) >= 5)", "floor(id) >= 5"),
        ("RLIKE(user#2, ^a)", "regexp_like(user, '^a')"),
        (
            "(date_format(cast(day#3 as timestamp), yyyy-MM, Some(UTC)) = 2024-01)",
            "date_format(day, 'yyyy-MM') = '2024-01'",
        ),
        ("true", ""),
        ("isnotnull(user#2)", "user IS NOT NULL"),
    ],
)
def test_conditions_are_written_back(condition, where):
    found = read_back(condition)
    assert (found.where, found.not_understood) == (where, [])


@pytest.mark.parametrize(
    ("condition", "where", "reason"),
    [
        ("(isnotnull(user#2) AND (user#2 = a) AND (b))", "", "ambiguous text"),
        ("((id#1L = 1) AND (user#2 = a) AND (b = c))", "", "ambiguous text"),
        ("((id#1L = 1) AND (user#2 = a b#7))", "id = 1", "ambiguous text"),
        ("(user#2 = s#6.b)", "", "ambiguous text"),
        ("coalesce(user#2, s#6.b)", "", "ambiguous text"),
        ("(total#99 > 5)", "", "a column that the query computes"),
        ("user#2 = a", "", "a constant of type boolean"),
        ("user#2 IN (a,b, c)", "", "ambiguous text"),
        ("user#2 INSET b, a, c", "", "ambiguous text"),
        ("user#2 IN (a,null)", "", "ambiguous text"),
        ("(day#3 = tomorrow)", "", "a constant of type date"),
        ("((id#1L = 1) AND (at#4 > 2024-10-27 02:30:00))", "id = 1", "a local time in the hour when clocks change"),
        ("(date_trunc(day, at#4, Some(UTC)) = 2024-01-01)", "", "the function date_trunc"),
        ("(date_format(at#4, yyyy-MM, Some(UTC)) = 2024-01)", "", "the function date_format"),
        ("(date_format(cast(day#3 as timestamp), HH, Some(UTC)) = 01)", "", "the function date_format"),
        ("(trim(user#2, Some(x)) = a)", "", "the function trim"),
        ("((id#1L = 1) AND UDF(user#2))", "id = 1", "the function UDF"),
        ("(cast(at#4 as date) = 2024-01-01)", "", "depends on the session time zone"),
        ("((id#1L = 1) OR UDF(user#2))", "", "the function UDF"),
        ("(id#1L > Subquery subquery#7, [id=#5])", "", "a subquery"),
    ],
)
def test_what_is_ambiguous_or_unknown_is_left_out_and_counted(condition, where, reason):
    found = read_back(condition)
    assert (found.where, found.not_understood) == (where, [reason])


def test_columns_of_metadata_are_not_those_of_the_table():
    output = "[id#1L, file_path#2, file_size#3L, _tmp_metadata_row_index#4L]"
    schema = "struct<id:bigint,_tmp_metadata_row_index:bigint>"
    assert read_back("true", output=output, read_schema=schema).columns == ("id",)
    # Unless the file has one of the name.
    own = read_back("true", output=output, read_schema="struct<id:bigint,file_path:string>")
    assert own.columns == ("file_path", "id")


def test_two_texts_that_look_like_conditions_are_what_was_pushed():
    """The brackets of the plan are in order, and only the pushed filters tell where the texts end."""
    condition = "((user#2 = a) AND ((s#6.b = x) AND (s#6.b = c)))"
    assert read_back(condition).where == "s.b = 'c' AND s.b = 'x' AND user = 'a'"
    pushed = "[EqualTo(user,a) AND ((s#6.b = x), EqualTo(s.b,c))]"
    found = read_back(condition, pushed_filters=pushed)
    assert (found.where, found.not_understood) == ("s.b = 'c)' AND user = 'a) AND ((s#6.b = x'", [])
    # A list that contradicts the condition.
    found = read_back(condition, pushed_filters="[EqualTo(user,a) AND ((s#6.b = y), EqualTo(s.b,c)]")
    assert (found.where, found.not_understood) == ("", ["ambiguous text"])


def test_types_that_the_plan_does_not_say_are_those_of_any_comparison():
    options = {"read_schema": None, "output": "[k#1, n#2L, at#3]"}
    assert read_back("((k#1 = 7) AND (n#2L > 5))", **options).where == "k = '7' AND n > 5"
    found = read_back("(at#3 > 2024-01-01 00:00:00)", **options)
    assert (found.where, found.not_understood) == ("", ["the type of the column is unknown"])


def test_lists_of_partition_filters_are_split_where_conditions_end():
    filters = "[isnotnull(day#3), user#2 INSET a, b, c, (odd name#5 = 2)]"
    found = scan_filter(output=OUTPUT, read_schema=SCHEMA, conditions=[], partition_filters=filters)
    assert found.where == "`odd name` = 2 AND day IS NOT NULL AND user IN ('a', 'b', 'c')"
    # Where partition columns are left out of the output.
    absent = scan_filter(
        output="[id#1L]", read_schema=None, conditions=[], partition_filters="[(p#9 = 3), (q#8 = p#9)]"
    )
    assert (absent.where, absent.not_understood) == ("p = '3'", ["ambiguous text"])
    broken = scan_filter(output=OUTPUT, read_schema=SCHEMA, conditions=[], partition_filters="[(odd name#5 = 2), (us")
    assert broken.not_understood == ["ambiguous text"]


@pytest.mark.parametrize(
    ("text", "kind", "sql"),
    [
        ("-5", "int", "-5"),
        ("0E-10", "decimal(20,10)", "0.0000000000"),
        ("1.0E10", "double", "1.0E10D"),
        ("NaN", "float", "float('NaN')"),
        ("0x00FF", "binary", "X'00FF'"),
        ("true", "boolean", "TRUE"),
        ("null", "date", "NULL"),
        ("null", "string", "'null'"),
        ("2024-01-01 00:00:00", "timestamp_ntz", "TIMESTAMP_NTZ '2024-01-01 00:00:00'"),
    ],
)
def test_literals_have_the_type_of_their_column(text, kind, sql):
    assert literal(text, kind, None) == sql


@pytest.mark.parametrize("zone", [None, "Mars/Olympus", "../../etc/passwd", "+99:00"])
def test_local_times_of_an_unknown_zone_are_left_out(zone):
    assert read_back("(at#4 > 2024-07-01 12:00:00)", zone=zone).not_understood == ["the session time zone is unknown"]


def test_a_schema_that_spark_shortened_has_what_it_names():
    assert leaf_types("struct<a:int,b:array<struct<c:int>>,... 3 more fields>") == {
        ("a",): "int",
        ("b",): "array<struct<c:int>>",
    }


def test_nesting_has_a_limit_and_what_is_above_it_is_kept():
    deep = "(id#1L = 1)"
    for _ in range(5000):
        deep = f"({deep} AND (id#1L > 0))"
    found = read_back(deep)
    assert found.where == "id > 0"
    assert {*found.not_understood} == {"nested too deeply"}
    assert read_back("(" * 100_000).where == ""


LETTERS = st.text("ab#12L(),=. '\n\\", max_size=12)
PIECES = st.sampled_from(
    ["user#2", "id#1L", " AND ", " OR ", " = ", "(", ")", " IN (", " INSET ", "NOT ", ", ", "isnotnull("]
)


@given(st.lists(PIECES | LETTERS, max_size=25).map("".join), LETTERS, LETTERS)
def test_any_text_is_read_or_refused(text, output, schema):
    for options in ({}, {"output": f"[{output}]"}, {"read_schema": f"struct<{schema}>"}, {"partition_filters": text}):
        try:
            found = read_back(text, **options)
        except NotUnderstood:
            continue
        assert found.where or found.not_understood or not found.conjuncts


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(["== Physical Plan ==\n", "\n\n", "\n\n\n", "(1) Scan", "+- "])).map("".join)
)
def test_any_plan_is_read_or_refused(text):
    try:
        operators_of(text)
    except NotUnderstood:
        return
    assert "\n\n\n" in text


# Predicates as trees: what Spark prints of them, and what they are for a row.
@st.composite
def comparisons(draw):
    text = draw(st.sampled_from(TEXTS) | LETTERS)
    number = draw(st.integers(0, 3))
    # Spark prints a list of `a,b` as it does a list of `a` and `b`; only a blank beside a comma tells it.
    listed = text if "," not in text or ", " in text else "b"
    return draw(
        st.sampled_from(
            [
                ("=", "user", text),
                ("<=>", "user", text),
                (">", "user", text),
                ("IN", "user", (listed, "b")),
                ("=", "k", number),
            ]
        )
    )


PREDICATES = st.recursive(
    comparisons(),
    lambda inner: st.tuples(st.sampled_from(["AND", "OR"]), inner, inner) | st.tuples(st.just("NOT"), inner),
)


def printed(tree):
    match tree:
        case ("AND" | "OR", left, right):
            return f"({printed(left)} {tree[0]} {printed(right)})"
        case ("NOT", child):
            return f"NOT {printed(child)}"
        case ("IN", column, values):
            return f"{column}#{len(column)} IN ({','.join(values)})"
        case (operator, column, value):
            return f"({column}#{len(column)} {operator} {value})"


def holds(tree, row):
    match tree:
        case ("AND", left, right):
            return holds(left, row) and holds(right, row)
        case ("OR", left, right):
            return holds(left, row) or holds(right, row)
        case ("NOT", child):
            return not holds(child, row)
        case ("IN", column, values):
            return row[column] in values
        case (">", column, value):
            return row[column].encode() > value.encode()
        case (_, column, value):
            return row[column] == value


ROWS = [{"user": user, "k": k} for user in [*TEXTS, "b", "c"] for k in range(3)]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    return str(path)


@given(PREDICATES)
@example(("AND", ("=", "user", "a) AND (k#1 = 1"), ("=", "k", 2)))
@example(("NOT", ("AND", ("=", "user", "a) OR (user#4 = b"), ("=", "k", 2))))
def test_a_text_that_looks_like_a_condition_never_narrows(table, tree):
    found = scan_filter(output="[user#4, k#1]", read_schema="struct<user:string,k:int>", conditions=[printed(tree)])
    if not found.where:
        return
    kept = pr.read_arrow(table, where=found.where, session=pr.SparkSemantics(time_zone="UTC")).to_pylist()
    expected = [row for row in ROWS if holds(tree, row)]
    assert all(row in kept for row in expected), (printed(tree), found.where)
    if not found.not_understood:
        assert len(kept) == len(expected)
