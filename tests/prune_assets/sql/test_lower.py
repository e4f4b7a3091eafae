from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from parquet_core.errors import UnknownColumn, WrongUse
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, Compare, Constant, In, Interval, Not, Op, Or, Unsupported, leaves
from prune_assets.errors import PredicateSyntaxError, PredicateTypeError
from prune_assets.planner.spark_reader.as_spark_filters import as_spark_filters
from prune_assets.planner.spark_reader.spark_profile import NEWEST
from prune_assets.planner.value_tests import row_tests
from prune_assets.sql.binding.scope import bind_names
from prune_assets.sql.functions.texts import KEEP_ONE_CASE
from prune_assets.sql.lower import LoweredPredicate, lower
from prune_assets.sql.render import render
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.parsed import parse_predicate
from tests.prune_assets.sql.fixture_lines import braced, fixture_lines
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS, leaf

NUMBER_OR_CAST = "write a number, or cast the column to STRING to compare it as text"
RANGE_OF_TS = "add a range of the column itself, e.g. ts >= TIMESTAMP '..' AND ts < TIMESTAMP '..'"
FOR_MARCH = (
    "write a range of the column, e.g. at >= TIMESTAMP '2025-03-01' AND at < TIMESTAMP '2025-04-01' for March 2025"
)

Q6 = (
    "l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year "
    "and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24"
)


def lowered(sql: str, *, columns=FIXTURE_COLUMNS, **settings: bool) -> LoweredPredicate:
    return lower(sql, columns, semantics=SparkSemantics(**settings))


FIXTURES = ["lowered.txt", "patterns.txt", "partly.txt"]


@pytest.fixture(scope="module")
def fixtures():
    """Each predicate of the fixtures lowered, by file and line."""
    return {name: {line: lowered(line.predicate) for line in fixture_lines(name)} for name in FIXTURES}


@pytest.mark.parametrize("name", FIXTURES)
def test_fixture(fixtures, name):
    wrong = [(line, text) for line, once in fixtures[name].items() if (text := rendered(once)) != line.expected]
    assert wrong == []
    assert len(fixtures[name]) > 20


@pytest.mark.parametrize("name", ["lowered.txt", "patterns.txt"])
def test_normalized_text_means_the_same(fixtures, name):
    texts = [once.normalized for once in fixtures[name].values()]
    assert [(text, again) for text in texts if (again := lowered(text).normalized) != text] == []


def rendered(found: LoweredPredicate) -> str:
    return render(braced(found.predicate))


def test_an_end_of_a_range_that_is_refused_leaves_the_other_end():
    """Without ANSI, comparing a number with a string is unsupported; the bound that is a number still prunes."""
    found = lowered("x BETWEEN 5 AND '9.5'", ansi=False).predicate
    assert isinstance(found, And)
    known, unknown = found.children
    assert (known.op, known.value.as_py(), unknown.sql) == (Op.GE, 5, "x <= '9.5'")
    both = lowered("x BETWEEN '5.5' AND '9.5'", ansi=False).predicate
    assert (type(both), both.sql) == (Unsupported, "x BETWEEN '5.5' AND '9.5'")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("x = '5'", "x = 5"),
        ("x <=> '+05'", "x <=> 5"),
        ("'-5' < x", "x > -5"),
        ("x BETWEEN '5' AND 9", "x BETWEEN 5 AND 9"),
        ("x = '2147483648'", None),
        ("x = ' 5'", None),
        ("x = '5.0'", None),
        ("x = 'five'", None),
        ("x IN ('5')", None),
        ("g = '5'", None),
    ],
)
def test_the_text_of_a_number_is_that_number_without_ansi_too(sql, expected):
    """Only if the text fits the type: other texts may be NULL, and IN lists are compared as strings."""
    found = lowered(sql, ansi=False).predicate
    if expected is None:
        assert isinstance(found, Unsupported)
    else:
        assert render(braced(found)) == expected


EVERY_TIME = (-(1 << 80), 1 << 80)


