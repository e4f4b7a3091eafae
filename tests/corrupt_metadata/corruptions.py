"""Corruptions that contradict other metadata, and a few that contradict nothing that a plan reads.

Each changes the metadata of the chunk of a `column` in a row `group`; `other` is another row group, `beside` another
column.
"""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import NamedTuple

from slow_thrift import BINARY, FALSE, I32, I64, LIST, STRUCT, TRUE

from tests.corrupt_metadata.raw_metadata import COLUMN_INDEX, OFFSET_INDEX
from tests.numbered_cases.cases import MAX, META, MIN, NULL_COUNT, drop, put, value_of

# Slots of ColumnMetaData and ColumnIndex.
VALUES, BYTES, DATA, DICTIONARY, FILTER, FILTER_BYTES = 5, 7, 9, 11, 14, 15
NULL_PAGES, MINS, MAXES, ORDER, NULL_COUNTS = 1, 2, 3, 4, 5
MIN_EXACT, MAX_EXACT, DISTINCT = 8, 7, 4
FILE_ROWS, GROUP_ROWS, SORTED = 3, 3, 4


class Place(NamedTuple):
    """Row groups and columns that a corruption uses."""

    group: int
    column: int
    other: int
    beside: int


CONTRADICTIONS, UNSEEN = {}, {}


def contradiction(plant):
    """Register a corruption that contradicts metadata that a plan reads."""
    CONTRADICTIONS[plant.__name__] = plant
    return plant


def unseen(plant):
    """Register a corruption that contradicts nothing that a plan reads, so rows may be lost."""
    UNSEEN[plant.__name__] = plant
    return plant


def has(fields, *numbers):
    return set(numbers) <= {field for field, _, _ in fields}


def add(fields, number, wire, by):
    put(fields, number, wire, value_of(fields, number) + by)


def take_over(to, of, *numbers):
    """Copy fields from another struct; remove them if the other struct does not have them."""
    drop(to, *numbers)
    to.extend(copy.deepcopy(field) for field in of if field[0] in numbers)
    to.sort(key=lambda field: field[0])


# Offsets and sizes.


@contradiction
def filter_of_another_row_group(raw, at):
    take_over(raw.meta(at.group, at.column), raw.meta(at.other, at.column), FILTER, FILTER_BYTES)


@contradiction
def filter_of_another_column(raw, at):
    take_over(raw.meta(at.group, at.column), raw.meta(at.group, at.beside), FILTER, FILTER_BYTES)


@contradiction
def filters_exchanged(raw, at):
    one, other = raw.meta(at.group, at.column), raw.meta(at.other, at.column)
    kept = copy.deepcopy(one)
    take_over(one, other, FILTER, FILTER_BYTES)
    take_over(other, kept, FILTER, FILTER_BYTES)


@contradiction
def filter_inside_of_data(raw, at):
    meta = raw.meta(at.group, at.column)
    put(meta, FILTER, I64, value_of(meta, DATA) + 5)


@contradiction
def filter_inside_of_an_index(raw, at):
    put(raw.meta(at.group, at.column), FILTER, I64, value_of(raw.chunk(at.other, at.beside), 6))


@contradiction
def filter_that_begins_within_another(raw, at):
    put(raw.meta(at.group, at.column), FILTER, I64, value_of(raw.meta(at.other, at.column), FILTER) + 32)


@contradiction
def data_of_another_row_group(raw, at):
    meta, other = raw.meta(at.group, at.column), raw.meta(at.other, at.column)
    take_over(meta, other, DATA, DICTIONARY)


@contradiction
def data_of_another_row_group_with_its_size(raw, at):
    meta, other = raw.meta(at.group, at.column), raw.meta(at.other, at.column)
    take_over(meta, other, DATA, DICTIONARY, BYTES, 6)


@contradiction
def data_of_another_column(raw, at):
    take_over(raw.meta(at.group, at.column), raw.meta(at.group, at.beside), DATA, DICTIONARY)


@contradiction
def first_data_page_of_another_row_group(raw, at):
    take_over(raw.meta(at.group, at.column), raw.meta(at.other, at.column), DATA)


@contradiction
def dictionary_of_another_row_group(raw, at):
    take_over(raw.meta(at.group, at.column), raw.meta(at.other, at.column), DICTIONARY)


@contradiction
def dictionary_of_another_column(raw, at):
    take_over(raw.meta(at.group, at.column), raw.meta(at.group, at.beside), DICTIONARY)


