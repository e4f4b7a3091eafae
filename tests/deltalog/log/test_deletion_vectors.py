from __future__ import annotations

import struct
import zlib
from uuid import UUID

import msgspec
import pytest
from delta_tables import z85
from golden import GOLDEN, MISSING
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from deltalog.errors import MalformedLog, OutsideTable
from deltalog.log.actions import DeletionVector
from deltalog.log.deletion_vectors import (
    decode_bitmap,
    decode_z85,
    deleted_rows,
    read_vector,
    vector_of,
    vector_path,
)
from deltalog.snapshot.opening import open_snapshot

MAGIC = struct.pack("<i", 1681511377)


def bitmap(rows):
    return MAGIC + BitMap64(rows).serialize()


def inline(rows, **wrong):
    data = bitmap(rows)
    padded = data + b"\0" * (-len(data) % 4)
    return DeletionVector(**({"storage_type": "i", "path_or_inline_dv": z85(padded), "offset": None,
                      "size_in_bytes": len(data), "cardinality": len(rows)} | wrong))  # fmt: skip


def stored(folder, rows, *, layout=1, spoil=0, **wrong):
    data = bitmap(rows)
    name = UUID(int=7)
    checksum = zlib.crc32(data) ^ spoil
    content = bytes([layout]) + struct.pack(">i", len(data)) + data + struct.pack(">I", checksum)
    (folder / "ab").mkdir(exist_ok=True)
    (folder / "ab" / f"deletion_vector_{name}.bin").write_bytes(content)
    given_as = {"storage_type": "u", "path_or_inline_dv": "ab" + z85(name.bytes), "offset": 1}
    return DeletionVector(**(given_as | {"size_in_bytes": len(data), "cardinality": len(rows)} | wrong))


@given(st.binary(max_size=40))
def test_z85_is_undone(data):
    data += b"\0" * (-len(data) % 4)
    assert decode_z85(z85(data)) == data


@pytest.mark.parametrize("text", ["abcd", "abcde~", "####\u20ac", "#####"])
def test_what_is_no_z85_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        decode_z85(text)


@given(st.sets(st.integers(0, (1 << 34) - 1), max_size=50))
def test_bitmaps_of_64_bits_are_read(rows):
    assert set(decode_bitmap(bitmap(rows))) == rows
    assert set(read_vector(inline(sorted(rows)), "t")) == rows


def test_relative_and_absolute_files_are_read(tmp_path, monkeypatch):
    vector = stored(tmp_path, [0, 5, 1 << 33])
    assert list(read_vector(vector, str(tmp_path))) == [0, 5, 1 << 33]
    place = f"file://{vector_path(vector, str(tmp_path))}"
    absolute = msgspec.structs.replace(vector, storage_type="p", path_or_inline_dv=place)
    assert list(read_vector(absolute, str(tmp_path))) == [0, 5, 1 << 33]
    with pytest.raises(OutsideTable, match="PRUNE_DELTA_ALLOW="):
        read_vector(absolute, "elsewhere")
    assert list(read_vector(absolute, "elsewhere", allow=[str(tmp_path)])) == [0, 5, 1 << 33]
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", str(tmp_path))
    assert list(read_vector(absolute, "elsewhere")) == [0, 5, 1 << 33]


DAMAGED = [
    ("rows instead of", lambda folder: stored(folder, [1, 2], cardinality=3)),
    ("rows instead of", lambda _: inline([1, 2], cardinality=1)),
    ("checksum", lambda folder: stored(folder, [1, 2], spoil=1)),
    ("layout", lambda folder: stored(folder, [1, 2], layout=2)),
    ("outside of the file", lambda folder: stored(folder, [1, 2], offset=2)),
    ("bytes at 1", lambda folder: stored(folder, [1, 2], size_in_bytes=7)),
    ("outside of the file", lambda folder: stored(folder, [1, 2], offset=1 << 20)),
    ("missing", lambda _: DeletionVector("u", "zz" + z85(UUID(int=8).bytes), 20, 1, 1)),
    ("too short", lambda _: DeletionVector("u", "short", 20, 1, 1)),
    ("magic", lambda _: DeletionVector("i", z85(b"\0" * 12), 12, 0)),
    ("parts", lambda _: DeletionVector("i", z85(MAGIC + struct.pack("<Q", 1 << 60)), 12, 0)),
    ("bytes instead of", lambda _: inline([1, 2], size_in_bytes=3)),
    ("buffer|bytes", lambda _: DeletionVector("i", "", 0, 0)),
]


@pytest.mark.parametrize(("words", "make"), DAMAGED, ids=[words for words, _ in DAMAGED])
def test_damaged_vectors_are_named(tmp_path, words, make):
    with pytest.raises(MalformedLog, match=words):
        read_vector(make(tmp_path), str(tmp_path))


@pytest.mark.skipif(not GOLDEN.is_dir(), reason=MISSING)
@pytest.mark.parametrize(
    ("table", "rows"),
    [("table-with-dv-small", [0, 9]), ("basic-dv-no-checkpoint", [0, 1]), ("log-replay-dv-key-cases", [0, 7, 14])],
)
def test_vectors_of_other_writers_are_read(table, rows):
    snapshot = open_snapshot(GOLDEN / table)
    vectors = [vector_of(block, i) for block in snapshot.blocks for i in range(len(block))]
    found = [vector for vector in vectors if vector is not None]
    assert [list(read_vector(vector, snapshot.table)) for vector in found] == [rows]
    assert deleted_rows(snapshot.blocks).tolist() == [0 if vector is None else vector.cardinality for vector in vectors]
