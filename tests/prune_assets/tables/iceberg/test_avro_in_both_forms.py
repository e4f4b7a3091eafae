"""The compiled and the pure-Python manifest reader give the same results, on intact and damaged bytes."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest

from prune_assets.tables.iceberg.manifests import avro_file, avro_walk, manifest
from prune_assets.tables.iceberg.manifests.avro_walk import (
    ARRAY,
    BYTES,
    FIXED,
    MAP,
    PAIRS_OF_BYTES,
    RECORD,
    UNION,
    VARINT,
)

SOURCE = Path(avro_file.__file__).with_name("avro_walk.py")


@pytest.fixture(scope="module")
def as_python():
    """Load the source of the hot loop as pure Python, even if a compiled build is installed."""
    spec = importlib.util.spec_from_file_location("avro_walk_as_python", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not module.is_compiled()
    return module


def schema(module):
    """Return a schema with a number, an optional string, Iceberg's map form, an Avro map, and 8-byte values."""

    def node(node_kind, children=(), size=0, least=1, slot=-1):
        return module.Node(node_kind, list(children), size, least, slot)

    pair = node(RECORD, [node(VARINT), node(BYTES)], least=2)
    return node(
        RECORD,
        [
            node(VARINT, slot=0),
            node(UNION, [node(0, least=0), node(BYTES, slot=1)]),
            node(ARRAY, [pair], PAIRS_OF_BYTES, 2, 2),
            node(MAP, [node(VARINT)], 0, 2, 3),
            node(FIXED, size=8, least=8, slot=4),
        ],
    )


def long(value):
    value = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def text(value):
    return long(len(value)) + value


def row(rng):
    pairs = [long(rng.randrange(4)) + text(b"v" * rng.randrange(90)) for _ in range(rng.randrange(4))]
    block = b"".join(pairs)
    blocks = long(-len(pairs)) + long(len(block)) + block if pairs and rng.random() < 0.5 else long(len(pairs)) + block
    encoded = long(rng.choice([0, -1, 63, 64, -(1 << 62), (1 << 63) - 1]))
    encoded += long(0) if rng.random() < 0.5 else long(1) + text(b"t" * rng.randrange(200))
    encoded += blocks + (long(0) if pairs else b"")
    encoded += long(1) + text(b"key") + long(7) + long(0) if rng.random() < 0.5 else long(0)
    return encoded + b"12345678"


def answer(module, data, count):
    table = np.full((count, 5), -1, np.int64)
    try:
        module.walk(data, schema(module), count, 5, table.reshape(-1))
        numbers, behind, of_key = np.full(count, -5, np.int64), np.full(count, -5, np.int64), np.zeros(count, np.int64)
        module.numbers_at(data, np.ascontiguousarray(table[:, 0]), numbers)
        module.behind_at(data, np.ascontiguousarray(table[:, 1]), behind)
        module.positions_of_key(data, np.ascontiguousarray(table[:, 2]), 2, of_bytes=True, positions=of_key)
    except (IndexError, avro_walk.MalformedFile) as error:
        return type(error).__name__
    return table.tolist(), numbers.tolist(), behind.tolist(), of_key.tolist()


@pytest.mark.parametrize("seed", range(30))
def test_both_forms_answer_alike(as_python, seed):
    rng = random.Random(seed)
    count = rng.randrange(1, 5)
    whole = b"".join(row(rng) for _ in range(count))
    assert not isinstance(answer(as_python, whole, count), str)
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(rng.randrange(3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = bytes(data[: rng.randrange(len(data))] if rng.random() < 0.3 else data)
        assert answer(avro_walk, data, count) == answer(as_python, data, count)


def test_a_length_with_more_bytes_than_it_needs_is_read_as_it_is():
    values = manifest._bytes_at(b"\x08abcd\x88\x00abcd", np.array([0, 5, -1]))
    assert values.to_pylist() == [b"abcd", b"abcd", None]