@contradiction
def dictionaries_exchanged(raw, at):
    one, other = raw.meta(at.group, at.column), raw.meta(at.other, at.column)
    kept = copy.deepcopy(one)
    take_over(one, other, DICTIONARY)
    take_over(other, kept, DICTIONARY)


@contradiction
def chunk_that_reaches_into_the_next(raw, at):
    add(raw.meta(at.group, at.column), BYTES, I64, 40)


@contradiction
def chunk_that_begins_within_another(raw, at):
    meta = raw.meta(at.group, at.column)
    drop(meta, DICTIONARY)
    put(meta, DATA, I64, value_of(raw.meta(at.other, at.column), DATA) + 3)


@contradiction
def chunk_beyond_the_file(raw, at):
    put(raw.meta(at.group, at.column), BYTES, I64, raw.size - 100)


@contradiction
def chunk_that_begins_in_the_footer(raw, at):
    meta = raw.meta(at.group, at.column)
    drop(meta, DICTIONARY)
    put(meta, DATA, I64, raw.size - 20)


@contradiction
def column_index_shared_with_another_row_group(raw, at):
    take_over(raw.chunk(at.group, at.column), raw.chunk(at.other, at.column), *COLUMN_INDEX)


@contradiction
def offset_index_shared_with_another_row_group(raw, at):
    take_over(raw.chunk(at.group, at.column), raw.chunk(at.other, at.column), *OFFSET_INDEX)


@contradiction
def both_indexes_shared_with_another_row_group(raw, at):
    take_over(raw.chunk(at.group, at.column), raw.chunk(at.other, at.column), *COLUMN_INDEX, *OFFSET_INDEX)


@contradiction
def column_index_of_another_column(raw, at):
    take_over(raw.chunk(at.group, at.column), raw.chunk(at.group, at.beside), *COLUMN_INDEX)


@contradiction
def indexes_inside_of_data(raw, at):
    data = value_of(raw.meta(at.group, at.column), DATA)
    put(raw.chunk(at.group, at.column), COLUMN_INDEX[0], I64, data + 1)


# Row counts.


@contradiction
def file_of_more_rows(raw, _):
    add(raw.footer, FILE_ROWS, I64, 1)


@contradiction
def file_of_no_rows(raw, _):
    put(raw.footer, FILE_ROWS, I64, 0)


