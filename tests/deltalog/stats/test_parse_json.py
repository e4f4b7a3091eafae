"""Statistics parsed in a batch equal statistics parsed one by one, or are refused."""

from __future__ import annotations

import json
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_writer import field

from deltalog.log.file_block import StatisticsBatch
from deltalog.log.paths import text_array
from deltalog.stats.file_bounds import consistent_file_bounds, statistics_from_objects, statistics_reader
from deltalog.stats.parse_json import decode_texts, parse_texts
from deltalog.table.schema import read_schema

KINDS = ["byte", "long", "float", "double", "decimal(12,2)", "decimal(38,18)", "string", "date", "timestamp"]
KINDS += ["timestamp_ntz", "boolean", "binary", "decimal(38,38)", "decimal(38,0)"]
INSIDE = {"type": "struct", "fields": [field("a", "integer"), field("b c", "string")]}
NUMBERS = [
    "0",
    "-1",
    "7",
    "1.5",
    "100.25",
    "-0.0",
    "1e2",
    "1E-3",
    "127",
    "128",
    "123456789012345678",
    "9007199254740993",
]
NUMBERS += ["12345678901234567890.12", "1e30", "1e37", "1e38", "1e309", "9" * 38, "0." + "1" * 30, "871.0899999999999"]
TEXTS = [
    '"a"',
    '""',
    '"2024-01-02"',
    '"2024-01-02T03:04:05.678Z"',
    '"NaN"',
    '"\\u00e9\\ud83d\\ude00"',
    '"1.5"',
    '"x\\"y"',
]
ODD = ["null", "true", "[]", "{}", '{"a":1}', '"\\ud800"']


def columns_of(*fields):
    schema = json.dumps({"type": "struct", "fields": list(fields)})
    return list(read_schema(schema, partition_columns=[], mapping="none", location="").columns)


def binary(texts):
    return text_array(texts).cast(pa.large_binary())


def both(columns, texts):
    """Return the results of both parsers, and whether the batch parser succeeded."""
    data = binary(texts)
    of_objects = statistics_from_objects(decode_texts(columns, data))
    return (
        statistics_reader(columns)(StatisticsBatch(np.arange(len(texts)), data, None)),
        [consistent_file_bounds(column, of_objects) for column in columns],
        parse_texts(columns, data),
    )


def same(one, other):
    assert one.lower.equals(other.lower)
    assert one.upper.equals(other.upper)
    assert one.null_count.equals(other.null_count)
    assert one.row_count.tolist() == other.row_count.tolist()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_value_reads_alike(kind):
    columns = columns_of(field("x", kind), field("s", INSIDE))
    for value in NUMBERS + TEXTS + ODD:
        lower, upper = f'"minValues":{{"x":{value},"s":{{"a":1}}}}', f'"maxValues":{{"x":{value}}}'
        text = f'{{"numRecords":9,{lower},{upper},"nullCount":{{"x":1}}}}'
        all_at_once, one_by_one, _ = both(columns, [text] * 64)
        for found, expected in zip(all_at_once, one_by_one, strict=True):
            same(found, expected)


@pytest.mark.parametrize(
    "texts",
    [
        ['{"numRecords":1}null'],
        ["null"],
        ["{}{}", " {}"],
        ['{"a":[{}', "{}]}"],
        ["{},{}", '{"a":"}', '{"}'],
        ['{"numRecords":1,"numRecords":2}'],
        ['{"minValues":{"x":"1"}}'],
        ['{"minValues":{"x":1e999}}'],
        ['{"minValues":3}'],
        ["[1]"],
        ['{}],"rows":[{}'],
        ["{}]}", '{"rows":[{}'],
        ["{" * 100_000 + "}" * 100_000],
    ],
)
def test_what_is_not_one_plain_object_a_file_is_not_parsed_at_once(texts):
    columns = columns_of(field("x", "double"))
    sound = ['{"numRecords":1}'] * 64
    assert parse_texts(columns, binary(sound)) is not None
    assert parse_texts(columns, binary([*sound, *texts])) is None


def test_a_decimal_that_arrow_would_wrap_around_is_refused():
    columns = columns_of(field("x", "decimal(38,30)"))
    text = '{"numRecords":1,"minValues":{"x":12345678901234567890.12}}'
    assert parse_texts(columns, binary([text] * 64)) is None


def test_two_columns_of_one_place_are_read_one_by_one():
    (one,), (other,) = columns_of(field("x", "long")), columns_of(field("x", "string"))
    assert parse_texts([one, other], binary(['{"numRecords":1}'] * 64)) is None
    nested = columns_of(field("x", {"type": "struct", "fields": [field("y", "long")]}))
    assert parse_texts([one, *nested], binary(['{"numRecords":1}'] * 64)) is None


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\tb", "\x00"])
def test_names_that_json_escapes_are_no_error(name):
    columns = columns_of(field(name, "long"), field("x", "long"))
    text = json.dumps({"numRecords": 3, "minValues": {name: 1, "x": 2}, "maxValues": {name: 5, "x": 6}})
    for count in (1, 64):
        all_at_once, one_by_one, _ = both(columns, [text] * count)
        for found in (all_at_once, one_by_one):
            assert found[1].upper.to_pylist() == [6] * count
            assert set(found[0].upper.to_pylist()) <= {5, None}


@settings(max_examples=3 * settings().max_examples // 2)
@given(seed=st.integers(0, 1 << 32), damage=st.integers(0, 3))
def test_texts_damaged_at_random_read_alike(seed, damage):
    source = random.Random(seed)
    columns = columns_of(*(field(f"c{i}", source.choice(KINDS)) for i in range(3)), field("s", INSIDE))

    def values():
        pool = source.choice([NUMBERS[:12], NUMBERS, TEXTS, NUMBERS + TEXTS + ODD])
        return ",".join(f'"c{i}":{source.choice(pool)}' for i in range(3))

    count = source.choice([64, 70])
    texts = [f'{{"numRecords":5,"minValues":{{{values()}}},"maxValues":{{{values()}}}}}' for _ in range(count)]
    for _ in range(damage):
        i, cut = source.randrange(count), source.randrange(20)
        texts[i] = texts[i][:cut] + source.choice(['"', "{", "}", ",", "null", "\\", "\n", " "]) + texts[i][cut:]
    all_at_once, one_by_one, _ = both(columns, texts)
    for found, expected in zip(all_at_once, one_by_one, strict=True):
        same(found, expected)
