"""Predicates drawn from Spark's grammar, with literals near the edges of the columns' types."""

from __future__ import annotations

import random
import re

from tests.prune_assets.sql.random_expressions import random_expression_condition

# Share of conditions on expressions: Spark analyzes the whole predicate, but here a part may be refused.
EXPRESSIONS = 0.1
OPERATORS = ["=", "<>", "!=", "<", "<=", ">", ">=", "==", "!<", "!>"]
NUMBERS = {
    "x": ["0", "5", "-5", "- 5", "2.5", "-2.5", "5.", ".5", "5L", "7Y", "2147483647", "-2147483648", "3000000000"],
    "i8": ["0", "127", "-128", "128", "-129", "126.5", "-127.5", "5S", "1 + 1", "100Y - 1Y"],
    "i64": ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.5", "-1", "2L + 3"],
    "u32": ["9223372036854775807.5", "9223372036854775807.0", "-9223372036854775808.5", "99999999999999999998 + 1"],
    "u64": ["0", "-1", "18446744073709551615", "18446744073709551616", "0.5"],
    "d": ["0.05", "0.055", "-0.055", "5", "999.99", "1000", "-1000.001", "0.06 - 0.01", "1.50BD", "0.1 + 0.2"],
    "wide": ["1.5", "0", "-0.0000000001", "9999999999999999999999999999", "1L"],
}
FLOATS = [
    *("0", "-0.0", "0D", "-0D", "1.5", "1.5F", "0.1", "0.1F", "0.1D", "2.5", "5", "-5L", "1e0", "16777217", "1e-45"),
    *("16777217D", "9007199254740993", "9223372036854775807", "1e300", "-1e300", "5e-324", "3.4028235e38", "1e-50F"),
    *(
        "double('NaN')",
        "float('Infinity')",
        "double('-inf')",
        "0.1000000000000000055511151231257827",
        "3.4028234663852886E38F",
    ),
    *("12345678901234567890", "0.20000000298023223876953125", "1.1754943508222875e-38", "0.00000000000000000000000001"),
]
BYTES = ["X''", "x'00'", "X'61'", "X'6162'", "X'ff'", "X'ABC'", "X'80'", "X'7F'"]
STRINGS = ["'a'", "'it''s'", '"b"', "''", "'\\u00e9'", "'😀'", "'\uffff'", "'a' 'b'", "r'a\\n'", "'\\0'", "'ab'"]
TEXTS = ["a", "b", "ab", "é", "😀", "\n", "%", "_", "\\", "'", "!", "-"]
DATES = [
    "date '1994-01-01'",
    "DATE'0001-01-01'",
    "date '9999-12-31'",
    "'1970-01-01'",
    "'1994-02-28'",
    "date '1994-01-31' + interval '1' month",
    "date '1996-02-29' - interval 1 year",
    "date '1969-12-31' + interval '1' day",
]
TIMES = [
    *("'2024-01-01'", "timestamp '2024-01-01 00:00:00'", "timestamp '2024-03-10 07:30:00Z'", "date '2024-01-01'"),
    *(
        "timestamp '2024-11-03 01:30:00-04:00'",
        "timestamp '2023-12-31 00:00:00' + interval 1 day",
        "timestamp_ntz '2024-01-01'",
    ),
    *("'2024-02-29 12:00:00'", "timestamp_ltz '1970-01-01 00:00:00.000001'", "date '2024-01-01' - interval 1 second"),
]
LOCAL_TIMES = [
    "timestamp_ntz '2024-01-01 00:00:00'",
    "'2024-02-29 12:00:00'",
    "date '2024-01-01'",
    "timestamp '2024-01-01 00:00:00Z'",
]
NESTED = {"st.a": NUMBERS["x"], "st.in.f": FLOATS, "st.`in`.b": ["true", "false"]}
LITERALS = (
    NUMBERS
    | {
        "s": STRINGS,
        "day": DATES,
        "f": FLOATS,
        "g": FLOATS,
        "b": ["true", "false"],
        "bin": BYTES,
        "ts": TIMES,
        "ntz": LOCAL_TIMES,
    }
    | NESTED
)


# Columns that can be compared without a cast.
ALIKE = [["x", "i8", "i64", "st.a"], ["f", "g", "st.in.f"], ["b", "st.`in`.b"]]


def random_predicate(draw: random.Random, depth: int = 3) -> str:
    if depth and draw.random() < 0.6:
        return _connective(draw, depth)
    if draw.random() < EXPRESSIONS:
        return random_expression_condition(draw)
    column = draw.choice(sorted(LITERALS))
    values = LITERALS[column]
    one, two = draw.choice(values), draw.choice(values)
    negated = draw.choice(["", "not "])
    several = draw.choices([*values, "null"], k=draw.randint(1, 4))
    if column in {"day", "ts", "ntz"}:
        several = [value for value in several if not value.startswith("'")] or ["null"]
    return draw.choice(
        [
            *_special(draw, column, one, values),
            f"{column} {draw.choice(OPERATORS)} {one}",
            f"{column}{draw.choice(OPERATORS)}({one})",
            f"{one} {draw.choice(OPERATORS)} {column}",
            f"{column} {negated}between {one} and {two}",
            f"{column} {negated}in ({', '.join(several)})",
            f"{column} is {negated}null",
            f"{column} {draw.choice(OPERATORS)} null",
            f"{column} {negated}between {one} and null",
        ]
    )


