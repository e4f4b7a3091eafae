"""Live files as columns, one block per part of the log.

A block does not contain statistics, but a source that reads the statistics of the columns of a predicate.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.log.paths import canonical_path, path_array, text_array
from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from
from parquet_core.storage.ranges import in_flight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deltalog.log.actions import Add

    Numbers = NDArray[np.int64]

NULL, ABSENT = -1, -2
_NO_ENTRY = object()
Item = TypeVar("Item")
Result = TypeVar("Result")
# Few threads, because each block that is processed ahead takes memory.
_MOST_THREADS = 4
_LEAST_FILES = 10_000
# Statistics are read in batches of this number of files, however the log is divided.
BATCH_FILES = 1 << 16
VECTOR_TYPE = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)


class Texts(NamedTuple):
    """One partition value per file.

    `codes`: indices in `values`; NULL for a null value, ABSENT for a missing entry.
    """

    codes: NDArray[np.int32]
    values: pa.Array


class StatisticsBatch(NamedTuple):
    """Undecoded statistics of some files of a block: JSON (text or bytes) or parsed structs."""

    positions: Numbers
    json: pa.Array | None
    parsed: pa.StructArray | None


class StatisticsSource(Protocol):
    """Source of the statistics of a block's files."""

    def read(self, columns: Sequence[tuple[str, ...]], wanted: NDArray[np.bool_]) -> Iterator[StatisticsBatch]:
        """Yield the statistics of columns (physical paths) in batches; each wanted file occurs at most once."""

    def take(self, files: Numbers) -> StatisticsSource:
        """Return the source of chosen files. `files`: ascending indices."""


@dataclass(frozen=True, slots=True)
class FileBlock:
    """Live files of one part of the log.

    `path`: canonical paths.
    `written`: paths as the `add` actions spell them, to be repeated by `remove` actions; None if all are canonical.
    `modified`: in milliseconds.
    `vectors`: deletion vector of each file; None if no file has one.
    `position`: index of each file in the cached snapshot; None if the cache does not cover the block.
    """

    path: pa.Array
    written: pa.Array | None
    size: Numbers
    modified: Numbers
    partition: dict[str, Texts]
    vectors: pa.StructArray | None
    statistics: StatisticsSource
    position: Numbers | None = None

    def __len__(self) -> int:
        return len(self.size)

    def written_paths(self) -> pa.Array:
        """Return the paths as the `add` actions spell them."""
        return self.path if self.written is None else self.written


def empty_codes(count: int) -> Texts:
    """Return the values of a partition column for which no file has an entry."""
    return Texts(np.full(count, ABSENT, np.int32), pa.nulls(0, pa.string()))


def texts_of_map(values: pa.MapArray) -> dict[str, Texts]:
    """Turn one map per file into the values of each key; the last entry of a duplicate key wins."""
    count = len(values)
    if count == 0:
        return {}
    offsets = numbers_from(values.offsets).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    keys = values.keys.slice(first, last - first)
    items = values.items.slice(first, last - first)
    lengths = np.diff(offsets)
    if values.null_count:
        lengths = np.where(flags_from(values.is_valid()), lengths, 0)
    names = _encoded(keys)
    row = np.repeat(np.arange(count), lengths)
    of_key = numbers_from(names.indices)
    coded = _encoded(items)
    codes = np.where(flags_from(items.is_valid()), numbers_from(coded.indices), NULL).astype(np.int32)
    by_name = {}
    for number, name in enumerate(names.dictionary.to_pylist()):
        here = of_key == number
        mine = np.full(count, ABSENT, np.int32)
        mine[row[here]] = codes[here]
        by_name[name] = _narrowed(mine, coded.dictionary)
    return by_name


def _encoded(texts: pa.Array) -> pa.DictionaryArray:
    if not pa.types.is_dictionary(texts.type):
        texts = pc.dictionary_encode(texts)
    if not pa.types.is_string(texts.type.value_type):
        raise ValueError("a partition value is not a string")
    texts.dictionary.validate(full=True)
    return texts


