"""Reduce a failing case while the same check fails."""

from __future__ import annotations

import time
from dataclasses import replace

from .predicates import smaller
from .tables import Table


def shrink(table, predicate, fails, *, seconds=60.0):
    """Return the smallest table and predicate found for which `fails(table, predicate)`."""
    end = time.monotonic() + seconds
    found = True
    while found and time.monotonic() < end:
        found = False
        for less_table, less in _candidates(table, predicate):
            if time.monotonic() > end:
                break
            if fails(less_table, less):
                table, predicate, found = less_table, less, True
                break
    return table, predicate


def _candidates(table, predicate):
    """Yield smaller cases, the largest reductions first."""
    if not isinstance(predicate, tuple):  # a pair of spellings is not reduced
        for less in smaller(predicate):
            yield table, less
    for less in (*_without_columns(table), *_without_files(table), *_with_fewer_rows(table), *_plainer(table)):
        yield less, predicate


def _without_columns(table):
    for column in table.columns:
        if len(table.columns) > 1:
            yield replace(table, columns=tuple(other for other in table.columns if other is not column))


def _without_files(table):
    for i in range(len(table.files)):
        if len(table.files) > 1:
            yield replace(table, files=table.files[:i] + table.files[i + 1 :])


def _with_fewer_rows(table):
    for i, file in enumerate(table.files):
        rows = file.stop - file.start
        for width in sorted({rows // 2, rows // 4, rows // 10, 1} - {0}, reverse=True):
            if width < rows:
                yield _with_file(table, i, replace(file, start=file.start + width))
                yield _with_file(table, i, replace(file, stop=file.stop - width))
    compact = _without_unused_rows(table)
    if compact.rows < table.rows:
        yield compact


def _plainer(table):
    if table.zone != "UTC":
        yield replace(table, zone="UTC")
    if any(table.holes.values()):
        yield replace(table, holes={})
    for i, file in enumerate(table.files):
        for plain in (replace(file, without=()), replace(file, narrowed={}), replace(file, directory="")):
            if plain != file:
                yield _with_file(table, i, plain)


def _with_file(table, i, file):
    return replace(table, files=(*table.files[:i], file, *table.files[i + 1 :]))


def _without_unused_rows(table):
    """Leave out the values that no file holds."""
    kept = [row for file in table.files for row in range(file.start, file.stop)]
    place = {row: i for i, row in enumerate(kept)}
    columns = tuple(replace(column, values=tuple(column.values[row] for row in kept)) for column in table.columns)
    holes = {name: tuple(place[row] for row in rows if row in place) for name, rows in table.holes.items()}
    files = tuple(replace(file, start=place[file.start], stop=place[file.stop - 1] + 1) for file in table.files)
    return Table(columns, holes, files, table.zone)
