"""The leaves of predicates: each form is one function, and a new one joins by `@form`.

A form takes a source of chance and a `Scope` and returns SQL, or None where it does not fit the column.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .literals import PARTITION_LITERALS, literal, spelled, value_near

COMPARISONS = ["=", "=", "<", "<=", ">", ">=", "<>", "!="]
TRUTHS = ["TRUE", "FALSE", "UNKNOWN", "NOT TRUE", "NOT FALSE", "NOT UNKNOWN"]
NUMERIC = ("integer", "decimal")
CLOCK = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True)
class Form:
    """A predicate form; `weight`: relative frequency within its family; `risky`: raises on some values under ANSI."""

    make: object
    families: tuple[str, ...]
    weight: float
    risky: bool


@dataclass(frozen=True)
class Leaf:
    sql: str
    risky: bool = False


@dataclass
class Scope:
    """Names that predicates may use: columns of the files, and partition columns."""

    columns: tuple
    partitions: tuple[str, ...] = ()
    of_family: dict = field(default_factory=dict)

    def __post_init__(self):
        for column in self.columns:
            self.of_family.setdefault(column.of.family, []).append(column)


FORMS: list[Form] = []


def form(*families, weight=1.0, risky=False):
    """Register a form; without families it fits every column."""

    def register(function):
        FORMS.append(Form(function, families, weight, risky))
        return function

    return register


def random_leaf(draw, scope):
    """Draw a leaf on a column of the table or of its directories."""
    if scope.partitions and draw.random() < 0.4:
        return Leaf(_on_directory(draw, draw.choice(scope.partitions)))
    while True:
        column = draw.choice(scope.columns)
        fitting = [form for form in FORMS if not form.families or column.of.family in form.families]
        chosen = draw.choices(fitting, [form.weight for form in fitting])[0]
        text = chosen.make(draw, column, scope)
        if text is not None:
            return Leaf(text, chosen.risky)


def _on_directory(draw, name):
    one, two = (draw.choice(PARTITION_LITERALS[name]) for _ in range(2))
    forms = [f"{name} {draw.choice(COMPARISONS)} {one}", f"{name} IN ({one}, {two})", f"{name} BETWEEN {one} AND {two}"]
    return draw.choice([*forms, *forms, f"{name} IS NULL", f"{name} IS NOT NULL", f"{name} <=> {one}"])


def _list(draw, column, longest=14):
    return ", ".join(literal(draw, column) for _ in range(draw.choice([1, 2, 3, draw.randint(1, longest)])))


@form(weight=8)
def compare(draw, column, scope):
    return f"{column.sql} {draw.choice(COMPARISONS)} {literal(draw, column)}"


@form(weight=2)
def compare_reversed(draw, column, scope):
    return f"{literal(draw, column)} {draw.choice(COMPARISONS)} {column.sql}"


@form(weight=3)
def between(draw, column, scope):
    return f"{column.sql} {draw.choice(['', '', 'NOT '])}BETWEEN {literal(draw, column)} AND {literal(draw, column)}"


@form(weight=3)
def in_list(draw, column, scope):
    return f"{column.sql} {draw.choice(['', '', 'NOT '])}IN ({_list(draw, column)})"


@form(weight=0.5)
def in_list_with_null(draw, column, scope):
    return f"{column.sql} {draw.choice(['', 'NOT '])}IN ({_list(draw, column, 3)}, NULL)"


@form(weight=1.5)
def is_null(draw, column, scope):
    return f"{column.sql} IS {draw.choice(['', 'NOT '])}NULL"


@form(weight=0.3)
def compare_null(draw, column, scope):
    return f"{column.sql} {draw.choice([*COMPARISONS, '<=>'])} NULL"


@form(weight=1.5)
def null_safe(draw, column, scope):
    one = literal(draw, column)
    if draw.random() < 0.5:
        return draw.choice([f"{column.sql} <=> {one}", f"{one} <=> {column.sql}"])
    return f"{column.sql} IS {draw.choice(['', 'NOT '])}DISTINCT FROM {one}"


@form(weight=1)
def truth_of_comparison(draw, column, scope):
    return f"({compare(draw, column, scope)}) IS {draw.choice(TRUTHS)}"


@form("boolean", weight=6)
def flag(draw, column, scope):
    name = column.sql
    return draw.choice([name, f"NOT {name}", f"!{name}", f"{name} IS {draw.choice(TRUTHS)}", f"{name} <=> TRUE"])


@form("float", weight=4)
def about_nan(draw, column, scope):
    name, one, two = column.sql, literal(draw, column), literal(draw, column)
    return draw.choice(
        [
            f"isnan({name})",
            f"{name} {draw.choice(COMPARISONS)} 'NaN'",
            f"{name} BETWEEN {one} AND 'Infinity'",
            f"({name} >= {one} AND {name} < {two})",
            f"(NOT {name} < {one} AND {name} <= {two})",
        ]
    )


@form(weight=0.7)
def columns_compared(draw, column, scope):
    other = draw.choice(scope.of_family[column.of.family])
    return f"{column.sql} {draw.choice([*COMPARISONS, '<=>'])} {other.sql}"


@form(*NUMERIC, weight=0.6)
def arithmetic(draw, column, scope):
    wide = f"cast({column.sql} AS decimal(38,6))" if draw.random() < 0.5 else column.sql
    term = draw.choice([f"{wide} + 1", f"{wide} - 3", f"-{wide}", f"abs({wide})", f"{wide} * 2", f"{wide} % 5"])
    return f"{term} {draw.choice(COMPARISONS)} {literal(draw, column)}"


FORMS[-1] = Form(FORMS[-1].make, FORMS[-1].families, FORMS[-1].weight, risky=True)


@form("integer", "date", "boolean", weight=0.6)
def widening_cast(draw, column, scope):
    target = {"integer": ["decimal(38,2)", "double", "string"], "date": ["string", "timestamp_ntz"]}
    wanted = draw.choice(target.get(column.of.family, ["string"]))
    value = spelled(draw, column.of, value_near(draw, column))
    right = f"cast({value} AS {wanted})"
    return f"cast({column.sql} AS {wanted}) {draw.choice(COMPARISONS)} {right}"


@form("integer", "decimal", "string", weight=0.3, risky=True)
def narrowing_cast(draw, column, scope):
    return draw.choice(
        [f"cast({column.sql} AS {draw.choice(['int', 'tinyint'])}) = 1", f"cast({column.sql} AS boolean)"]
    )


@form("string", weight=4)
def like(draw, column, scope):
    value = value_near(draw, column).replace("\\", "").replace("'", "")
    cut = value[: draw.randrange(len(value) + 1)]
    escaped = cut.replace("%", "\\\\%").replace("_", "\\\\_")
    pattern = draw.choice(
        [f"{escaped}%", f"{escaped}%", f"%{escaped}", f"%{escaped}%", f"{escaped}_%", escaped, f"{cut}"]
    )
    return f"{column.sql} {draw.choice(['', '', 'NOT '])}LIKE '{pattern}'"


@form("string", weight=1.5)
def part_of_string(draw, column, scope):
    value = value_near(draw, column).replace("\\", "").replace("'", "")
    name = draw.choice(["startswith", "endswith", "contains"])
    start = draw.randrange(len(value) + 1)
    part = value[:start] if name == "startswith" else value[start:]
    return f"{draw.choice(['', '', 'NOT '])}{name}({column.sql}, '{part}')"


@form("string", weight=1)
def of_string(draw, column, scope):
    value = literal(draw, column)
    name = column.sql
    return draw.choice(
        [
            f"upper({name}) = upper({value})",
            f"length({name}) {draw.choice(COMPARISONS)} {draw.randint(0, 9)}",
            f"substr({name}, 1, {draw.randint(0, 4)}) {draw.choice(COMPARISONS)} {value}",
            f"trim({name}) = {value}",
            f"concat({name}, 'x') >= {value}",
        ]
    )


@form("date", *CLOCK, weight=3)
def of_date(draw, column, scope):
    value = spelled(draw, column.of, value_near(draw, column))
    name = column.sql
    op = draw.choice(COMPARISONS)
    unit = draw.choice(["year", "quarter", "month", "week", "day"])
    return draw.choice(
        [
            f"year({name}) {op} year({value})",
            f"month({name}) {op} month({value})",
            f"trunc({name}, '{unit}') {op} trunc({value}, '{unit}')",
            f"date_trunc('{unit}', {name}) {op} date_trunc('{unit}', {value})",
            f"to_date({name}) {op} to_date({value})",
            f"cast({name} AS date) {op} cast({value} AS date)",
        ]
    )


@form(weight=0.6)
def chosen(draw, column, scope):
    one, two = literal(draw, column), literal(draw, column)
    name, op = column.sql, draw.choice(COMPARISONS)
    return draw.choice(
        [
            f"CASE WHEN {name} < {one} THEN true WHEN {name} > {two} THEN false END",
            f"if({name} {op} {one}, {name} >= {two}, {name} IS NULL)",
            f"coalesce({name} {op} {one}, {draw.choice(['true', 'false'])})",
            f"coalesce({name}, {spelled(draw, column.of, value_near(draw, column))}) {op} {one}",
            f"nullif({name}, {one}) IS NULL",
        ]
    )


@form(weight=0.6)
def beside_its_value(draw, column, scope):
    """Combine a condition that fixes a column to one value with an unsupported one or a comparison of columns."""
    value, name = literal(draw, column), column.sql
    other = draw.choice(scope.of_family[column.of.family])
    second = other.sql if "." not in other.sql else name
    of_one = {
        "integer": f"{name} % 5",
        "decimal": f"{name} % 5",
        "date": f"{draw.choice(['month', 'quarter', 'day', 'dayofweek', 'dayofyear'])}({name})",
        "timestamp": f"{draw.choice(['month', 'day'])}({name})",
        "timestamp_ntz": f"{draw.choice(['month', 'weekday'])}({name})",
        "string": f"{draw.choice(['length', 'upper', 'trim'])}({name})",
    }
    term = of_one.get(column.of.family, name)
    number = f"'{draw.randint(0, 9)}'" if term.startswith(("upper", "trim")) else str(draw.randint(0, 9))
    part = f"{second} {draw.choice(COMPARISONS)} {name}"
    if term != name and draw.random() < 0.6:
        part = f"{term} {draw.choice(COMPARISONS)} {number}"
    same = draw.choice([f"{name} = {value}", f"{name} = {value}", f"{name} <=> {value}", f"{name} IN ({value})"])
    return draw.choice([f"({same} AND {part})", f"({part} AND {same})", f"({same} AND ({part} OR {second} IS NULL))"])


@form(weight=0.2)
def constant(draw, column, scope):
    return draw.choice(["true", "false", "1 = 1", "cast(NULL AS boolean)", "1 > 2"])
