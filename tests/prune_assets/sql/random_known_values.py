"""Conditions that fix a column to one value, next to conditions that only this makes evaluable; none of them raises."""

from __future__ import annotations

import random

OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]
NUMBERS = ["x", "y", "i8", "i16", "u8", "u16"]
OF_DATES = ["month", "quarter", "day", "dayofmonth", "dayofyear", "dayofweek", "weekday", "year"]
FIELDS = ["month", "mon", "qtr", "doy", "dow", "dayofweek_iso", "day"]


def random_known_value(draw: random.Random, row: dict[str, object]) -> str:
    """Return a condition that names a value of the row; it is not always that row's own."""
    column = draw.choice([*NUMBERS, "i64", "u32", "d", "money", "g", "f", "s", "day", "ntz", "b"])
    value = _literal(column, row[column])
    if value is None:
        return f"{column} is null and {column} = 5" if column in NUMBERS else f"{column} is null"
    same = draw.choice(
        [f"{column} = {value}", f"{value} = {column}", f"{column} <=> {value}", f"{column} in ({value})"]
    )
    part, other = _part(draw, column), _part(draw, draw.choice(NUMBERS))
    both = draw.choice(
        [
            f"{same} and {part}",
            f"{part} and {same}",
            f"{same} and ({part} or {other})",
            f"{same} and not ({part} and {other})",
            f"{same} and ({part}) is {draw.choice(['true', 'not true', 'false', 'unknown', 'not unknown'])}",
            f"{same} and if({part}, {other}, y > 3)",
            f"{same} and x <=> 5 and {part} and {other}",
            f"{same} and ({other} or ({same} and {part}))",
            f"not (not ({same}) or {part})",
            f"{column} <> {value} or {part} or {other}",
        ]
    )
    return draw.choice([both, both, f"not ({both})", f"({both}) is unknown", f"({both}) or {other}"])


def _part(draw: random.Random, column: str) -> str:
    op, number = draw.choice(OPERATORS), draw.randint(-4, 9)
    other = draw.choice(NUMBERS)
    if column in NUMBERS:
        terms = [
            *(
                f"{column} % {draw.choice([2, 3, -5, 7])}",
                f"cast({column} as decimal(38,6)) % 2.5",
                f"mod({column}, 3)",
            ),
            *(f"bigint({column}) + bigint({other})", f"bigint({column}) * 3 - {other}", f"cast({column} as double)"),
        ]
        text = f"cast({column} as string) {op} cast({number} as string)"
        return draw.choice(
            [*(f"{term} {op} {draw.choice([other, number])}" for term in terms), f"{other} {op} {column}", text]
        )
    calendar = [f"{draw.choice(OF_DATES)}({column})", f"extract({draw.choice(FIELDS)} from {column})"]
    parts = {
        "i64": [f"{column} % 3 {op} {number}", f"{other} {op} {column}", f"{column} {op} u32"],
        "u32": [f"{column} % 3 {op} {number}", f"{other} {op} {column}"],
        "d": [f"{column} % 5 {op} 1.5", f"{column} % 0.3 {op} {number}", f"money {op} {column}", f"x {op} {column}"],
        "money": [f"{column} % 7 {op} 1.5", f"d {op} {column}", f"cast(d as decimal(20,4)) + {column} {op} 24"],
        "f": [f"{column} % 2D {op} {number}", f"g {op} {column}", f"x * {column} {op} 3", f"isnan({column} - g)"],
        "g": [f"{column} % 2F {op} {number}", f"{column} {op} f", f"double({column}) * {other} {op} {number}"],
        "s": [
            *(f"length({column}) {op} {number}", f"upper({column}) {op} 'ABC'", f"trim({column}) {op} 'ab'"),
            *(f"concat({column}, 'x') {op} 'abc'", f"lower(trim({column})) {op} 'cd'", f"{column} like '_b%'"),
        ],
        "b": [f"{column} = (x > 3)", f"if({column}, x, y) {op} {number}", f"cast({column} as string) = 'true'"],
    }
    times = [
        *(f"{term} {op} {draw.randint(0, 13)}" for term in calendar),
        *(f"date_add({column}, 3) {op} to_date(ntz)", f"ntz {op} to_date({column}) + interval 1 day"),
        *(f"datediff(day, {column}) {op} {number}", f"trunc({column}, 'month') {op} day"),
    ]
    return draw.choice(parts.get(column, times))


def _literal(column: str, value: object) -> str | None:
    if value is None or (column in {"f", "g"} and str(value) in {"nan", "inf", "-inf"}):
        return None
    match column:
        case "s":
            text = str(value)
            return f"'{text}'" if text.isascii() and text.isprintable() and not set(text) & set("'\\%_") else None
        case "day":
            return f"date '{value}'"
        case "ntz":
            return f"timestamp_ntz '{value}'"
        case "f":
            return f"{value!r}D"
        case "g":
            return f"{value!r}F"
        case _:
            return str(value)
