"""Random ordinary queries: the forms that people write, on the tables of the workload, joined as people join them.

A number of a seed always draws the same.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from .cases import SETTINGS, Case
from .forms import DAYS, FLAGS, FRACTIONS, LISTS, MAPS, NUMBERS, STRINGS, TIMES, WHOLE, Draw, literal
from .judging import judged
from .tables import TABLES

OF_A_TABLE = 20
MOST_VALUES = 60
MOST_FINDINGS = 25


@dataclass(frozen=True)
class Column:
    """A column or a field of a struct as a predicate names it, its forms, and values that it holds."""

    name: str
    forms: tuple
    values: tuple


def columns_of(rows):
    """Return the columns for predicates; structs are replaced by their fields."""
    return [column for name in rows.column_names for column in _columns(name, rows[name].combine_chunks())]


def _columns(name, values):
    if kinds.is_struct(values.type):
        for field_ in values.type:
            yield from _columns(f"{name}.{field_.name}", pc.struct_field(values, field_.name))
        return
    forms = _forms(values.type)
    if forms is LISTS:
        values = pc.list_flatten(values)
    elif forms is MAPS:
        values = pa.array([key for entries in values.to_pylist() for key, _ in entries or ()], pa.string())
    if forms:
        found = values.drop_null()
        step = max(1, len(found) // MOST_VALUES)
        known = dict.fromkeys(literal(one) for one in found[::step].to_pylist())
        yield Column(name, forms, tuple(one for one in known if str(one) != "nan"))


def _forms(kind):
    for holds, forms in (
        (kinds.is_integer, NUMBERS + WHOLE),
        (kinds.is_decimal, NUMBERS + FRACTIONS),
        (kinds.is_floating, NUMBERS + FRACTIONS),
        (kinds.is_string, STRINGS),
        (kinds.is_date, DAYS),
        (kinds.is_timestamp, TIMES),
        (kinds.is_boolean, FLAGS),
        (kinds.is_list, LISTS),
        (kinds.is_map, MAPS),
    ):
        if holds(kind):
            return forms
    return ()


def predicate_of(chance, columns):
    """Join one to four parts, mostly by AND."""
    shape = chance.choice(["one", "one", "and", "and", "and", "or", "mixed", "not"])
    parts = [
        _part(chance, columns) for _ in range({"one": 1, "and": chance.choice([2, 2, 3]), "mixed": 3}.get(shape, 2))
    ]
    match shape:
        case "or":
            return " OR ".join(parts)
        case "mixed":
            return f"({parts[0]} OR {parts[1]}) AND {parts[2]}"
        case "not":
            return f"NOT ({parts[0]}) AND {parts[1]}"
        case _:
            return " AND ".join(parts)


def _part(chance, columns):
    column = chance.choice(columns)
    text = chance.choice(column.forms)(Draw(chance, column.name, column.values))
    return f"({text})" if " OR " in text or " AND " in text else text


def draw(seed, number):
    """Return the cases of a number, all of one table."""
    chance = random.Random(f"{seed} {number}")
    table = chance.choice(list(TABLES))
    columns = columns_of(TABLES[table].rows())
    setting = chance.choice(list(SETTINGS))
    texts = dict.fromkeys(predicate_of(chance, columns) for _ in range(OF_A_TABLE))
    explained = setting != "as a Column"
    return [Case(table, text, setting, explained=explained and place % 5 == 0) for place, text in enumerate(texts)]


@dataclass
class Result:
    """`refused`: what Spark itself refuses or fails at, by its reason."""

    cases: int = 0
    rows: int = 0
    kept: int = 0
    total: int = 0
    seconds: float = 0.0
    findings: list = field(default_factory=list)
    refused: Counter = field(default_factory=Counter)


def run(ground, *, seed, count, seconds=float("inf"), first=0, progress=None):
    """Check at least `count` cases from number `first` on; `progress` is called after each table."""
    result, start, number = Result(), time.monotonic(), first
    while result.cases < count and time.monotonic() - start < seconds and len(result.findings) < MOST_FINDINGS:
        for case in draw(seed, number):
            _add(result, number, judged(ground, case))
        number += 1
        result.seconds = time.monotonic() - start
        if progress:
            progress(result, number)
    return result


def _add(result, number, found):
    result.cases += 1
    if found.refused:
        result.refused[found.refused.split(":")[0]] += 1
    if found.answer:
        result.rows += found.answer.rows
    if found.report and found.report.total.rows is not None:
        result.kept += found.report.kept.rows
        result.total += found.report.total.rows
    result.findings += [(number, found.case, finding) for finding in found.findings]