def test_fixture_of_times():
    semantics = {"time_zone": "America/New_York", "zone_span": EVERY_TIME}
    found = {line: lowered(line.predicate, **semantics) for line in fixture_lines("times.txt")}
    assert [(line, text) for line, once in found.items() if (text := rendered(once)) != line.expected] == []
    whole = [once for once in found.values() if not any(isinstance(it, Unsupported) for it in leaves(once.predicate))]
    assert len(whole) > 20
    texts = [once.normalized for once in whole]
    assert [(text, again) for text in texts if (again := lowered(text, **semantics).normalized) != text] == []


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day", "hour", "minute"])
def test_a_zone_that_is_certain_from_some_day_on_is_not_asked_before_it(unit):
    found = lowered(f"date_trunc('{unit}', ts) > '1990-01-01'", time_zone="Europe/Paris").predicate
    (part,) = [leaf for leaf in leaves(found) if isinstance(leaf, Unsupported)]
    assert part.reason.startswith("the result of Spark is uncertain for ts <= TIMESTAMP '19")


def test_a_table_without_columns_is_said_to_have_none():
    with pytest.raises(UnknownColumn, match=r"unknown column i: the table has no columns$"):
        lower("i = 1", [], semantics=SparkSemantics())


def test_without_a_zone_only_what_depends_on_it_is_widened():
    assert lowered("ts > '2024-01-01 00:00:00Z' and ntz > '2024-01-01'").normalized == (
        "ts > TIMESTAMP '2024-01-01 00:00:00Z' AND ntz > TIMESTAMP_NTZ '2024-01-01 00:00:00'"
    )
    for sql in ("ts > '2024-01-01'", "year(ts) = 2024", "ntz < timestamp '2024-01-01 00:00:00Z'"):
        parts = [part for part in leaves(lowered(sql).predicate) if isinstance(part, Unsupported)]
        assert {part.sql for part in parts} == {sql}
        assert {part.reason for part in parts} == {"it depends on the time zone, which is not known"}
        assert {part.remedy for part in parts} == {"pass session=, semantics= or --time-zone"}


def test_error():
    for line in fixture_lines("errors.txt"):
        kind, message = line.expected.split(": ", 1)
        with pytest.raises(WrongUse) as caught:
            lowered(line.predicate)
        assert type(caught.value).__name__ == kind, line
        assert message in str(caught.value), line
        assert str(caught.value).isprintable(), "one line, no colours"


def test_q6_lowers_completely():
    columns = [
        leaf("l_shipdate", type=pa.date32()),
        leaf("l_discount", type=pa.decimal128(15, 2)),
        leaf("l_quantity", type=pa.decimal128(15, 2)),
    ]
    found = lowered(Q6, columns=columns)
    assert found.normalized == (
        "l_shipdate BETWEEN DATE '1994-01-01' AND DATE '1994-12-31' "
        "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24.00"
    )
    assert [sql for sql, _ in found.conjuncts] == [
        "l_shipdate >= date '1994-01-01'",
        "l_shipdate < date '1994-01-01' + interval '1' year",
        "l_discount between 0.06 - 0.01 and 0.06 + 0.01",
        "l_quantity < 24",
    ]
    assert [predicate for _, predicate in found.conjuncts[2:]] == list(found.predicate.children[1:])


def test_values_have_the_type_of_the_column():
    found = lowered("i8 = 5 and d in (1, 2) and u64 between 1 and 2 and day > '1994-01-01'").predicate
    equal, members, interval, later = found.children
    assert equal == Compare(("i8",), Op.EQ, pa.scalar(5, pa.int8()))
    assert isinstance(members, In)
    assert members.values.type == pa.decimal128(5, 2)
    assert interval == Interval(("u64",), pa.scalar(1, pa.uint64()), pa.scalar(2, pa.uint64()))
    assert later.value.type == pa.date32()


def test_a_single_condition_is_its_own_conjunct():
    found = lowered("  x = 1 or\n y = 2 -- why")
    assert found.conjuncts == (("x = 1 or y = 2", found.predicate),)


def test_every_refusal_has_a_reason(fixtures):
    predicates = [once.predicate for name in FIXTURES for once in fixtures[name].values()]
    refused = [part for predicate in predicates for part in leaves(predicate) if isinstance(part, Unsupported)]
    assert len(refused) > 60
    assert all(part.reason for part in refused)


