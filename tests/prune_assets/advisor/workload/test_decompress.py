"""Log files in Spark's compressions, and the memory that lines take."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_lines import text_of

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.storage import Traffic, find_file
from prune_assets.advisor.workload.event_logs.decompress import NoEventLog, blocks
from prune_assets.advisor.workload.event_logs.read_logs import TOO_LONG, lines_of

TEXT = text_of("3.5")


def parts(size):
    return [TEXT[start : start + size] for start in range(0, len(TEXT), size)]


def zstd():
    return b"".join(pa.Codec("zstd").compress(part, asbytes=True) for part in parts(1 << 20))


def lz4():
    """Compress like net.jpountz's LZ4BlockOutputStream, which stores incompressible blocks unchanged."""
    made = []
    for index, part in enumerate(parts(1 << 15)):
        data = pa.Codec("lz4_raw").compress(part, asbytes=True) if index else part
        sizes = len(data).to_bytes(4, "little") + len(part).to_bytes(4, "little")
        made.append(b"LZ4Block" + (b"\x25" if index else b"\x15") + sizes + bytes(4) + data)
    return b"".join([*made, b"LZ4Block\x15", bytes(12)])


def snappy():
    """As org.xerial.snappy's SnappyOutputStream."""
    made = [b"\x82SNAPPY\0" + (1).to_bytes(4, "big") * 2]
    for part in parts(1 << 15):
        data = pa.Codec("snappy").compress(part, asbytes=True)
        made.append(len(data).to_bytes(4, "big") + data)
    return b"".join(made)


def compressed(codec):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(TEXT)
    return sink.getvalue().to_pybytes()


FORMS = {
    "zstd": zstd,
    "lz4": lz4,
    "snappy": snappy,
    "plain": lambda: TEXT,
    "gzip": lambda: gzip.compress(TEXT),
    "gzip of members": lambda: b"".join(map(gzip.compress, parts(1 << 16))),
    "bz2": lambda: compressed("bz2"),
    "lz4 frames": lambda: compressed("lz4"),
}


def text_in(path, data):
    path.write_bytes(data)
    return blocks(find_file(str(path)), Traffic())


@pytest.mark.parametrize("form", FORMS)
def test_the_text_is_the_same_in_every_compression(tmp_path, form):
    assert b"".join(text_in(tmp_path / "log", FORMS[form]())) == TEXT


def test_a_log_that_grows_is_read_as_far_as_it_was_listed(tmp_path):
    text = text_in(tmp_path / "log", TEXT)
    with (tmp_path / "log").open("ab") as log:
        log.write(b"more")
    assert b"".join(text) == TEXT


@pytest.mark.parametrize("form", ["zstd", "lz4", "snappy", "gzip", "gzip of members"])
def test_what_comes_before_the_end_of_a_cut_file_is_read(tmp_path, form):
    data, found = FORMS[form](), []
    with pytest.raises(MalformedFile, match="the events before the end were read"):
        found.extend(text_in(tmp_path / "log", data[: len(data) * 3 // 4 + 1]))
    text = b"".join(found)
    assert len(text) > len(TEXT) // 3
    assert TEXT.startswith(text)


def tar():
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo("app-1")
        member.size = len(TEXT)
        archive.addfile(member, io.BytesIO(TEXT))
    return made.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"ZV\x01\x00\x10" + bytes(20), "lzf is not read; set spark.eventLog.compression.codec to zstd"),
        (b"PK\x03\x04" + bytes(20), r"a zip; unpack it, or rename it to end with \.zip"),
        (lzma.compress(TEXT), "xz is not read; decompress it"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(20), "a 7z archive; unpack it"),
        (tar(), "a tar archive; unpack it"),
        (gzip.compress(tar()), "a tar archive; unpack it"),
    ],
)
def test_a_form_that_is_not_read_is_refused_by_name(tmp_path, data, message):
    with pytest.raises(UnsupportedFeature, match=f"{message}$"):
        next(text_in(tmp_path / "log", data))


@pytest.mark.parametrize("data", [b"hello", b"PAR1" + bytes(20), gzip.compress(b"24/01/01 INFO Main: started"), b"{}"])
def test_what_is_no_log_is_said_compressed_or_not(tmp_path, data):
    with pytest.raises(NoEventLog, match="not a Spark event log"):
        next(text_in(tmp_path / "log", data))


def test_an_empty_file_has_no_lines(tmp_path):
    assert list(text_in(tmp_path / "log", b"")) == []


@pytest.mark.parametrize("form", ["lz4", "snappy"])
@given(st.data())
def test_damage_never_costs_more_than_an_error(tmp_path_factory, form, data):
    whole = bytearray(FORMS[form]()[:4000])
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(17, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        size = sum(map(len, text_in(tmp_path_factory.mktemp("damaged") / "log", bytes(whole))))
    except MalformedFile:
        return
    assert size < 64 << 20


@given(st.binary(max_size=200).map(lambda data: data.replace(b"\x00", b"\n")), st.integers(1, 40))
def test_lines_do_not_depend_on_blocks(data, size):
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert list(lines_of(pieces)) == list(lines_of([data])) if data else not list(lines_of(pieces))


def test_a_line_without_an_end_takes_no_more_memory_than_a_limit():
    held = lines_of((b"x" * 1000 for _ in range(1000)), longest=5000)
    assert list(held) == [TOO_LONG]
    assert list(lines_of([b"a\n" + b"x" * 50, b"y" * 50 + b"\nb\n"], longest=60)) == [b"a", TOO_LONG, b"b"]
