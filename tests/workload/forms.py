"""Common forms of predicates by column type; their values occur in the column."""

from __future__ import annotations

import datetime as dt


def quoted(text):
    """Return a string literal.

    >>> quoted("it's")
    "'it\\\\'s'"
    """
    escaped = str(text).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def listed(values):
    return ", ".join(dict.fromkeys(values))


class Draw:
    """Input for a form: a column, some of its values as literals, and a random generator."""

    def __init__(self, chance, name, values):
        self.chance, self.name, self.values = chance, name, values

    def value(self):
        return self.chance.choice(self.values)

    def pair(self):
        return sorted((self.value(), self.value()))

    def number(self, *choices):
        return self.chance.choice(choices)

    def many(self):
        return [self.value() for _ in range(self.chance.choice([2, 3, 3, 5, 8, 12, 25, 40]))]


def between(draw, shown=str):
    low, high = map(shown, draw.pair())
    return f"{draw.name} BETWEEN {low} AND {high}"


def half_open(draw, shown=str):
    low, high = map(shown, draw.pair())
    return f"{draw.name} >= {low} AND {draw.name} < {high}"


def _first(draw, count):
    return f"substring({draw.name}, 1, {count}) = {quoted(draw.value()[:count])}"


def _last(draw, count):
    return f"right({draw.name}, {count}) = {quoted(draw.value()[-count:])}"


def _month(draw, day):
    return f"year({draw.name}) = {day[:4]} AND month({draw.name}) = {int(day[5:7])}"


def _piece(draw):
    text = draw.value()
    start = draw.chance.randrange(max(1, len(text)))
    piece = text[start : start + draw.number(1, 2, 4, 7)]
    return piece.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _words(draw):
    return [word for word in draw.value().split() if word.isalnum()] or ["x"]


