"""Pairs of equivalent predicates: their plans must be equal, row by row.

A pair of `@spelling(finer=True)` may differ in proven matches: by bounds alone the first must keep no more than the
second. Dictionaries and filters may exclude less for one spelling than for the other.
"""

from __future__ import annotations

from typing import NamedTuple

from .literals import literal
from .predicates import random_predicate

MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<>": "<>"}
NEGATED = {"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "<>": "="}


class Pair(NamedTuple):
    name: str
    left: str
    right: str
    finer: bool


SPELLINGS = []


def spelling(*families, finer=False):
    def register(function):
        SPELLINGS.append((function, families, finer))
        return function

    return register


def random_pair(draw, scope):
    """Draw two predicates that mean the same."""
    while True:
        column = draw.choice(scope.columns)
        make, families, finer = draw.choice(SPELLINGS)
        if not families or column.of.family in families:
            return Pair(make.__name__, *make(draw, column, scope), finer)


@spelling("integer", "decimal", "float", "date", "string", "binary")
def between_as_comparisons(draw, column, scope):
    one, two, name = literal(draw, column), literal(draw, column), column.sql
    return f"{name} BETWEEN {one} AND {two}", f"{name} >= {one} AND {name} <= {two}"


@spelling("timestamp", "timestamp_ntz", finer=True)
def between_as_two_leaves(draw, column, scope):
    return between_as_comparisons(draw, column, scope)


@spelling("integer", "decimal", "float", "date", "string", "binary")
def ends_in_reverse(draw, column, scope):
    one, two, name = literal(draw, column), literal(draw, column), column.sql
    return f"{name} > {one} AND NOT {name} > {two}", f"{two} >= {name} AND NOT {name} <= {one}"


@spelling("float", finer=True)
def not_between_as_comparisons(draw, column, scope):
    one, two, name = literal(draw, column), literal(draw, column), column.sql
    return f"{name} NOT BETWEEN {one} AND {two}", f"{name} < {one} OR {name} > {two}"


@spelling()
def comparison_negated(draw, column, scope):
    op, one = draw.choice(sorted(NEGATED)), literal(draw, column)
    return f"NOT ({column.sql} {op} {one})", f"{column.sql} {NEGATED[op]} {one}"


@spelling()
def literal_on_either_side(draw, column, scope):
    op, one = draw.choice(sorted(MIRRORED)), literal(draw, column)
    return f"{column.sql} {op} {one}", f"{one} {MIRRORED[op]} {column.sql}"


@spelling("integer", "decimal", "float", "date", "string", "binary")
def list_of_one(draw, column, scope):
    one = draw.choice([literal(draw, column)])
    return f"{column.sql} IN ({one})", f"{column.sql} = {one}"


@spelling()
def list_in_another_order(draw, column, scope):
    values = [literal(draw, column) for _ in range(draw.randint(2, 5))]
    return f"{column.sql} IN ({', '.join(values)})", f"{column.sql} IN ({', '.join([*reversed(values), values[0]])})"


@spelling()
def not_in(draw, column, scope):
    values = ", ".join(literal(draw, column) for _ in range(draw.randint(1, 4)))
    return f"{column.sql} NOT IN ({values})", f"NOT {column.sql} IN ({values})"


@spelling("integer", "date", "string", "binary", finer=True)
def list_as_equalities(draw, column, scope):
    values = [literal(draw, column) for _ in range(draw.randint(2, 4))]
    return f"{column.sql} IN ({', '.join(values)})", " OR ".join(f"{column.sql} = {value}" for value in values)


@spelling()
def not_null(draw, column, scope):
    return f"{column.sql} IS NOT NULL", f"NOT ({column.sql} IS NULL)"


@spelling()
def signs_of_inequality(draw, column, scope):
    one = literal(draw, column)
    return f"{column.sql} <> {one}", f"{column.sql} != {one}"


@spelling()
def null_safe_as_distinct(draw, column, scope):
    one = literal(draw, column)
    return f"{column.sql} <=> {one}", f"{column.sql} IS NOT DISTINCT FROM {one}"


@spelling()
def null_safe_as_truth(draw, column, scope):
    one = literal(draw, column)
    return f"{column.sql} <=> {one}", f"({column.sql} = {one}) IS TRUE"


@spelling("float")
def nan_by_function(draw, column, scope):
    return f"isnan({column.sql})", f"({column.sql} = double('NaN')) IS TRUE"


@spelling("boolean")
def flag_compared(draw, column, scope):
    return column.sql, f"{column.sql} = TRUE"


@spelling()
def of_morgan(draw, column, scope):
    one, two = (random_predicate(draw, scope, 1).sql for _ in range(2))
    return f"NOT (({one}) AND ({two}))", f"NOT ({one}) OR NOT ({two})"


@spelling()
def of_morgan_the_other(draw, column, scope):
    one, two = (random_predicate(draw, scope, 1).sql for _ in range(2))
    return f"NOT (({one}) OR ({two}))", f"NOT ({one}) AND NOT ({two})"


@spelling()
def negated_twice(draw, column, scope):
    one = random_predicate(draw, scope, 2).sql
    return f"NOT (NOT ({one}))", one


@spelling()
def compared_with_false(draw, column, scope):
    one = random_predicate(draw, scope, 1).sql
    return draw.choice([f"({one}) = FALSE", f"FALSE = ({one})"]), f"NOT ({one})"


@spelling()
def operands_exchanged(draw, column, scope):
    one, two = (random_predicate(draw, scope, 1).sql for _ in range(2))
    word = draw.choice(["AND", "OR"])
    return f"({one}) {word} ({two})", f"({two}) {word} ({one})"


@spelling()
def operands_regrouped(draw, column, scope):
    one, two, three = (random_predicate(draw, scope, 0).sql for _ in range(3))
    word = draw.choice(["AND", "OR"])
    return f"(({one}) {word} ({two})) {word} ({three})", f"({one}) {word} (({two}) {word} ({three}))"


@spelling()
def with_a_constant(draw, column, scope):
    one = random_predicate(draw, scope, 1).sql
    return f"({one}) {draw.choice(['AND TRUE', 'OR FALSE'])}", one
