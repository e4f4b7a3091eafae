"""Fuzz targets: bytes as input, claims of public functions as output, and checks of the claims."""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import reference
from chunk_facts import chunk_at
from mutations import blindly, knowingly

from parquet_core import bloom
from parquet_core.dataset.opening import read_dataset
from parquet_core.dataset.page_batch import Source, join_indexes
from parquet_core.errors import MalformedFile, PruneError
from parquet_core.format import chunk_decoding, column_chunk, dictionary, footer, page_index, provenance
from parquet_core.format.page_index import IndexBytes, decode_column_indexes, decode_offset_indexes
from parquet_core.storage import DataFile
from parquet_core.trust.trust_policy import trust
from parquet_core.trust.trusted_bounds import trusted_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

PLACE = "lake/f.parquet"
READERS = (footer, provenance, chunk_decoding, column_chunk, page_index, dictionary, bloom.blocks)
DECODERS = ("decode", "decode_list", "decode_columns", "decode_table", "decode_tables")
MOST_LEAVES = 2  # of a case


class Target(NamedTuple):
    """A fuzz target: `draw` creates a case, `answer` returns its claims, `judge` raises Lie for a false claim.

    `share`: relative frequency of cases. `data` returns all bytes of a case.
    """

    draw: Callable[..., Any]
    data: Callable[[Any], bytes]
    answer: Callable[..., Any]
    judge: Callable[..., None]
    share: int


class Call(NamedTuple):
    """A call of the hot loop."""

    name: str
    arguments: tuple
    options: dict

    def of(self, form):
        """Run the call with one build of the hot loop; return the result or the error message."""
        try:
            return getattr(form, self.name)(*self.arguments, **self.options)
        except MalformedFile as error:
            return str(error)


@contextmanager
def recorded():
    """Yield a list to which every call of the hot loop is appended."""
    provenance.decode_provenance.cache_clear()
    provenance.parse_schema.cache_clear()
    calls = []

    def recorder(name, call):
        def record(*arguments, **options):
            calls.append(Call(name, arguments, options))
            return call(*arguments, **options)

        return record

    before = {(module, name): getattr(module, name) for module in READERS for name in DECODERS if hasattr(module, name)}
    for (module, name), call in before.items():
        setattr(module, name, recorder(name, call))
    try:
        yield calls
    finally:
        for (module, name), call in before.items():
            setattr(module, name, call)


def damaged(chance, data, other):
    return chance.choice([blindly, knowingly, knowingly])(chance, data, other)


def some(leaves, data):
    """Return a few leaves; the choice depends only on the bytes."""
    return random.Random(data).sample(leaves, min(len(leaves), MOST_LEAVES))