def _narrowed(codes: NDArray[np.int32], values: pa.Array) -> Texts:
    """Return the values of one partition key, without dictionary entries that only other keys use."""
    used = np.zeros(len(values), np.bool_)
    used[codes[codes >= 0]] = True
    number = np.cumsum(used) - 1
    kept = np.where(codes >= 0, number[codes] if len(values) else codes, codes).astype(np.int32)
    return Texts(kept, values.filter(from_numpy(used)))


class JsonStatistics(NamedTuple):
    """Statistics of commits, which are already in memory.

    `rows`: the indices of the files' texts, ascending; None for all texts.
    """

    texts: pa.Array
    rows: Numbers | None = None

    def chosen(self) -> pa.Array:
        """Return the JSON statistics of each file."""
        return self.texts if self.rows is None else self.texts.take(from_numpy(self.rows))

    def take(self, files: Numbers) -> JsonStatistics:
        """Return the statistics of chosen files. `files`: ascending indices."""
        return JsonStatistics(self.texts, files if self.rows is None else self.rows[files])

    def read(self, columns: Sequence[tuple[str, ...]], wanted: NDArray[np.bool_]) -> Iterator[StatisticsBatch]:
        """Yield the JSON statistics of the wanted files, in batches."""
        del columns
        valid = flags_from(self.texts.is_valid())
        there = np.flatnonzero(wanted & (valid if self.rows is None else valid[self.rows]))
        for first in range(0, len(there), BATCH_FILES):
            at = there[first : first + BATCH_FILES]
            yield StatisticsBatch(at, self.texts.take(from_numpy(at if self.rows is None else self.rows[at])), None)


def block_of_adds(adds: Sequence[Add]) -> FileBlock:
    """Return a block of the `add` actions of commits."""
    vectors = None
    if any(add.deletion_vector is not None for add in adds):
        vectors = pa.array([msgspec.to_builtins(add.deletion_vector) for add in adds], VECTOR_TYPE)
    paths = [canonical_path(add.path) for add in adds]
    written = [add.path for add in adds]
    return FileBlock(
        path=path_array(paths),
        written=None if written == paths else path_array(written),
        size=np.array([add.size for add in adds], np.int64),
        modified=np.array([add.modification_time for add in adds], np.int64),
        partition=_partition_texts([add.partition_values or {} for add in adds]),
        vectors=vectors,
        statistics=JsonStatistics(text_array([add.stats if isinstance(add.stats, str) else None for add in adds])),
    )


def _partition_texts(values: Sequence[dict[str, str | None]]) -> dict[str, Texts]:
    """Return the values of each partition key, one per file."""
    by_name = {}
    for name in dict.fromkeys(chain.from_iterable(values)):
        texts = [entries.get(name, _NO_ENTRY) for entries in values]
        known = [text for text in dict.fromkeys(texts) if isinstance(text, str)]
        numbers: dict[object, int] = {_NO_ENTRY: ABSENT, None: NULL} | {text: i for i, text in enumerate(known)}
        by_name[name] = Texts(np.fromiter(map(numbers.__getitem__, texts), np.int32, len(texts)), path_array(known))
    return by_name


def identities(vectors: pa.StructArray) -> pa.Array:
    """Return the identity of each deletion vector within its path; null if missing."""
    path_or_inline = pc.binary_join_element_wise(
        pc.struct_field(vectors, "storageType"), pc.struct_field(vectors, "pathOrInlineDv"), ""
    )
    offset = pc.struct_field(vectors, "offset").cast(pa.string())
    return pc.coalesce(pc.binary_join_element_wise(path_or_inline, offset, "@"), path_or_inline)


def in_parallel(do: Callable[[Item], Result], items: Sequence[Item], *, files: int) -> Iterator[Result]:
    """Yield `do(item)` for each item, computed in parallel; results and errors come in order.

    `files`: approximate number of files in all items. Below 10,000 files one thread is used, because more threads would
    be slower. At most 4 threads run, and at most one per processor.

    >>> list(in_parallel(abs, [-1, 2, -3], files=100_000))
    [1, 2, 3]
    """
    threads = min(_MOST_THREADS, os.cpu_count() or 1) if files >= _LEAST_FILES else 1
    return in_flight(do, items, threads=threads, ahead=threads + 1)
