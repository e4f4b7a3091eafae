"""Conditions on expressions over a column: arithmetic, casts, rounding and choices, with constants at their edges."""

from __future__ import annotations

import random

OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]
COLUMNS = ["x", "y", "i8", "i16", "i64", "u8", "u16", "u32", "u64", "d", "money", "wide", "f", "g", "st.a"]
CONSTANTS = [
    *("0", "1", "-1", "2", "3", "-3", "5", "7", "10", "100", "128", "-129", "32768", "2147483647", "-2147483648"),
    *("3Y", "-128Y", "5S", "2L", "9223372036854775807", "3000000000", "0.5", "2.5", "-1.25", "0.1", "0.07"),
    *("1e0", "0.5D", "-2D", "1e10", "0.1F", "-1.5F", "3.4e38F", "1e300", "1e-300", "0D", "12345.678"),
    *("(1 + 1)", "(2 * 3)", "(7 / 2)", "int(7)", "cast(3 as smallint)", "(3Y + 0.5)", "coalesce(3)", "(+ 7)", "7Y"),
]
TYPES = [
    *("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "decimal(5,2)", "decimal(10,0)", "decimal"),
    *(
        "decimal(20,10)",
        "decimal(38,0)",
        "decimal(3,3)",
        "decimal(38,18)",
        "decimal(38,6)",
        "long",
        "short",
        "byte",
        "integer",
    ),
]
CASTS = ["int", "double", "float", "bigint", "tinyint", "smallint", "boolean", "decimal"]


def random_expression_condition(draw: random.Random) -> str:
    """Return a condition on an expression, simple more often than nested."""
    column = draw.choice(COLUMNS)
    one = expression(draw, column, draw.randint(1, 3))
    two, three = constant(draw), constant(draw)
    negated = draw.choice(["", "not "])
    return draw.choices(
        [
            f"{one} {draw.choice(OPERATORS)} {two}",
            f"{two} {draw.choice(OPERATORS)} {one}",
            f"{one} {negated}between {two} and {three}",
            f"{one} {negated}in ({', '.join(constant(draw) for _ in range(draw.randint(1, 4)))})",
            f"{one} is {negated}null",
            f"({one} < {two}) {draw.choice(OPERATORS)} ({column} {draw.choice(OPERATORS)} {three})",
            f"({one} > {two}) is {draw.choice(['true', 'false', 'unknown', 'not true', 'null', 'not null'])}",
            f"{truth(draw, column)} {draw.choice(['and', 'or'])} {one} {draw.choice(OPERATORS)} {two}",
            f"not ({one} {draw.choice(OPERATORS)} {two})",
            truth(draw, column),
        ],
        weights=[8, 3, 3, 3, 1, 2, 1, 2, 1, 2],
    )[0]


def random_comparison_of_two(draw: random.Random) -> str:
    """Return a comparison of expressions on two columns, or on one where the drawn ones are the same."""
    left, right = (expression(draw, draw.choice(COLUMNS), draw.randint(0, 2)) for _ in range(2))
    return draw.choice([f"{left} {draw.choice(OPERATORS[:-1])} {right}", f"{left} + {right} > {constant(draw)}"])


def random_remainder_condition(draw: random.Random) -> str:
    """Return a condition on the remainder of a division."""
    inner, number = expression(draw, draw.choice(COLUMNS), draw.randint(0, 1)), constant(draw)
    rest = draw.choice([f"({inner} % {number})", f"mod({inner}, {number})"])
    term = draw.choice([rest, rest, f"({rest} + 1)", f"abs({rest})", f"({rest} * 2)", f"({rest} % 3)", f"-{rest}"])
    limits = sorted((draw.choice([-20, -7, -1, 0, 6, 13, 40]) for _ in range(2)), reverse=draw.random() < 0.1)
    return draw.choice(
        [
            f"{term} {draw.choice(OPERATORS)} {draw.choice([constant(draw), limits[0], limits[1]])}",
            f"{term} {draw.choice(['', 'not '])}between {limits[0]} and {limits[1]}",
            f"{term} in ({limits[0]}, {limits[1]}, {constant(draw)})",
            f"{term} is {draw.choice(['', 'not '])}null",
        ]
    )


def expression(draw: random.Random, column: str, depth: int) -> str:
    """Return an expression over one column."""
    if depth == 0:
        return column
    inner = expression(draw, column, depth - 1)
    number, kind = constant(draw), draw.choice(TYPES)
    return draw.choices(
        [
            f"({inner} {draw.choice('+-*/')} {number})",
            f"({number} {draw.choice('+-*/')} {inner})",
            f"({inner} div {number})",
            f"({number} div {inner})",
            draw.choice([f"- {inner}", f"+ {inner}", f"negative({inner})", f"abs({inner})", f"positive({inner})"]),
            f"{draw.choice(['floor', 'ceil', 'ceiling', 'round'])}({inner})",
            f"round({inner}, {draw.choice([-3, -2, -1, 0, 1, 2, 5])})",
            f"cast({inner} as {kind})",
            f"try_cast({inner} as {kind})",
            f"({inner})::{kind}",
            f"{draw.choice(CASTS)}({inner})",
            choice(draw, column, inner),
        ],
        weights=[6, 4, 2, 1, 3, 2, 2, 5, 1, 1, 1, 2],
    )[0]


def choice(draw: random.Random, column: str, inner: str) -> str:
    """Return an expression that depends on conditions or on null."""
    number, other = draw.choice([constant(draw), "null", column]), constant(draw)
    return draw.choice(
        [
            f"coalesce({inner}, {number})",
            f"coalesce(null, {inner}, {number}, {other})",
            f"{draw.choice(['nvl', 'ifnull', 'nullif'])}({inner}, {other})",
            f"nvl2({column}, {inner}, {number})",
            f"{draw.choice(['if', 'IF'])}({truth(draw, column)}, {inner}, {number})",
            f"case when {truth(draw, column)} then {inner} when {truth(draw, column)} then {number} else {other} end",
            f"case {column} when {other} then {inner} when {number} then {column} end",
        ]
    )


def truth(draw: random.Random, column: str) -> str:
    """Return a condition without arithmetic."""
    number = constant(draw)
    return draw.choice(
        [
            f"{column} {draw.choice(OPERATORS)} {number}",
            f"{column} is {draw.choice(['', 'not '])}null",
            f"{draw.choice(['isnull', 'isnotnull'])}({column})",
            f"b {draw.choice(OPERATORS)} ({column} > {number})",
            f"coalesce(b, {column} > {number})",
            f"case when b then {column} < {number} else false end",
            f"if(b, true, {column} is null)",
            f"cast({column} as boolean)",
            f"x + {draw.choice(['1', '5', '-7'])} > 3",
            "b",
        ]
    )


def constant(draw: random.Random) -> str:
    return draw.choice(CONSTANTS) if draw.random() < 0.95 else draw.choice(["null", "'5'", "'-2'", "'1.5'", "'x'"])