@pytest.mark.parametrize(
    ("sql", "reason", "remedy"),
    [
        (
            "x = 'five'",
            "'five' is a string, which Spark casts to",
            NUMBER_OR_CAST,
        ),
        ("s = 5", "casts the strings", "put the number in quotes"),
        ("day = '2024-13-05'", "no day 2024-13-05; with ansi", "write a day that exists"),
        ("day = '94-1-1'", "yyyy-MM-dd", "write DATE 'yyyy-MM-dd'"),
        (
            "f > '1d'",
            "'1d' is a string, which Spark casts to",
            NUMBER_OR_CAST,
        ),
        ("b = 'true'", "Spark casts 'true' to a boolean here", "write the value without quotes"),
        ("bin = 'a'", "casts values that are compared with a binary", "write X'1C07'"),
        (
            "lower(s) = 'x'",
            "case changes the order",
            KEEP_ONE_CASE,
        ),
        ("trim(s) = 'x'", "before they are trimmed", "trim the values when they are written"),
        ("s || 'x' = 'x'", "a concatenated string", "compare the columns one by one"),
        ("substr(s, 2, 3) = 'x'", "does not begin at the first character", "begin at 1 or compare the column"),
        ("s like 'a\\\\b'", "Spark fails on the escape character before 'b'", "write \\\\ for itself"),
        ("s ilike 'a%'", "ignores case", KEEP_ONE_CASE),
        ("bin like 'a%'", "casts the bytes", "write startswith(column, X'1C07')"),
        ("s rlike '^[ab]'", "begins with no plain text", "write LIKE or startswith()"),
        ("s rlike '^a|b'", "alternatives", "write them with OR"),
        ("s rlike '(?i)a'", "flags", "write the expression without flags"),
        ("x % 2 = 1", "a remainder repeats", "add a range of the column itself"),
        ("cast(x as string) = '5'", "strings do not sort", "without the cast, e.g. x = 5 for CAST(x AS STRING) = '5'"),
        ("abss(x) = 1", "abss() is not a built-in function of Spark; unless it is a UDF", "did you mean abs()?"),
        ("nosuch(x) = 3", "a UDF, Spark refuses it", "compare the column itself"),
        ("md5(s) = 'x'", "md5() is not supported", "compare the column itself"),
        (
            "date_format(ts, 'MMM yyyy') = 'Mar 2025'",
            "date_format() prunes only if it is compared with a day, month or year",
            FOR_MARCH,
        ),
        ("day(ts) = 3", "repeats", "combine it with year(ts) = .. AND month(ts) = .., or write a range of ts"),
        ("month(day) = 3", "repeats over time", "combine it with year(day) = .., or write a range of day"),
        ("hour(ts) = 3", "repeats over time", RANGE_OF_TS),
        ("extract(dow from ts) = 3", "repeats over time", RANGE_OF_TS),
        ("month(date_add(day, 1)) = 3", "repeats over time", RANGE_OF_TS.replace("ts ", "day ")),
        ("x + y = 1", "arithmetic between columns", "compare one column with a constant"),
        ("rand() < 0.5", "a different value for every row", ""),
        (
            "ts + interval 1 day > '2024-01-01'",
            "depends on the time zone, which is not known",
            "pass session=, semantics= or --time-zone",
        ),
        ("arr[0] = 1", "an element of an array", ""),
        ("_metadata.file_name = 'part-0.parquet'", "only while it reads", ""),
        ("_METADATA.row_index < 5", "only while it reads", ""),
        ("_metadata['file_size'] > 5", "an element of an array or map", ""),
        ("substring() RLIKE 'a'", "has no arguments", ""),
        ("x >>> 1 = 2", "bitwise operators are not supported", ""),
        ("x + 1 > 0.0000000000000000000000000000000000001", "rounds this decimal", "write fewer digits"),
    ],
)
def test_reason_and_remedy(sql, reason, remedy):
    found = lowered(sql).predicate
    assert isinstance(found, Unsupported)
    assert found.sql == sql
    assert reason in found.reason
    assert found.remedy == remedy


def test_variables_that_spark_substitutes_are_not_looked_at():
    found = lowered("s = '${spark.app.name}' and x = 1").predicate
    assert isinstance(found, Unsupported)
    assert "variables" in found.reason


def test_without_ansi_a_clash_is_only_refused():
    assert isinstance(lowered("x = true", ansi=False).predicate, Unsupported)
    with pytest.raises(PredicateTypeError):
        lowered("x = true", ansi=True)


class TestCase:
    COLUMNS = (leaf("a", type=pa.int32()), leaf("A", type=pa.int32()), leaf("B", type=pa.int32()))

    def test_two_columns_that_differ_by_case_are_ambiguous(self):
        with pytest.raises(PredicateTypeError, match="column a is ambiguous: the table has a and A"):
            lowered("a = 1", columns=self.COLUMNS)

    def test_the_others_are_not(self):
        assert lowered("b = 1", columns=self.COLUMNS).normalized == "B = 1"

    def test_case_sensitive(self):
        assert lowered("A = 1", columns=self.COLUMNS, case_sensitive=True).normalized == "A = 1"
        with pytest.raises(UnknownColumn, match="did you mean B"):
            lowered("b = 1", columns=self.COLUMNS, case_sensitive=True)


