"""Random predicates as Spark SQL over the columns of `predicate_cases.TYPES`."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa

from tests.prune_assets.planner.predicate_cases import FLOATS, TEXTS, TYPES, random_value

NUMBERS = ("key", "small", "price", "wide", "grade", "point.x")
ODD_FLOATS = ["0", "1", "-1.5", "0.1", "0.1D", "0.1F", "-0.0D", "1e300", "3000000000", "16777217", "0.3BD", "1e-50"]
ODD_NUMBERS = ["2.5", "-0.001", "3000000000", "99999", "-99999", "12345678901234567890", "0.06 - 0.01", "1 + 1", "-(3)"]


def literal(chance, name):
    """Return a literal of the column's type, or one it has to be brought into."""
    if name in NUMBERS and chance.random() < 0.3:
        return chance.choice(ODD_NUMBERS)
    if name in FLOATS and chance.random() < 0.4:
        return chance.choice(ODD_FLOATS)
    value = random_value(chance, name)
    match value:
        case bool():
            return str(value).upper()
        case bytes():
            return written(value)
        case float() if not math.isfinite(value):
            return f"{chance.choice(['float', 'double'])}('{value}')"
        case float():
            return f"{value!r}D"
        case dt.date():
            forms = [
                f"DATE '{value}'",
                f"'{value}'",
                f"date '{value}' + interval '3' day",
                f"date'{value}' - interval 1 month",
            ]
            return chance.choice(forms)
        case Decimal():
            return f"{value:f}"
        case str():
            return written(value)
    return str(value)


def leaf(chance):
    name = chance.choice(sorted(TYPES))
    one, two = literal(chance, name), literal(chance, name)
    many = ", ".join(literal(chance, name) for _ in range(chance.randint(1, 12)))
    op = chance.choice(["=", "=", "<", "<=", ">", ">=", "<>", "!="])
    forms = [
        f"{name} {op} {one}",
        f"{name} {op} {one}",
        f"{one} {op} {name}",
        f"{name} BETWEEN {one} AND {two}",
        f"{name} NOT BETWEEN {one} AND {two}",
        f"{name} IN ({many})",
        f"{name} NOT IN ({many})",
        f"{name} IN ({many}, NULL)",
        f"{name} NOT IN ({many}, NULL)",
        f"{name} IS NULL",
        f"{name} IS NOT NULL",
        f"{name} = NULL",
    ]
    forms += [f"{name} <=> {one}", f"{one} <=> {name}", f"{name} <=> NULL", f"{name} IS DISTINCT FROM {one}"]
    truth = chance.choice(["TRUE", "FALSE", "UNKNOWN", "NOT TRUE", "NOT FALSE", "NOT UNKNOWN"])
    forms.append(f"({name} {op} {one}) IS {truth}")
    if pa.types.is_boolean(TYPES[name]):
        forms += [name, f"NOT {name}", f"{name} IS {truth}", f"!{name}", f"{name} <=> TRUE"] * 2
    if name in FLOATS:
        forms += [f"isnan({name})", f"{name} {op} 'NaN'", f"{name} BETWEEN {one} AND 'Infinity'"]
        forms += [f"({name} >= {one} AND {name} < {two})", f"NOT {name} < {one} AND {name} <= {two}"] * 3
    if name in NUMBERS:
        forms += [f"abs({name}) = 3", f"{name} + 1 > 5", f"cast({name} AS int) = 2"]
        forms += [
            f"{name} / 4 {op} 2.5",
            f"7 - {name} {op} 3",
            f"cast({name} AS double) {op} 2.5D",
            f"floor({name}) {op} 3",
        ]
        forms += [f"coalesce({name}, 3) {op} {one}", f"CASE WHEN {name} > 2 THEN {name} ELSE 0 END {op} {one}"]
        forms += [f"nullif({name}, 3) {op} {one}", f"({name} > 2) {op} ({name} < 5)", f"{name} {op} '5'"]
    if name in FLOATS:
        forms += [f"{name} * 2 {op} 1.5", f"- {name} {op} 0.5", f"{name} + 0.1 BETWEEN 0 AND 2", f"isnan({name} * 2)"]
    if name == "word":
        forms += ["word LIKE 'p%'", "upper(word) = 'P1'"]
    if name in TEXTS:
        forms += patterns(chance, name) * 3
    return chance.choice(forms)


def patterns(chance, name):
    """Draw LIKE patterns from parts of values, which contain no wildcards."""
    value = random_value(chance, name)
    first = chance.randrange(len(value) + 1)
    start, part = value[: chance.choice([1, 2, 60, 65])], value[first : first + chance.randint(0, 3)]
    call, op = chance.choice(["startswith", "endswith", "contains"]), chance.choice(["=", "<>", "<", "<=", ">", ">="])
    forms = [
        f"{call}({name}, {written(part)})",
        f"startswith({name}, {written(start)})",
        f"left({name}, {chance.randint(0, 66)}) {op} {written(start)}",
    ]
    if isinstance(value, bytes):
        return forms
    signs = ["%", "_", *part, start]
    like = "".join(chance.choice(signs) for _ in range(chance.randint(1, 4)))
    return [
        *forms,
        f"{name} LIKE {written(chance.choice([start + '%', '%' + part, like, like + '%']))}",
        f"{name} NOT LIKE {written(chance.choice([start[:2] + '%', '%' + part + '%', like]))}",
        f"{name} LIKE {chance.choice(['ANY', 'ALL'])} ({written(like)}, {written(start + '%')}, '%1%')",
        f"{name} RLIKE {written(chance.choice(['^', '']) + start + chance.choice(['', '$', '[0-9]', '.*']))}",
        f"instr({name}, {written(part)}) {op} {chance.randint(0, 2)}",
        f"upper({name}) = 'P1'",
    ]


def written(value):
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def predicate(chance, depth=2):
    kind = chance.choice(["leaf", "AND", "OR", "NOT"]) if depth else "leaf"
    if kind == "leaf":
        return leaf(chance)
    if kind == "NOT":
        return f"NOT ({predicate(chance, depth - 1)})"
    return "(" + f" {kind} ".join(predicate(chance, depth - 1) for _ in range(chance.randint(2, 3))) + ")"