@contradiction
def row_group_of_half_its_rows(raw, at):
    put(raw.groups[at.group], GROUP_ROWS, I64, raw.rows(at.group) // 2)


@contradiction
def row_group_of_half_its_rows_in_the_sum_too(raw, at):
    half = raw.rows(at.group) // 2
    add(raw.footer, FILE_ROWS, I64, half - raw.rows(at.group))
    put(raw.groups[at.group], GROUP_ROWS, I64, half)


@contradiction
def row_group_of_no_rows(raw, at):
    add(raw.footer, FILE_ROWS, I64, -raw.rows(at.group))
    put(raw.groups[at.group], GROUP_ROWS, I64, 0)


@contradiction
def every_row_group_of_no_rows(raw, _):
    put(raw.footer, FILE_ROWS, I64, 0)
    for group in raw.groups:
        put(group, GROUP_ROWS, I64, 0)


@contradiction
def rows_of_two_row_groups_exchanged(raw, at):
    one, other = raw.rows(at.group), raw.rows(at.other)
    put(raw.groups[at.group], GROUP_ROWS, I64, other)
    put(raw.groups[at.other], GROUP_ROWS, I64, one)


@contradiction
def chunk_of_fewer_values(raw, at):
    add(raw.meta(at.group, at.column), VALUES, I64, -7)


@contradiction
def chunk_of_more_values(raw, at):
    add(raw.meta(at.group, at.column), VALUES, I64, 7)


@contradiction
def chunk_of_no_values(raw, at):
    put(raw.meta(at.group, at.column), VALUES, I64, 0)


# Statistics of chunks.


@contradiction
def min_above_max(raw, at):
    statistics = raw.statistics(at.group, at.column)
    low, high = value_of(statistics, MIN), value_of(statistics, MAX)
    put(statistics, MIN, BINARY, high)
    put(statistics, MAX, BINARY, low)


@contradiction
def more_nulls_than_values(raw, at):
    put(raw.statistics(at.group, at.column), NULL_COUNT, I64, raw.rows(at.group) + 1)


@contradiction
def fewer_nulls_than_none(raw, at):
    put(raw.statistics(at.group, at.column), NULL_COUNT, I64, -1)


@contradiction
def nulls_alone_beside_bounds(raw, at):
    put(raw.statistics(at.group, at.column), NULL_COUNT, I64, raw.rows(at.group))


@contradiction
def bounds_of_another_width(raw, at):
    put(raw.statistics(at.group, at.column), MAX, BINARY, b"\x01\x02")


@contradiction
def distinct_values_that_cannot_be(raw, at):
    put(raw.statistics(at.group, at.column), DISTINCT, I64, raw.rows(at.group) * 9)


@contradiction
def one_distinct_value(raw, at):
    put(raw.statistics(at.group, at.column), DISTINCT, I64, 1)


@contradiction
def sorted_the_other_way(raw, at):
    descending = [[1, I32, at.column], [2, TRUE, True], [3, FALSE, False]]
    put(raw.groups[at.group], SORTED, LIST, (STRUCT, [descending]))


# Page indexes: column index.


@contradiction
def column_index_copied_from_another_row_group(raw, at):
    raw.replace_index(at.group, at.column, (at.other, at.column), COLUMN_INDEX)


@contradiction
def indexes_copied_from_another_row_group(raw, at):
    raw.replace_index(at.group, at.column, (at.other, at.column), COLUMN_INDEX)
    raw.replace_index(at.group, at.column, (at.other, at.column), OFFSET_INDEX)


@contradiction
def offset_index_copied_from_another_row_group(raw, at):
    raw.replace_index(at.group, at.column, (at.other, at.column), OFFSET_INDEX)


@contradiction
def column_index_copied_from_another_column(raw, at):
    raw.replace_index(at.group, at.column, (at.group, at.beside), COLUMN_INDEX)


def _all_null(raw, at, pages):
    index = raw.column_index(at.group, at.column)
    for slot, stand_in in ((NULL_PAGES, 1), (MINS, b""), (MAXES, b"")):
        wire, values = value_of(index, slot)
        put(index, slot, LIST, (wire, [stand_in if i in pages else value for i, value in enumerate(values)]))
    return index


def _page_rows(raw, at):
    starts = [value_of(page, 3) for page in raw.pages(at.group, at.column)] + [raw.rows(at.group)]
    return [stop - start for start, stop in pairwise(starts)]


@contradiction
def every_page_null(raw, at):
    rows = _page_rows(raw, at)
    put(_all_null(raw, at, range(len(rows))), NULL_COUNTS, LIST, (I64, rows))


@contradiction
def every_page_null_without_counts(raw, at):
    drop(_all_null(raw, at, range(len(_page_rows(raw, at)))), NULL_COUNTS)


@contradiction
def one_page_null(raw, at):
    rows = _page_rows(raw, at)
    index = _all_null(raw, at, {1})
    if has(index, NULL_COUNTS):
        counts = value_of(index, NULL_COUNTS)[1]
        put(index, NULL_COUNTS, LIST, (I64, [counts[0], rows[1], *counts[2:]]))


@contradiction
def one_page_null_without_counts(raw, at):
    drop(_all_null(raw, at, {1}), NULL_COUNTS)


@contradiction
def one_page_marked_null_that_has_bounds(raw, at):
    index = raw.column_index(at.group, at.column)
    put(index, NULL_PAGES, LIST, (TRUE, [1, *value_of(index, NULL_PAGES)[1][1:]]))


@contradiction
def pages_without_the_nulls_of_the_chunk(raw, at):
    statistics, index = raw.statistics(at.group, at.column), raw.column_index(at.group, at.column)
    nulls = [0] * len(value_of(index, NULL_PAGES)[1])
    put(index, NULL_PAGES, LIST, (TRUE, [2] * len(nulls)))
    for slot, bound in ((MINS, MIN), (MAXES, MAX)):
        values = value_of(index, slot)[1]
        put(index, slot, LIST, (BINARY, [value or value_of(statistics, bound) for value in values]))
    put(index, NULL_COUNTS, LIST, (I64, nulls))


@contradiction
def pages_with_one_null_more_each(raw, at):
    index = raw.column_index(at.group, at.column)
    wire, counts = value_of(index, NULL_COUNTS)
    put(index, NULL_COUNTS, LIST, (wire, [count + 1 for count in counts]))


@contradiction
def more_nulls_in_a_page_than_rows(raw, at):
    index = raw.column_index(at.group, at.column)
    put(index, NULL_COUNTS, LIST, (I64, [raw.rows(at.group), *value_of(index, NULL_COUNTS)[1][1:]]))


@contradiction
def nulls_moved_to_another_page_whole(raw, at):
    """Count the nulls of a page in the next page, which then has as many nulls as rows."""
    index, rows = raw.column_index(at.group, at.column), _page_rows(raw, at)
    counts = list(value_of(index, NULL_COUNTS)[1])
    counts[0], counts[1] = 0, rows[1]
    put(index, NULL_COUNTS, LIST, (I64, counts))


@contradiction
def page_with_min_above_max(raw, at):
    index = raw.column_index(at.group, at.column)
    lows, highs = value_of(index, MINS)[1], value_of(index, MAXES)[1]
    put(index, MINS, LIST, (BINARY, highs))
    put(index, MAXES, LIST, (BINARY, lows))


@contradiction
def pages_in_reverse(raw, at):
    """Reverse the pages, but keep the claimed boundary order."""
    index = raw.column_index(at.group, at.column)
    for slot in (NULL_PAGES, MINS, MAXES, NULL_COUNTS):
        wire, values = value_of(index, slot)
        put(index, slot, LIST, (wire, values[::-1]))


@contradiction
def order_of_pages_that_they_have_not(raw, at):
    index = raw.column_index(at.group, at.column)
    put(index, ORDER, I32, 3 - value_of(index, ORDER) if value_of(index, ORDER) else 1)


@contradiction
def bounds_of_one_page_for_all(raw, at):
    index = raw.column_index(at.group, at.column)
    for slot in (MINS, MAXES):
        values = value_of(index, slot)[1]
        put(index, slot, LIST, (BINARY, [values[0] or values[-1]] * len(values)))


@contradiction
def fewer_bounds_than_pages(raw, at):
    index = raw.column_index(at.group, at.column)
    for slot in (NULL_PAGES, MINS, MAXES, NULL_COUNTS):
        wire, values = value_of(index, slot)
        put(index, slot, LIST, (wire, values[:-1]))


# Page indexes: offset index.


def _each_page(raw, at, slot, wire, change):
    for i, page in enumerate(raw.pages(at.group, at.column)):
        put(page, slot, wire, change(i, value_of(page, slot)))


@contradiction
def pages_whose_rows_do_not_ascend(raw, at):
    pages = raw.pages(at.group, at.column)
    first, second = value_of(pages[1], 3), value_of(pages[2], 3)
    put(pages[1], 3, I64, second)
    put(pages[2], 3, I64, first)


@contradiction
def two_pages_of_the_same_row(raw, at):
    pages = raw.pages(at.group, at.column)
    put(pages[2], 3, I64, value_of(pages[1], 3))


@contradiction
def pages_beyond_the_row_group(raw, at):
    put(raw.pages(at.group, at.column)[-1], 3, I64, raw.rows(at.group))


@contradiction
def first_page_after_the_first_row(raw, at):
    put(raw.pages(at.group, at.column)[0], 3, I64, 1)


@contradiction
def pages_outside_of_the_chunk(raw, at):
    _each_page(raw, at, 1, I64, lambda _, offset: offset + 100_000)


@contradiction
def pages_larger_than_the_chunk(raw, at):
    _each_page(raw, at, 2, I32, lambda _, size: size * 50)


@contradiction
def pages_that_overlap(raw, at):
    first = value_of(raw.pages(at.group, at.column)[0], 1)
    _each_page(raw, at, 1, I64, lambda _, __: first)


@contradiction
def fewer_pages_than_bounds(raw, at):
    index = raw.offset_index(at.group, at.column)
    put(index, 1, LIST, (STRUCT, value_of(index, 1)[1][:-1]))


# Corruptions that contradict nothing that a plan reads.


@unseen
def bounds_of_another_row_group(raw, at):
    statistics, other = raw.statistics(at.group, at.column), raw.statistics(at.other, at.column)
    take_over(statistics, other, MIN, MAX)


@unseen
def nulls_alone_without_bounds(raw, at):
    statistics = raw.statistics(at.group, at.column)
    drop(statistics, MIN, MAX, 1, 2)
    put(statistics, NULL_COUNT, I64, raw.rows(at.group))


@unseen
def row_group_of_no_rows_in_its_chunks_too(raw, at):
    row_group_of_no_rows(raw, at)
    for column in range(raw.width):
        put(value_of(raw.chunk(at.group, column), META), VALUES, I64, 0)


@unseen
def pages_cut_at_other_rows(raw, at):
    _each_page(raw, at, 3, I64, lambda i, row: max(i, row - 5) if i else 0)


@unseen
def chunk_without_nulls(raw, at):
    put(raw.statistics(at.group, at.column), NULL_COUNT, I64, 0)