NUMBERS = (
    lambda d: f"{d.name} {d.number('=', '=', '<', '<=', '>', '>=', '<>', '<=>')} {d.value()}",
    lambda d: f"{d.name} > {d.value()}",
    between,
    half_open,
    lambda d: f"{d.name} IN ({listed(map(str, d.many()))})",
    lambda d: f"{d.name} NOT IN ({listed(map(str, d.many()[:4]))})",
    lambda d: f"{d.name} = {d.value()} OR {d.name} = {d.value()}",
    lambda d: f"NOT ({d.name} < {d.value()})",
    lambda d: f"coalesce({d.name}, 0) {d.number('=', '>', '<')} {d.value()}",
    lambda d: f"{d.name} + {d.number(1, 10, 100)} > {d.value()}",
    lambda d: f"{d.name} * {d.number(2, 10, 1.1)} > {d.value()}",
    lambda d: f"{d.name} / {d.number(2, 10, 60)} > {d.number(1, 5, 100)}",
    lambda d: f"abs({d.name}) {d.number('<', '>')} {d.number(1, 5, 100, 1000)}",
    lambda d: f"round({d.name}) = {d.value()}",
    lambda d: f"{d.name} IS {d.number('', 'NOT ')}NULL",
    lambda d: (
        f"CASE WHEN {d.name} > {d.value()} THEN 'high' ELSE 'low' END = {d.number(quoted('high'), quoted('low'))}"
    ),
)
WHOLE = (
    lambda d: f"{d.name} % {d.number(2, 7, 10)} = {d.number(0, 1)}",
    lambda d: f"{d.name} = {quoted(d.value())}",
    lambda d: f"cast({d.name} AS STRING) = {quoted(d.value())}",
    lambda d: f"{d.name} DIV {d.number(10, 100)} = {d.value()} DIV {d.number(10, 100)}",
    lambda d: f"nvl({d.name}, -1) IN ({listed(map(str, d.many()))})",
)
FRACTIONS = (
    lambda d: f"floor({d.name}) = floor({d.value()})",
    lambda d: f"round({d.name}, 1) >= {d.value()}",
    lambda d: f"cast({d.name} AS {d.number('INT', 'BIGINT', 'DOUBLE')}) > {d.number(1, 10, 100)}",
)
STRINGS = (
    lambda d: f"{d.name} {d.number('=', '=', '=', '<>', '>', '<=')} {quoted(d.value())}",
    lambda d: f"{d.name} IN ({listed(map(quoted, d.many()))})",
    lambda d: f"{d.name} NOT IN ({listed(map(quoted, d.many()[:3]))})",
    lambda d: f"{d.name} LIKE '{_piece(d)}%'",
    lambda d: f"{d.name} LIKE {quoted(d.value()[:6].replace('%', '').replace('_', '') + '%')}",
    lambda d: f"{d.name} {d.number('', 'NOT ')}LIKE '%{_piece(d)}%'".replace("''", "\\'"),
    lambda d: f"lower({d.name}) = {quoted(d.value().lower())}",
    lambda d: f"upper({d.name}) IN ({listed(quoted(value.upper()) for value in d.many()[:4])})",
    lambda d: f"trim({d.name}) = {quoted(d.value().strip())}",
    lambda d: _first(d, d.number(1, 2, 3, 5)),
    lambda d: _last(d, d.number(1, 2, 3)),
    lambda d: f"length({d.name}) {d.number('=', '>', '<')} {len(d.value())}",
    lambda d: f"startswith({d.name}, {quoted(d.value()[:4])})",
    lambda d: f"concat({d.name}, '-x') = {quoted(d.value() + '-x')}",
    lambda d: f"split({d.name}, ' ')[0] = {quoted(_words(d)[0])}",
    lambda d: f"{d.name} RLIKE '^{_words(d)[0]}'",
    lambda d: f"replace({d.name}, ' ', '') = {quoted(d.value().replace(' ', ''))}",
    lambda d: f"coalesce({d.name}, '') {d.number('=', '<>')} {d.number(quoted(''), quoted(d.value()))}",
    lambda d: f"nvl({d.name}, 'none') = {d.number(quoted('none'), quoted(d.value()))}",
    lambda d: between(d, quoted),
    lambda d: f"{d.name} IS {d.number('', 'NOT ')}NULL",
)
DAYS = (
    lambda d: f"{d.name} = {d.number('DATE ', '')}{quoted(d.value())}",
    lambda d: between(d, quoted),
    lambda d: half_open(d, lambda day: f"DATE {quoted(day)}"),
    lambda d: f"{d.name} IN ({listed(map(quoted, d.many()[:8]))})",
    lambda d: f"year({d.name}) = {d.value()[:4]}",
    lambda d: _month(d, d.value()),
    lambda d: f"month({d.name}) IN ({d.number(1, 2, 3)}, {d.number(6, 7, 8)})",
    lambda d: f"quarter({d.name}) = {d.number(1, 2, 3, 4)}",
    lambda d: f"dayofweek({d.name}) {d.number('= 1', 'IN (1, 7)')}",
    lambda d: f"trunc({d.name}, 'MM') = {quoted(d.value()[:7] + '-01')}",
    lambda d: f"date_trunc('month', {d.name}) = {quoted(d.value()[:7] + '-01')}",
    lambda d: f"date_format({d.name}, 'yyyy-MM') = {quoted(d.value()[:7])}",
    lambda d: f"date_format({d.name}, 'yyyyMMdd') >= {quoted(d.value().replace('-', ''))}",
    lambda d: f"datediff({d.name}, {quoted(d.value())}) {d.number('>', '<', '>=')} {d.number(0, 7, 30)}",
    lambda d: f"date_add({d.name}, {d.number(1, 7, 30)}) > {quoted(d.value())}",
    lambda d: f"{d.name} >= date_sub({quoted(d.value())}, {d.number(1, 7, 30)})",
    lambda d: f"{d.name} > add_months(DATE {quoted(d.value())}, {d.number(-3, 1, 6)})",
    lambda d: f"{d.name} >= DATE {quoted(d.value())} - INTERVAL {d.number(7, 30, 90)} DAYS",
    lambda d: f"{d.name} > current_date() - {d.number(7, 30, 4000)}",
    lambda d: f"last_day({d.name}) = last_day(DATE {quoted(d.value())})",
    lambda d: f"cast({d.name} AS STRING) LIKE {quoted(d.value()[:7] + '%')}",
    lambda d: f"extract(YEAR FROM {d.name}) = {d.value()[:4]}",
    lambda d: f"to_date({d.name}) = {quoted(d.value())}",
)
TIMES = (
    lambda d: half_open(d, quoted),
    lambda d: f"{d.name} >= {d.number('TIMESTAMP ', '')}{quoted(d.value())}",
    lambda d: between(d, quoted),
    lambda d: f"to_date({d.name}) = {quoted(d.value()[:10])}",
    lambda d: f"cast({d.name} AS DATE) {d.number('=', '>=', '<')} DATE {quoted(d.value()[:10])}",
    lambda d: f"{d.name}::date = {quoted(d.value()[:10])}",
    lambda d: f"date_trunc('day', {d.name}) = {quoted(d.value()[:10])}",
    lambda d: f"date_trunc('hour', {d.name}) = TIMESTAMP {quoted(d.value()[:13] + ':00:00')}",
    lambda d: _month(d, d.value()),
    lambda d: f"hour({d.name}) = {int(d.value()[11:13])}",
    lambda d: f"hour({d.name}) BETWEEN 9 AND 17 AND to_date({d.name}) = {quoted(d.value()[:10])}",
    lambda d: f"date_format({d.name}, 'yyyy-MM-dd HH') = {quoted(d.value()[:13])}",
    lambda d: f"dayofweek({d.name}) IN (1, 7)",
    lambda d: f"{d.name} > TIMESTAMP {quoted(d.value())} - INTERVAL {d.number(5, 30)} MINUTES",
    lambda d: f"{d.name} + INTERVAL 1 HOUR > TIMESTAMP {quoted(d.value())}",
    lambda d: f"{d.name} > now() - INTERVAL {d.number(7, 4000)} DAYS",
    lambda d: f"{d.name} IS {d.number('', 'NOT ')}NULL",
)
FLAGS = (
    lambda d: d.name,
    lambda d: f"NOT {d.name}",
    lambda d: f"{d.name} = {d.number('true', 'false')}",
    lambda d: f"{d.name} IS {d.number('', 'NOT ')}{d.number('TRUE', 'FALSE', 'NULL')}",
    lambda d: f"coalesce({d.name}, false)",
)
LISTS = (
    lambda d: f"array_contains({d.name}, {quoted(d.value())})",
    lambda d: f"size({d.name}) {d.number('= 0', '> 1')}",
    lambda d: f"get({d.name}, 0) = {quoted(d.value())}",
    lambda d: f"{d.name} IS NULL",
)
MAPS = (
    lambda d: f"{d.name}[{quoted(d.value())}] IS NOT NULL",
    lambda d: f"{d.name}['source'] = 'web'",
    lambda d: f"{d.name} IS NULL",
)


def literal(value):
    """Return a value as a form takes it: numbers as they are, all else as text without quotes."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    return value