def _special(draw: random.Random, column: str, one: str, values: list[str]) -> list[str]:
    """Forms that are about null, truth and NaN."""
    truth = draw.choice(["is true", "is false", "is unknown", "is not true", "is not false", "is not unknown"])
    forms = [
        f"{column} <=> {one}",
        f"null <=> {column}",
        f"{column} is {draw.choice(['', 'not '])}distinct from {one}",
        f"({column} {draw.choice(OPERATORS)} {one}) {truth}",
    ]
    left, right = draw.choices(draw.choice(ALIKE), k=2)
    forms += [f"{left} {draw.choice([*OPERATORS, '<=>'])} {right}"]
    if column == "s":
        forms += _patterns(draw) * 2
    if column == "bin":
        forms += [
            f"{draw.choice(['startswith', 'endswith', 'contains'])}(bin, {one})",
            f"left(bin, {draw.randint(-1, 3)}) {draw.choice(OPERATORS)} {one}",
            f"length(bin) {draw.choice(['= 0', '> 0', '<> 0', '>= 1'])}",
        ] * 2
    if values is FLOATS:
        named = draw.choice(["'NaN'", "'nan'", "'Infinity'", "'-inf'", "'+InF'"])
        low, high = draw.choice(["<", "<="]), draw.choice(["<", "<="])
        forms += [
            f"isnan({column})",
            f"not isnan({column})",
            f"{column} {draw.choice(OPERATORS)} {named}",
            f"{column} between {one} and {named}",
            f"({one} {low} {column} and {column} {high} {draw.choice(values)})",
            f"(not {column} < {one} and {column} {high} {draw.choice(values)})",
        ]
    if "true" in values:
        forms += [column, f"not {column}", f"{column} {truth}", f"!{column} or {column} is null"]
    return forms


def _patterns(draw: random.Random) -> list[str]:
    """Patterns with every sign that means something, and calls on the beginning of a string."""
    negated, quantifier = draw.choice(["", "not "]), draw.choice(["any", "some", "all"])
    several = ", ".join(draw.choices([_like(draw), _like(draw), "null"], k=draw.randint(1, 3)))
    text = _quoted("".join(draw.choices(TEXTS, k=draw.randint(0, 3))))
    start = f"{draw.choice(['left(s, ', 'substr(s, 1, ', 'substring(s, 0, '])}{draw.choice([-1, 0, 1, 1, 2, 2, 3, 9])})"
    return [
        f"s {negated}like {_like(draw)}",
        f"s {negated}like {_like(draw, '!')} escape '!'",
        f"s {negated}like {quantifier} ({several})",
        f"{negated}{draw.choice(['startswith', 'endswith', 'contains'])}(s, {text})",
        f"s {negated}rlike {_regex(draw)}",
        f"{start} {draw.choice(OPERATORS)} {text}",
        f"{text} {draw.choice(OPERATORS)} {start}",
        f"{start} {negated}in ({text}, 'a', 'ab', null)",
        f"{start} {negated}between {text} and 'é'",
        f"{start} {negated}like {_like(draw)}",
        f"{start} <=> {text}",
        f"length(s) {draw.choice(['= 0', '> 0', '<> 0', '>= 1', '< 1'])}",
        f"instr(s, {text}) = 1",
    ]


def _like(draw: random.Random, escape: str = "\\") -> str:
    """Return a LIKE pattern that Spark accepts as a literal."""
    signs = ["%", "%", "_", "a", "b", "ab", "é", "😀", "\n", "'", "-"]
    escaped = [f"{escape}{letter}" for letter in ("%", "_", escape)]
    return _quoted("".join(draw.choices([*signs, *escaped], k=draw.randint(0, 4))))


def _regex(draw: random.Random) -> str:
    texts = [re.escape(text) if not text.isascii() or not text.isalnum() else text for text in TEXTS]
    middle = "".join(draw.choices(texts, k=draw.randint(0, 3)))
    choice = f"({'|'.join(draw.choices(texts, k=2))})" if draw.random() < 0.3 else ""
    return _quoted(draw.choice(["^", "^", "", ".*"]) + middle + choice + draw.choice(["", "", "$", ".*"]))


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _connective(draw: random.Random, depth: int) -> str:
    left, right = random_predicate(draw, depth - 1), random_predicate(draw, depth - 1)
    return draw.choice(
        [
            f"{left} and {right}",
            f"{left} or {right}",
            f"({left}) and ({right})",
            f"({left}) or ({right})",
            f"not {left}",
            f"!({left}) or {right}",
            f"not ({left} and {right})",
        ]
    )