def test_a_path_that_exists_twice_is_ambiguous():
    with pytest.raises(PredicateTypeError, match="has it 2 times"):
        lowered("a = 1", columns=[leaf("a", type=pa.int32()), leaf("a", type=pa.int32())])


def test_a_dot_in_a_name_is_not_a_path():
    columns = [leaf("a.b", type=pa.int32())]
    assert lowered("`a.b` = 1", columns=columns).predicate == Compare(("a.b",), Op.EQ, pa.scalar(1, pa.int32()))
    with pytest.raises(UnknownColumn):
        lowered("a.b = 1", columns=columns)


HINTED = [
    leaf("id", type=pa.int64()),
    leaf("status", type=pa.string()),
    leaf("geo", "country", type=pa.string()),
    leaf("geo", "lat", type=pa.float64()),
    leaf("home", "lat", type=pa.float64()),
    leaf("event date", type=pa.date32()),
]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("country = 'JP'", "unknown column country: did you mean geo.country?"),
        ("COUNTRY = 'JP'", "unknown column COUNTRY: did you mean geo.country?"),
        ("lat > 1.0", "unknown column lat: did you mean geo.lat or home.lat?"),
        (
            "geo.country = JP",
            "unknown column JP: text needs quotes, 'JP'; the table has id, status, geo, home, event date",
        ),
        ("geo.country in ('US', JP)", "unknown column JP: text needs quotes, 'JP'"),
        ("JP <> status", "unknown column JP: text needs quotes, 'JP'"),
        ("id = JP", "unknown column JP: the table has id"),
        ("status = staus", "unknown column staus: did you mean status?"),
        ("event date = DATE '2024-01-04'", "; the column `event date` needs backquotes"),
        ("id = 1 AND Event  Date is null", "; the column `event date` needs backquotes"),
    ],
)
def test_an_error_says_what_may_be_meant(sql, message):
    with pytest.raises((UnknownColumn, PredicateSyntaxError)) as refused:
        lowered(sql, columns=HINTED)
    assert message in str(refused.value)


@pytest.mark.parametrize("sql", ["id = 1 id", "`event date` = 1 id"])
def test_backquotes_are_no_advice_where_the_name_is_absent_or_quoted(sql):
    with pytest.raises(PredicateSyntaxError) as refused:
        lowered(sql, columns=HINTED)
    assert "backquotes" not in str(refused.value)


def test_a_list_with_null_is_an_or_with_null():
    found = lowered("x in (1, 2, null)").predicate
    assert isinstance(found, Or)
    assert found.children[1] == Constant(Outcomes.NULL)


def alternating(depth):
    return "".join(f"(s like '%{i}' {'and' if i % 2 else 'or'} " for i in range(depth)) + "y = 1" + ")" * depth


