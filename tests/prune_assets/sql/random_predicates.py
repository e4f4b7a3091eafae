"""Predicates drawn from Spark's grammar, with literals near the edges of the columns' types."""

from __future__ import annotations

import random

OPERATORS = ["=", "<>", "!=", "<", "<=", ">", ">=", "==", "!<", "!>"]
NUMBERS = {
    "x": ["0", "5", "-5", "- 5", "2.5", "-2.5", "5.", ".5", "5L", "7Y", "2147483647", "-2147483648", "3000000000"],
    "i8": ["0", "127", "-128", "128", "-129", "126.5", "-127.5", "5S", "1 + 1", "100Y - 1Y"],
    "i64": ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.5", "-1", "2L + 3"],
    "u64": ["0", "-1", "18446744073709551615", "18446744073709551616", "0.5"],
    "d": ["0.05", "0.055", "-0.055", "5", "999.99", "1000", "-1000.001", "0.06 - 0.01", "1.50BD", "0.1 + 0.2"],
    "wide": ["1.5", "0", "-0.0000000001", "9999999999999999999999999999", "1L"],
}
STRINGS = ["'a'", "'it''s'", '"b"', "''", "'\\u00e9'", "'😀'", "'\uffff'", "'a' 'b'", "r'a\\n'", "'\\0'", "'ab'"]
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
LITERALS = NUMBERS | {"s": STRINGS, "day": DATES}


def random_predicate(draw: random.Random, depth: int = 3) -> str:
    if depth and draw.random() < 0.6:
        return _connective(draw, depth)
    column = draw.choice(sorted(LITERALS))
    values = LITERALS[column]
    one, two = draw.choice(values), draw.choice(values)
    negated = draw.choice(["", "not "])
    several = draw.choices([*values, "null"], k=draw.randint(1, 4))
    if column == "day":
        several = [value for value in several if not value.startswith("'")] or ["null"]
    return draw.choice(
        [
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
