"""Conditions in Spark's printed form: hostile strings never crash the parser and never narrow the selection."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from printed_plans import TEXTS

import prune_assets as pr
from prune_assets.advisor.workload.conditions.literals import literal
from prune_assets.advisor.workload.conditions.read_schema import leaf_types
from prune_assets.advisor.workload.conditions.scan_filter import scan_filter
from prune_assets.advisor.workload.constants import shape_of
from prune_assets.advisor.workload.event_logs.plan_text import operators_of
from prune_assets.advisor.workload.not_understood import NotUnderstood

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
        ("(id#1L > ReusedSubquery Subquery scalar-subquery#7, [id=#5])", "", "a subquery"),
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


@pytest.mark.parametrize(
    "text",
    [
        *("x (y)", "f(1)", "a) AND (b", "(", ")", "a) OR (id#1L = 2", "b#7", "s#6.b", "NOT a", "a IN (b", "a AND b"),
        *("user#2 = a", "Smith, J. (Jr)", "it's", 'say "hi"', "Subquery subquery#7", ":-)", "isnotnull(user#2)"),
        *("a\nb", "... 5 more fields", "null", "), b", "a), EqualTo"),
    ],
)
@pytest.mark.parametrize(
    ("condition", "pushed", "where"),
    [
        ("(isnotnull(user#2) AND (user#2 = {}))", "[IsNotNull(user), EqualTo(user,{})]", "user = {}"),
        ("(user#2 <=> {})", "[EqualNullSafe(user,{})]", "user <=> {}"),
        ("((user#2 >= {}) AND (id#1L < 3))", "[GreaterThanOrEqual(user,{}), LessThan(id,3)]", "id < 3 AND user >= {}"),
        ("NOT (user#2 = {})", "[Not(EqualTo(user,{}))]", "NOT (user = {})"),
        ("((user#2 = {}) OR (id#1L = 3))", "[Or(EqualTo(user,{}),EqualTo(id,3))]", "(user = {} OR id = 3)"),
        ("((id#1L = 3) OR (s#6.b > {}))", "[Or(EqualTo(id,3),GreaterThan(s.b,{}))]", "(id = 3 OR s.b > {})"),
        ("StartsWith(user#2, {})", "[StringStartsWith(user,{})]", "startswith(user, {})"),
        ("Contains(s#6.b, {})", "[StringContains(s.b,{})]", "contains(s.b, {})"),
    ],
)
def test_a_text_means_what_was_pushed_down_whatever_it_has_in_it(condition, pushed, where, text):
    found = read_back(condition.format(text), pushed_filters=pushed.format(text))
    sql = literal(text, "string", None, exact=True)
    assert (found.where, found.not_understood) == (where.format(sql), [])


def test_lists_of_texts_mean_what_was_pushed_down():
    found = read_back("user#2 IN (a (b),(,c#7)", pushed_filters="[In(user, [a (b),(,c#7])]")
    assert (found.where, found.not_understood) == ("user IN ('a (b)', '(', 'c#7')", [])
    texts = ["c)", "(b", *"defghijklm"]
    printed = f"user#2 INSET {', '.join(sorted(texts))}"
    found = read_back(printed, pushed_filters=f"[In(user, [{','.join(texts)}])]")
    assert found.where == f"user IN ({', '.join(map(repr, texts))})"
    # A comma and a blank may be of a text, or between two.
    found = read_back("user#2 IN (a, b,c)", pushed_filters="[In(user, [a, b,c])]")
    assert (found.where, found.not_understood) == ("", ["ambiguous text"])


def test_brackets_in_pairs_are_of_a_text_that_no_other_notation_has():
    options = {"output": "[m#7]", "read_schema": "struct<m:map<string,string>>"}
    assert read_back("(m#7[k] = Smith (Jr))", **options).where == "m['k'] = 'Smith (Jr)'"
    for text in ("(b", "a) AND (b", "f(1)", "a#7"):
        found = read_back(f"(m#7[k] = {text})", **options)
        assert found.where == ""
        assert found.not_understood


PARTS = "struct<s:struct<a-b:int,c d:string,p.q:bigint,in:struct<x-y:date>>,m:map<string,int>,n:map<date,string>,"
PARTS += "a:array<bigint>,l:array<struct<f-g:int,h:string>>>"


@pytest.mark.parametrize(
    ("condition", "where", "columns"),
    [
        ("(s#1.a-b = 3)", "s.`a-b` = 3", "s.`a-b`"),
        ("(s#1.c d = v 3)", "s.`c d` = 'v 3'", "s.`c d`"),
        ("(s#1.p.q > 3)", "s.`p.q` > 3", "s.`p.q`"),
        ("(s#1.in.x-y = 2024-01-05)", "s.`in`.`x-y` = DATE '2024-01-05'", "s.`in`.`x-y`"),
        ("isnotnull(s#1.in)", "s.`in` IS NOT NULL", "s.`in`"),
        ("(m#2[k] >= 4)", "m['k'] >= 4", "m"),
        ("m#2[k - l] IN (4,5)", "m['k - l'] IN (4, 5)", "m"),
        ("(n#3[2024-01-05] = x)", "n[DATE '2024-01-05'] = 'x'", "n"),
        ("isnotnull(a#4[0])", "a[0] IS NOT NULL", "a"),
        ("((a#4[0] = 3) AND isnotnull(a#4))", "a[0] = 3", "a"),
        ("(l#5[1].f-g = 3)", "l[1].`f-g` = 3", "l"),
        ("StartsWith(l#5.h[0], x)", "startswith(l.h[0], 'x')", "l"),
        ("(upper(s#1.c d) = X)", "upper(s.`c d`) = 'X'", "s.`c d`"),
    ],
)
def test_fields_and_elements_are_of_their_column(condition, where, columns):
    found = read_back(condition, output="[s#1, m#2, n#3, a#4, l#5]", read_schema=PARTS)
    assert (found.where, found.not_understood) == (where, [])
    assert columns in found.columns or columns == "s.`in`"
    assert shape_of(found.where)


@pytest.mark.parametrize(
    "condition", ["(m#2[k = 3)", "(a#4[k] = 3)", "(l#5[0].x = 3)", "(s#1.z-z = 3)", "(q#9[k] = 3)"]
)
def test_elements_that_no_type_has_are_left_out(condition):
    found = read_back(condition, output="[s#1, m#2, n#3, a#4, l#5]", read_schema=PARTS)
    assert found.where == ""
    assert found.not_understood


WIDE = {
    "output": f"[{', '.join(f'c{i}#{i + 1}' for i in range(25))}, ... 15 more fields]",
    "read_schema": f"struct<{','.join(f'c{i}:int' for i in range(25))},... 15 more fields>",
}


@pytest.mark.parametrize(
    ("condition", "pushed", "where"),
    [
        ("(isnotnull(c33#34) AND (c33#34 = 5))", "[IsNotNull(c33), EqualTo(c33,5)]", "c33 = '5'"),
        ("(isnotnull(c33#34L) AND (c33#34L = 5))", "[IsNotNull(c33), EqualTo(c33,5)]", "c33 = 5"),
        ("((c2#3 = 5) AND c33#34 IN (a,b))", "[EqualTo(c2,5), In(c33, [a,b])]", "c2 = 5 AND c33 IN ('a', 'b')"),
        ("(isnotnull(c-33#34) AND (c-33#34 = x y))", "[IsNotNull(c-33), EqualTo(c-33,x y)]", "`c-33` = 'x y'"),
        ("(c33#34 = a (b))", "[EqualTo(c33,a (b))]", "c33 = 'a (b)'"),
        # Conditions that are not pushed down.
        ("((upper(c33#34) = X) OR (c34#35 = 3))", None, "(upper(c33) = 'X' OR c34 = '3')"),
        ("NOT c33#34 IN (1,2)", None, "c33 NOT IN ('1', '2')"),
        ("c33#34 LIKE a_b", None, "c33 LIKE 'a_b'"),
    ],
)
def test_columns_that_a_shortened_list_does_not_name_are_those_of_the_conditions(condition, pushed, where):
    found = read_back(condition, pushed_filters=pushed, direct_conditions=[condition], **WIDE)
    assert (found.where, found.not_understood) == (where, [])
    assert {"c0", "c24"} <= {*found.columns}
    assert {"c33", "`c-33`"} & {*found.columns}


def test_columns_that_the_query_computes_are_none_of_a_shortened_list():
    found = read_back("(total#99 > 5)", **WIDE)
    assert (found.where, found.not_understood) == ("", ["a column that the query computes"])
    # A text that looks like a column of the list.
    condition = "((isnotnull(c33#34) AND isnotnull(c34#35)) AND (c33#34 = c34#9))"
    pushed = "[IsNotNull(c33), IsNotNull(c34), EqualTo(c33,c34#9)]"
    found = read_back(condition, pushed_filters=pushed, direct_conditions=[condition], **WIDE)
    assert found.where == "c33 = 'c34#9' AND c34 IS NOT NULL"
    # Unless the list has all columns.
    found = read_back("(c33#34 = 5)", direct_conditions=["(c33#34 = 5)"], output="[c0#1]", read_schema=None)
    assert (found.where, found.not_understood) == ("", ["a column that the query computes"])


def test_conditions_that_a_scan_applies_are_those_of_its_filter():
    found = scan_filter(
        output=OUTPUT,
        read_schema=SCHEMA,
        conditions=[],
        applied_filters="[isnotnull(user#2), (user#2 = a, b), id#1L IN (1,2), dynamicpruning#8 7]",
        partition_filters="[(day#3 > 2024-01-05), dynamicpruningexpression(true)]",
    )
    assert found.where == "day > DATE '2024-01-05' AND id IN (1, 2) AND user = 'a, b'"
    assert found.not_understood == ["a filter made at run time, from the other side of a join"]


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


# Predicates as trees, with the text that Spark prints for them and their result for a row.
@st.composite
def comparisons(draw):
    text = draw(st.sampled_from(TEXTS) | LETTERS)
    number = draw(st.integers(0, 3))
    # Spark prints the list of `a,b` like the list of `a` and `b`, unless a blank follows the comma.
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


_PUSHED = {"=": "EqualTo", "<=>": "EqualNullSafe", ">": "GreaterThan", "AND": "And", "OR": "Or", "NOT": "Not"}


def pushed(tree):
    match tree:
        case ("IN", column, values):
            return f"In({column}, [{','.join(values)}])"
        case (operator, *operands):
            return f"{_PUSHED[operator]}({','.join(pushed(x) if isinstance(x, tuple) else str(x) for x in operands)})"


def conjuncts(tree):
    return [*conjuncts(tree[1]), *conjuncts(tree[2])] if tree[0] == "AND" else [tree]


@given(tree=PREDICATES, with_pushed=st.booleans())
@example(tree=("AND", ("=", "user", "a) AND (k#1 = 1"), ("=", "k", 2)), with_pushed=True)
@example(tree=("OR", ("=", "user", "a),EqualTo(k,1"), ("=", "user", "b) OR (user#4 = (")), with_pushed=True)
@example(tree=("AND", ("=", "user", "a) AND (k#1 = 1"), ("=", "k", 2)), with_pushed=False)
@example(tree=("NOT", ("AND", ("=", "user", "a) OR (user#4 = b"), ("=", "k", 2))), with_pushed=False)
def test_a_text_that_looks_like_a_condition_never_narrows(table, tree, with_pushed):
    found = scan_filter(
        output="[user#4, k#1]",
        read_schema="struct<user:string,k:int>",
        conditions=[printed(tree)],
        pushed_filters=f"[{', '.join(map(pushed, conjuncts(tree)))}]" if with_pushed else None,
    )
    if not found.where:
        return
    kept = pr.read_arrow(table, where=found.where, semantics=pr.SparkSemantics(time_zone="UTC")).to_pylist()
    expected = [row for row in ROWS if holds(tree, row)]
    assert all(row in kept for row in expected), (printed(tree), found.where)
    if not found.not_understood:
        assert len(kept) == len(expected)