class TestSize:
    @pytest.mark.parametrize("connective", ["and", "or"])
    def test_a_long_chain_is_one_node(self, connective):
        found = lowered(f" {connective} ".join(f"x > {value}" for value in range(3_000))).predicate
        assert isinstance(found, And if connective == "and" else Or)
        assert len(found.children) == 3_000

    def test_a_long_list_is_quick(self):
        found = lowered(f"x in ({', '.join(map(str, range(10_000)))})")
        assert len(found.predicate.values) == 10_000
        assert found.normalized.endswith("18, 19, ... 9,980 more)")

    def test_brackets_cost_no_stack(self):
        assert lowered("(" * 5_000 + "x = 1" + ")" * 5_000).normalized == "x = 1"

    def test_negations_cost_no_stack(self):
        assert lowered("not " * 5_000 + "x = 1").normalized == "x = 1"
        assert isinstance(lowered("not (" * 4_999 + "x = 1" + ")" * 4_999).predicate, Not)

    def test_signs_and_calls_cost_no_stack(self):
        assert isinstance(lowered("x = " + "- " * 5_000 + "y").predicate, Unsupported)
        assert isinstance(lowered("abs(" * 3_000 + "x" + ")" * 3_000 + " = 1").predicate, Unsupported)

    def test_nested_connectives_cost_no_stack(self):
        found = lowered(alternating(3_000))
        assert len(list(leaves(found.predicate))) == 3_001
        assert found.normalized.count("(") == 2_999

    @pytest.mark.parametrize(
        "sql", ["(" * 10_001 + "x = 1" + ")" * 10_001, "x in (" + "(" * 10_000 + "1" + ")" * 10_001]
    )
    def test_brackets_have_a_limit(self, sql):
        with pytest.raises(PredicateSyntaxError, match="brackets are nested deeper than 10,000 levels"):
            lowered(sql)

    def test_many_equalities_of_a_column_are_a_list(self):
        found = lowered(" or ".join(["y = 7", *(f"x = {value % 20}" for value in range(40)), "y = 8"])).predicate
        assert render(found) == f"y = 7 OR x IN ({', '.join(map(str, range(20)))}) OR y = 8"
        found = lowered(" and ".join(f"x <> {value}" for value in range(16)))
        assert found.normalized == f"x NOT IN ({', '.join(map(str, range(16)))})"
        assert len(found.conjuncts) == 16, "as they were written"

    def test_few_equalities_and_those_of_floats_stay_as_they_are(self):
        assert isinstance(lowered(" or ".join(f"x = {value}" for value in range(15))).predicate, Or)
        assert len(lowered(" or ".join(f"f = {value}D" for value in range(40))).predicate.children) == 40

    @pytest.mark.parametrize(
        "nested",
        [
            lambda inner: f"case {inner} when 1 then 2 when 3 then y else x end",
            lambda inner: f"coalesce({inner}, x, y)",
            lambda inner: f"nullif({inner}, 3)",
            lambda inner: f"if({inner} > 1, {inner}, y)",
            lambda inner: f"cast((({inner} > 1) <=> (y > 1)) as int)",
        ],
    )
    def test_cases_inside_cases_have_a_limit(self, nested):
        sql = "x"
        while len(sql) < 2_000:
            sql = nested(sql)
        found = lowered(f"{sql} = 1").predicate
        refused = [part.reason for part in leaves(found) if isinstance(part, Unsupported)]
        assert any("cases" in reason or "deeper" in reason for reason in refused)


def test_bytes_that_a_session_reads_as_strings_are_not_asked_about():
    for sql in ("bin = X'61'", "bin IN (X'61')", "bin <=> X'61'"):
        found = lowered(sql, binary_as_string=True).predicate
        assert isinstance(found, Unsupported)
        assert "binaryAsString" in found.reason
    assert render(lowered("bin is null", binary_as_string=True).predicate) == "bin IS NULL", "null is null all the same"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("year(day) = 2024", "day BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'"),
        ("to_date(ntz) = '2024-01-01'", "ntz BETWEEN {0} AND {1}"),
        ("to_date(ntz) IN ('2024-01-01')", "ntz BETWEEN {0} AND {1}"),
        ("to_date(ntz) IN ('2024-1-1')", "{to_date(ntz) IN ('2024-1-1')}"),
        ("x + 5 > 10", "x >= 6 AND (x <= 2147483642 OR {x + 5 > 10})"),
        ("cast(x AS tinyint) = 5", "x = 5 OR (x NOT BETWEEN -128 AND 127 AND {cast(x AS tinyint) = 5})"),
        ("g + 1 > 2", "{g + 1 > 2}"),
        ("x = 1.5", "x < -2147483648"),
        ("x = 1.5D", "x < -2147483648"),
        ("x = '5.0'", "{x = '5.0'}"),
    ],
)
def test_expressions_without_ansi(sql, expected):
    expected = (
        expected.format("TIMESTAMP_NTZ '2024-01-01 00:00:00'", "TIMESTAMP_NTZ '2024-01-01 23:59:59.999999'")
        if "{0}" in expected
        else expected
    )
    assert render(braced(lowered(sql, ansi=False).predicate)) == expected


def test_a_float_column_meets_integers_as_float_without_ansi():
    assert lowered("g = 16777218", ansi=False).normalized == "g = 1.6777218e+07F"
    assert isinstance(lowered("g = 16777217", ansi=False).predicate, Unsupported)
    assert lowered("f = 16777217", ansi=False).normalized == "f = 16777217.0D"


def test_a_column_beside_a_list_in_a_struct():
    columns = [leaf("s", "x", type=pa.int32()), leaf("s", "l", "list", "element", type=pa.int32(), repeated=1)]
    assert lowered("s.x = 1", columns=columns).normalized == "s.x = 1"
    assert isinstance(lowered("s.l.y = 1", columns=columns).predicate, Unsupported)
    assert isinstance(lowered("s.l is null", columns=columns).predicate, Unsupported)


