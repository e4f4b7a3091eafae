"""Filters as bytes: invalid ones are refused, and reads of a wrong length are corrected."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from made_filters import build_filter, serialize

from parquet_core.bloom import guess_length, may_contain, parse_filter, parse_guess, parse_header
from parquet_core.bloom.blocks import GUESS_BYTES

GOOD = serialize(build_filter(np.array([1, 2**63], np.uint64), 96))


def test_sizes_need_be_no_power_of_two():
    assert parse_filter(GOOD, place="here").shape == (3, 8)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (GOOD[:-1], "the footer gives"),
        (GOOD + b"\x00", "the footer gives"),
        (GOOD[:10], "ends early"),
        (b"", "ends early"),
        (b"\x00" + GOOD[1:], "unknown algorithm"),
        (GOOD.replace(b"\x1c\x1c", b"\x1c\x2c", 1), "unknown algorithm"),
        (GOOD[:7] + b"\x2c" + GOOD[8:], "unknown algorithm"),
        (GOOD[:11] + b"\x2c" + GOOD[12:], "unknown algorithm"),
        (b"\x15\x00" + GOOD[3:], "not the size of a filter"),
        (b"\x15\x41" + GOOD[3:], "not the size of a filter"),
        (b"\x15\x3e" + GOOD[3:], "not the size of a filter"),
        (b"\x15\x80\x80\x80\x80\x10" + GOOD[3:], "not the size of a filter"),
        (GOOD[:15] + bytes(len(GOOD) - 15), "empty"),
    ],
)
def test_odd_filters_are_refused(data, reason):
    assert reason in parse_filter(data, place="here")


@given(st.integers(0, len(GOOD) + 50))
def test_a_guess_is_completed_in_one_more_read(length):
    data = (GOOD + b"behind" * 10)[:length]
    found = parse_guess(data, place="here")
    if isinstance(found, int):
        assert found == len(GOOD) - length > 0
        found = parse_guess(GOOD[: length + found], place="here")
    if length < 16:
        assert "ends early" in found
    else:
        assert (found == parse_filter(GOOD, place="here")).all()


def test_what_is_kept_of_a_guess_is_the_filter_alone():
    blocks = parse_guess(GOOD + bytes(GUESS_BYTES), place="here")
    while blocks.base is not None:
        blocks = blocks.base
    assert blocks.nbytes == 96
    assert blocks.ctypes.data % 8 == 0


@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=4))
def test_any_bytes_end_in_an_answer(noise, mutations):
    mutated = bytearray(GOOD)
    for position, value in mutations:
        mutated[position] = value
    for data in (noise, bytes(mutated), noise + GOOD):
        assert isinstance(parse_filter(data, place="here"), (np.ndarray, str))
        assert isinstance(parse_guess(data, place="here"), (np.ndarray, int, str))


@given(st.integers(-10, 2**40), st.none() | st.integers(-10, 2**40), st.integers(0, 2**40))
def test_a_guess_stays_inside_the_file(offset, next_offset, file_size):
    length = guess_length(offset, next_offset=next_offset, file_size=file_size)
    assert 0 <= length <= GUESS_BYTES
    assert length == 0 or offset + length <= file_size
    if next_offset is not None and next_offset > offset:
        assert offset + length <= max(next_offset, offset)
    if 0 < offset < file_size:
        assert length > 0


def test_raw_filters_of_parquet_testing(parquet_testing):
    good = (parquet_testing / "data" / "bloom_filter.xxhash.bin").read_bytes()
    blocks = parse_filter(good, place="here")
    assert parse_header(good, place="here").header_bytes == 16
    assert blocks.nbytes == 1024
    hashes = np.array([xxhash.xxh64_intdigest(word) for word in (b"hello", b"parquet", b"bloom", b"filter")], np.uint64)
    assert may_contain([blocks], hashes).all()
    assert not may_contain([blocks], hashes + np.uint64(1)).any()
    assert serialize(blocks) == good
    murmur = (parquet_testing / "data" / "bloom_filter.bin").read_bytes()
    assert isinstance(parse_filter(murmur, place="here"), str)
    assert isinstance(parse_guess(murmur, place="here"), str)