def plain(values):
    """Return bounds as numbers or bytes; None where nothing is claimed."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return [None if value is None else _unscaled(value) for value in values.to_pylist()]
    if pa.types.is_temporal(kind):
        values = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return values.to_pylist()


def _unscaled(value):
    sign, digits, _ = value.as_tuple()
    return int("".join(map(str, digits))) * (-1 if sign else 1)


@dataclass
class Claims:
    """Claims about successive containers of a column."""

    lower: list
    upper: list
    null_counts: list
    nan_counts: list
    min_exact: list
    max_exact: list
    row_counts: list

    @classmethod
    def of(cls, bounds):
        counts = [getattr(bounds, name).to_pylist() for name in ("null_count", "nan_count", "min_exact", "max_exact")]
        return cls(plain(bounds.lower), plain(bounds.upper), *counts, bounds.row_count.tolist())


@dataclass
class ColumnClaims(Claims):
    leaf: Any = None
    chunks: Any = None


class FooterClaims(NamedTuple):
    row_counts: list
    sorted_by: list
    columns: list
    errors: list


def _or_error(call, *arguments):
    try:
        return call(*arguments)
    except PruneError as error:
        return check_message(error, PLACE)


def check_message(error, place):
    """Return the message of an error; raises unless it is one line that contains the path."""
    message = str(error)
    reference.must("\n" not in message and "\r" not in message, "a message of several lines", message)
    reference.must(place in message, "a message without place", message)
    return message


def draw_footer(chance, corpus):
    return damaged(chance, chance.choice(corpus.footers), chance.choice(corpus.footers))


def footers_of(data):
    """Decode the FileMetaData of one file of unknown size."""
    ends = np.array([0]), np.array([len(data)])
    files = [DataFile(PLACE, 1 << 30, 0, None)]
    return footer._footers(data, *ends, files, footer._decode(data, *ends, files))


def answer_footer(data, _):
    footers = footers_of(data)
    (kind,) = footers.kinds
    found = [_or_error(_column_claims, footers, leaf, kind) for leaf in some(kind.columns, data)]
    return FooterClaims(
        footers.row_count.tolist(),
        [_or_error(footers.sorted_by, i) for i in range(len(footers))],
        [claims for claims in found if isinstance(claims, ColumnClaims)],
        [claims for claims in found if isinstance(claims, str)],
    )


def _column_claims(footers, leaf, provenance):
    chunks, statistics, _ = footers.chunks(leaf.path)
    count = len(footers)
    if statistics is None:
        reference.must(count == 0, leaf.name, "no row group has the column")
        return None
    bounds = trusted_bounds(leaf, statistics, [trust(leaf, provenance)], np.zeros(count, np.int64))
    return ColumnClaims(**vars(Claims.of(bounds)), leaf=leaf, chunks=[chunk_at(chunks, i) for i in range(count)])


class IndexCase(NamedTuple):
    """An intact index and its damaged form, which are read together; `rows`: row count in the footer."""

    sound: Any
    column_index: bytes
    offset_index: bytes
    rows: int


def draw_indexes(chance, corpus):
    sound, other = chance.choice(corpus.indexes), chance.choice(corpus.indexes)
    both = [sound.column_index, sound.offset_index]
    which = chance.choice([(0,), (0,), (1,), (0, 1)])
    for i in which:
        both[i] = damaged(chance, both[i], other[i])
    rows = sound.rows if chance.random() < 0.9 else chance.choice([0, 1, sound.rows - 1, 2**53 - 1])
    return IndexCase(sound, *both, rows)


def answer_indexes(case, _):
    parts = [case.sound.column_index, case.column_index, case.sound.offset_index, case.offset_index]
    stop = np.cumsum([len(part) for part in parts])
    start, nothing = stop - [len(part) for part in parts], np.full(2, "", object)
    buffer, rows = b"".join(parts), np.array([case.sound.rows, case.rows])
    extent = np.array([[0, 1 << 62]] * 2)
    offsets = decode_offset_indexes(IndexBytes(buffer, start[2:], stop[2:], nothing, _place), rows, extent)
    indexes = decode_column_indexes(IndexBytes(buffer, start[:2], stop[:2], nothing, _place))
    leaf, kind = case.sound.leaf, np.zeros(2, np.int64)
    batch = join_indexes(Source(leaf, rows, [trust(leaf, case.sound.provenance)], kind), indexes, offsets)
    pages = [batch.take(np.array([i])) for i in range(2)]
    located = [offsets.take(np.array([i])) for i in range(2)]
    return (
        [Claims.of(part.bounds) for part in pages],
        batch.reason.tolist(),
        [list(zip(*(of.tolist() for of in (p.offset, p.compressed_bytes, p.first_row)), strict=True)) for p in located],
        offsets.reason.tolist(),
        batch.boundary_order.tolist(),
    )


def _place(i):
    return f"{PLACE}: row group {i}"


def judge_indexes(case, found):
    claims, reasons, located, unlocated, _ = found
    for i, of in enumerate((case.sound, case)):
        if not unlocated[i]:
            reference.check_offset_index(of.offset_index, located[i], of.rows)
        if not reasons[i]:
            reference.check_column_index(of.column_index, case.sound.leaf, claims[i])
        else:
            nothing = (claims[i].lower, claims[i].upper)
            reference.must(all(set(side) == {None} for side in nothing), "bounds beside a reason", reasons[i])
    reference.must(sum(claims[1].row_counts) == case.rows, "rows of the pages")


def draw_filter(chance, corpus):
    return damaged(chance, chance.choice(corpus.filters), chance.choice(corpus.filters))


def answer_filter(data, _):
    found = [bloom.parse_header(data, place=PLACE), bloom.parse_filter(data, place=PLACE)]
    found.append(bloom.parse_guess(data, place=PLACE))
    return [part.tobytes() if isinstance(part, np.ndarray) else part for part in found]


def judge_filter(data, found):
    for part, whole in ((found[1], True), (found[2], False)):
        if isinstance(part, bytes):
            reference.check_filter(data, part, whole=whole)


def draw_dictionary(chance, corpus):
    seed, other = chance.choice(corpus.dictionaries), chance.choice(corpus.dictionaries)
    chunks = replace(seed.chunks, codec=np.zeros(1, np.int64)) if chance.random() < 0.2 else seed.chunks
    return seed._replace(page=damaged(chance, seed.page, other.page), chunks=chunks)


def answer_dictionary(case, _):
    length = dictionary.page_bytes(case.page, case.chunks, 0, case.leaf, place=PLACE)
    found = dictionary.read_dictionary(case.page, case.chunks, 0, case.leaf, place=PLACE)
    return length, found if isinstance(found, str) else found.binary().to_pylist()


def judge_dictionary(case, found):
    _, values = found
    if not isinstance(values, str):
        reference.check_dictionary(case.page, case.leaf, int(case.chunks.codec[0]), values)


def draw_file(chance, corpus):
    """Damage the footer or any byte of a file; the footer length at the end usually stays correct."""
    data, other = chance.choice(corpus.files), chance.choice(corpus.files)
    length = int.from_bytes(data[-8:-4], "little")
    if chance.random() < 0.3:
        return blindly(chance, data, other)
    body, encoded = data[: -8 - length], data[-8 - length : -8]
    if chance.random() < 0.5:
        encoded = damaged(chance, encoded, chance.choice(corpus.footers))
    else:
        body = blindly(chance, body, other)[: len(body)].ljust(len(body), b"\0")
    return body + encoded + len(encoded).to_bytes(4, "little") + b"PAR1"


def answer_file(data, directory):
    path = directory / "f.parquet"
    path.write_bytes(data)
    index = read_dataset(path)
    found = [_or_named_error(_file_claims, path, index, leaf) for leaf in some(index.groups.columns, data)]
    return [index.groups.row_count.tolist(), found]


def _or_named_error(call, path, *arguments):
    try:
        return call(*arguments)
    except PruneError as error:
        return check_message(error, str(path))


def _file_claims(index, leaf):
    positions = np.arange(len(index))
    found = [Claims.of(index.footers.bounds(leaf))]
    pages = index.page_indexes.read(leaf, positions)
    found += [Claims.of(pages.bounds), pages.first.tolist(), pages.reason.tolist()]
    filters = index.bloom_filters.read(leaf, positions)
    return [*found, [part if isinstance(part, str) else part.tobytes() for part in filters]]


def judge_nothing(_, __):
    pass


TARGETS = {
    "footers": Target(draw_footer, bytes, answer_footer, reference.check_footer, 6),
    "page indexes": Target(
        draw_indexes, lambda case: case.column_index + case.offset_index, answer_indexes, judge_indexes, 6
    ),
    "filters": Target(draw_filter, bytes, answer_filter, judge_filter, 2),
    "dictionaries": Target(draw_dictionary, lambda case: case.page, answer_dictionary, judge_dictionary, 3),
    "files": Target(draw_file, bytes, answer_file, judge_nothing, 3),
}