def test_a_part_that_is_asked_with_a_known_value_says_so():
    found = lowered("x = 5 and y > x + 1 and x % 3 = 2").predicate
    reasons = {part.sql: (part.reason, part.remedy) for part in leaves(found) if isinstance(part, Unsupported)}
    asked, alone = reasons["y > x + 1"], reasons["x % 3 = 2"]
    why = "a comparison with a function of another column is not supported"
    assert asked == (
        f"{why}; another condition fixes the value of the column, and this condition is evaluated with it",
        "",
    )
    assert alone == (
        "a remainder repeats over the column, so it is not a range of the column",
        "add a range of the column itself",
    )


def test_a_predicate_asked_again_is_lowered_once_unless_it_asks_the_clock(monkeypatch):
    columns = [column for column in FIXTURE_COLUMNS if column.path in {("x",), ("day",)}]
    in_utc, elsewhere = (SparkSemantics(time_zone=zone) for zone in ("UTC", "+14:00"))

    first = lower("x = 1", list(columns), semantics=in_utc)
    assert lower("x = 1", list(columns), semantics=in_utc) is first
    wider = [replace(column, type=pa.int64()) for column in columns]
    assert lower("x = 1", wider, semantics=in_utc).predicate != first.predicate, "the column has another type"

    midnight = "day = current_date()"
    found = []
    for semantics, days in ((in_utc, 1), (in_utc, 2), (elsewhere, 2)):
        monkeypatch.setattr("prune_assets.sql.binding.clock.now", lambda days=days: (days * 24 + 12) * 3_600_000_000)
        found.append(lower(midnight, columns, semantics=semantics).frozen_sql)
    assert found == [f"day = DATE '1970-01-0{day}'" for day in (2, 3, 4)]


@pytest.mark.parametrize(
    "where", ["day = DATE '2024-01-01' AND x IN (1, 2)", "day = current_date()", "day < now()::date"]
)
def test_a_text_is_parsed_and_bound_once(monkeypatch, where):
    """There is one parse and one binding, from the text to Spark's filters and the tests on rows."""
    parsed, bound = [], []
    monkeypatch.setattr(
        "prune_assets.sql.lower.parse_predicate", lambda sql: parsed.append(sql) or parse_predicate(sql)
    )
    monkeypatch.setattr(
        "prune_assets.sql.lower.bind_names", lambda one, *rest: bound.append(one.sql) or bind_names(one, *rest)
    )
    semantics = SparkSemantics(time_zone="UTC")
    lowered = lower(f"{where} AND x % 100 = 7 AND x <> 4711", FIXTURE_COLUMNS, semantics=semantics)
    as_spark_filters(lowered.parsed, semantics=semantics, profile=NEWEST)
    row_tests(lowered, session=None, semantics=semantics, most=10)
    assert parsed == [f"{where} AND x % 100 = 7 AND x <> 4711"]
    assert len(bound) == 1


def test_a_condition_that_is_compared_with_false_is_negated():
    """The part that is tested on values is the whole, not the condition inside."""
    for where in ("(x % 3 = 1) = false", "FALSE = (x % 3 = 1)"):
        (part,) = leaves(lowered(where).predicate)
        assert isinstance(part, Unsupported)
        assert part.sql == where
        assert isinstance(part.source.tree, nodes.Negation)


def test_half_of_a_range_between_conditions_has_a_text_of_its_own():
    half = next(leaves(lowered("b BETWEEN b = (x % 3 = 1) AND TRUE").predicate))
    assert half.sql == "b >= (b = (x % 3 = 1))"


def test_constants_of_functions_of_a_user_are_evaluated_by_spark():
    asked = []

    def fold(text):
        asked.append(text)
        return "7"

    settings = {"semantics": SparkSemantics(), "fold": fold, "is_builtin": lambda name: name != "seven"}
    for where in ("x = seven()", "x IN (seven(), 7)"):
        found = lower(where, FIXTURE_COLUMNS, **settings).predicate
        assert found == lower("x = 7", FIXTURE_COLUMNS, **settings).predicate
    assert set(asked) == {"seven()"}
    found = lower("x = seven(y)", FIXTURE_COLUMNS, **settings).predicate
    assert found.reason == "seven() is not a built-in function in this session"
    assert found.null_with == ()


def test_executors_get_a_predicate_without_its_source():
    (part,) = leaves(lowered(" || ".join(["s"] * 400) + " = 'a'").predicate)
    assert part.source is not None
    read_back = pickle.loads(pickle.dumps(part))
    assert (read_back, read_back.source) == (part, None)
