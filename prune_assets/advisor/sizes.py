"""Bytes of columns in a simulated layout.

Dictionary sizes follow from the distinct values of row groups, data sizes from encoding sampled rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from parquet_core.arrow_arrays import filled, from_numpy, numbers_from
from parquet_core.pruning.levels.dictionary_level import ALWAYS_WORTH
from prune_assets.advisor.lookups import dictionary_pays, distinct_in_each
from prune_assets.simulation.cut import cut_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import Path
    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.advisor.queries import ColumnCost
    from prune_assets.simulation.cut import Cut
    from prune_assets.simulation.sample import Sample, SampledColumn

# Number of row groups whose values are counted.
_COUNTED = 6
# Bytes at which a writer ends a dictionary; it writes the following values plain.
DICTIONARY_LIMIT = 1 << 20
# Parquet-java's level of zstd; Arrow's is 1.
_ZSTD_LEVEL = 3
_ROWS_AT_ONCE = 1_000
# Flags of a random half of the rows. The number of distinct values in this half shows how uneven their frequencies are.
# Fewer than `_ENOUGH` rows are not halved.
_RANDOM_HALF = np.random.default_rng(0).random(1 << 16) < 0.5
_ENOUGH = 256
# A change of the bytes per row by a factor above this is chance.
_NO_CHANGE = 0.985


class Size(NamedTuple):
    """Size of a column in a layout.

    `data`: bytes per row.
    `dictionary`: bytes per row group; 0 without a dictionary.
    `is_looked_up`: True if a plan reads the column's dictionaries, and these hold all values of their row groups.
    """

    data: float
    dictionary: float
    is_looked_up: bool


class Coded(NamedTuple):
    """Encoding of a column.

    `values`: number of distinct values per row group.
    `is_coded`: True if all values are dictionary-encoded.
    """

    values: float
    is_coded: bool


def sizes_without_encoding(
    costs: Mapping[Path, ColumnCost], sample: Sample, cut: Cut, layout: LayoutSpec
) -> dict[Path, Size]:
    """Derive sizes from the present sizes and the values of the sampled row groups."""
    return {path: _like_today(cost, sample.columns.get(path), cut, layout) for path, cost in costs.items()}


def _like_today(cost: ColumnCost, column: SampledColumn | None, cut: Cut, layout: LayoutSpec) -> Size:
    rows, data = cut.total / len(cut.group), cost.data
    if column is None or not len(column.values):
        return _size(data, cost.of_group(rows), rows, is_coded=cost.is_coded)
    entry, coded = cost.entry_of(column.values), coded_in(cut, column, cost, layout)
    if cost.is_coded and not coded.is_coded:
        data = max(data, entry)
    elif coded.is_coded and not cost.is_coded:
        data = min(data, math.log2(max(coded.values, 2)) / 8)
    return _size(data, entry * coded.values * coded.is_coded, rows, is_coded=coded.is_coded)


def coded_in(cut: Cut, column: SampledColumn, cost: ColumnCost, layout: LayoutSpec) -> Coded:
    """Estimate how parquet-java, which decides by the first page, would encode a sampled column."""
    group, page = (
        _mean([column.codes[it] for it in _first_rows(cut, most)], len(column.values), rows)
        for rows, most in _rows_of(cut, layout)
    )
    return _coded(layout, column.column.path, group, page, cost.entry_of(column.values))


def _rows_of(cut: Cut, layout: LayoutSpec) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the mean and the maximum number of rows, of a row group and of a page."""
    rows = cut.total / len(cut.group)
    page = min(rows, float(layout.page_rows))
    return (rows, float(cut.total)), (page, page)


def _first_rows(cut: Cut, most: float) -> list[NDArray[np.int64]]:
    """Return the sampled rows among the first `most` rows of each of several row groups.

    Short row groups, such as the last one of a file, are left out, because they are not typical.
    """
    starts, rows = cut.sampled(cut.group), cut.group_rows
    usual = np.flatnonzero(rows >= rows.mean() / 2)
    ends = np.minimum(np.append(starts[1:], len(cut.order)), starts + max(1, round(most * cut.rate)))
    return [cut.order[starts[group] : ends[group]] for group in usual[_evenly(len(usual) - 1)]]


def _windows(order: NDArray[np.int64], share: float) -> list[NDArray[np.int64]]:
    """Return several evenly spread runs of adjacent rows in an order.

    `share`: length of each run as a share of all rows.
    """
    rows = min(max(1, round(share * len(order))), len(order))
    return [order[start : start + rows] for start in _evenly(len(order) - rows)]


def _evenly(last: int) -> list[int]:
    positions: list[int] = np.unique(np.linspace(0, last, _COUNTED).round().astype(np.int64)).tolist()
    return positions


class _SampleValues(NamedTuple):
    """Contents of a row group or page, without nulls, which are not encoded.

    `rows`: number of rows with a value.
    `values`: number of distinct values.
    """

    rows: float
    values: float


def _mean(parts: Sequence[NDArray[np.int64]], most: int, rows: float) -> _SampleValues:
    """Estimate the mean contents of row groups or pages from sampled codes (see `_Codes`).

    `parts`: codes of the sampled rows of each container.
    `most`: number of different codes.
    `rows`: number of rows of each container.
    """
    valid_codes = [part[part >= 0] for part in parts if len(part)]
    if not valid_codes:
        return _SampleValues(0.0, 0.0)
    sampled = [len(part) for part in parts if len(part)]
    valid = [rows * len(part) / count for part, count in zip(valid_codes, sampled, strict=True)]
    return _SampleValues(float(np.mean(valid)), float(np.mean(_distinct_of(valid_codes, most, np.array(valid)))))


def _distinct_of(parts: Sequence[NDArray[np.int64]], most: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate the number of distinct values of row groups or pages from some of their rows.

    `parts`: codes of the sampled rows of each container.
    `rows`: number of rows of each container.
    """
    sampled = np.array([len(part) for part in parts], np.float64)
    halves = [part[np.resize(_RANDOM_HALF, len(part))] if len(part) >= _ENOUGH else None for part in parts]
    of_half = [math.nan if it is None else _distinct(it, most) / max(len(it), 1) for it in halves]
    distinct = np.array([_distinct(part, most) for part in parts])
    return distinct_in_each(np.maximum(rows, sampled), distinct, sampled, np.array(of_half) * sampled / 2)


def _coded(layout: LayoutSpec, path: Path, group: _SampleValues, page: _SampleValues, entry: float) -> Coded:
    """Return whether a writer dictionary-encodes a column.

    `group`, `page`: contents of a row group, and of its first page.
    `entry`: bytes of a dictionary entry.
    """
    without = {*layout.bloom, *(name for name, has in layout.dictionary.items() if not has)}
    if ".".join(path).casefold() in {name.casefold() for name in without}:
        return Coded(group.values, is_coded=False)
    pays = dictionary_pays(page.rows, page.values, entry)
    return Coded(group.values, is_coded=pays and group.values * entry <= DICTIONARY_LIMIT)


def _distinct(codes: NDArray[np.int64], most: int) -> float:
    """Return the number of distinct codes, without null."""
    met = np.zeros(most + 2, np.bool_)
    met[codes + 1] = True
    return float(np.count_nonzero(met[1:]))


def _size(data: float, dictionary: float, rows: float, *, is_coded: bool) -> Size:
    worth = max(ALWAYS_WORTH, (dictionary + rows * data) / 2)
    return Size(data, dictionary, is_coded and 0 < dictionary <= worth)


class _Encoded(NamedTuple):
    """Measured bytes of an encoded column.

    `data`: bytes per row.
    `entry`: bytes of a dictionary entry.
    """

    data: float
    entry: float


class _Codes(NamedTuple):
    """The values of a column as codes: 0 to `distinct` - 1, and -1 for null.

    `entry`: bytes of a dictionary entry for strings, else 0.
    """

    codes: NDArray[np.int64]
    distinct: int
    entry: float


def _codes(values: pa.ChunkedArray) -> _Codes:
    encoded = values.combine_chunks().dictionary_encode()
    codes = numbers_from(filled(encoded.indices, -1)).astype(np.int64)
    is_text = pa.types.is_string(values.type) or pa.types.is_binary(values.type)
    entry = 4.0 + (pc.mean(pc.binary_length(encoded.dictionary)).as_py() or 0.0) if is_text else 0.0
    return _Codes(codes, len(encoded.dictionary), entry)


@dataclass(frozen=True)
class EncodedRows:
    """Blocks of whole rows to encode in the order of each layout.

    `rows`: the rows, including the columns of directories.
    `keys`: sample of the same rows with the columns that layouts order by.
    `blocks`: number of the first row of each block of adjacent rows.
    `total`: number of rows of the table.

    Sorted rows of a sample have larger gaps between their values than sorted rows of the table, and so compress worse.
    Therefore all blocks, and separately half of the blocks, are encoded, and the bytes per row are extrapolated to the
    whole table.
    """

    rows: pa.Table
    keys: Sample
    blocks: NDArray[np.int64]
    total: int
    _encoded: dict[tuple[str, int, Path, bool], _Encoded] = field(default_factory=dict)
    _orders: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    _values: dict[tuple[str, Path, float], tuple[int, _SampleValues]] = field(default_factory=dict)
    _codes: dict[Path, _Codes | None] = field(default_factory=dict)
    _distinct: dict[Path, float] = field(default_factory=dict)

    def sizes(self, costs: Mapping[Path, ColumnCost], sample: Sample, cut: Cut, layout: LayoutSpec) -> dict[Path, Size]:
        """Return the sizes of columns in a layout.

        Columns that are not among the sampled rows keep their present sizes.
        """
        name, rows = _order_of(layout), cut.total / len(cut.group)
        if name not in self._orders:
            self._orders[name] = cut_of(self.keys, layout, 1.0).order
        coded = {
            path: self._coded((name, path), cut, sample.columns.get(path), costs[path], layout)
            for path in costs
            if path[0] in self.rows.column_names
        }
        keys = {path: (name, layout.page_rows, path, it.is_coded) for path, it in coded.items()}
        self._encode(name, layout, {path: it for path, it in coded.items() if keys[path] not in self._encoded})
        encoded_sizes = {}
        for path, (values, is_coded) in coded.items():
            if keys[path] in self._encoded:
                data, entry = self._encoded[keys[path]]
                encoded_sizes[path] = _size(data, entry * values * is_coded, rows, is_coded=is_coded)
        others = {path: cost for path, cost in costs.items() if path not in encoded_sizes}
        return encoded_sizes | sizes_without_encoding(others, sample, cut, layout)

    def _encode(self, name: str, layout: LayoutSpec, coded: Mapping[Path, Coded]) -> None:
        """Encode columns of all blocks, and of half of the blocks, and extrapolate to the whole table."""
        if not coded:
            return
        order = self._orders[name]
        half = (np.searchsorted(self.blocks, order, "right") - 1) % 2 == 0
        whole, part = (self._write(rows, layout, coded) for rows in (order, order[half]))
        doublings = math.log2(max(self.total / max(len(order), 1), 1.0))
        for path, (data, entry) in whole.items():
            if path in part:
                fall = _fall(data, part[path].data)
                key = name, layout.page_rows, path, coded[path].is_coded
                self._encoded[key] = _Encoded(data * fall**doublings, entry)

    def _coded(
        self, key: tuple[str, Path], cut: Cut, sampled: SampledColumn | None, cost: ColumnCost, layout: LayoutSpec
    ) -> Coded:
        """Estimate whether a column is dictionary-encoded if the rows are in the order of `layout`.

        `key`: name of the order, and path of the column.
        `sampled`: the sampled column. None if no query filters on the column, whose values are then read from the
        blocks.
        """
        name, path = key
        column = (
            self._column(path)
            if sampled is None
            else _Codes(sampled.codes, len(sampled.values), cost.entry_of(sampled.values))
        )
        if column is None:
            return Coded(0.0, is_coded=False)
        order, counted = self._orders[name] if sampled is None else cut.order, []
        for rows, most in _rows_of(cut, layout):
            cached = self._values.get((*key, rows))
            if cached is None or cached[0] < len(order):
                parts = _windows(order, rows / self.total) if sampled is None else _first_rows(cut, most)
                cached = len(order), _mean([column.codes[it] for it in parts], column.distinct, rows)
                self._values[*key, rows] = cached
            counted.append(cached[1])
        if cut.rate < 1:
            counted = [it._replace(values=self._at_most(it, path)) for it in counted]
        group, page = counted
        return _coded(layout, path, group, page, column.entry or cost.entry)

    def _at_most(self, counted: _SampleValues, path: Path) -> float:
        """Limit an estimate of distinct values to the number that equally many random rows of the table would have."""
        values = max(1.0, self._distinct_in_table(path))
        return (
            min(counted.values, -values * math.expm1(-counted.rows / values)) if values < math.inf else counted.values
        )

    def _distinct_in_table(self, path: Path) -> float:
        """Estimate the number of distinct values of a column in the whole table; infinity if the blocks are too small.

        All blocks are used, because together they have more rows than a row group.
        """
        if path not in self._distinct:
            column = self._column(path)
            self._distinct[path] = math.inf
            if column is not None and len(column.codes) >= _ENOUGH:
                half = (np.searchsorted(self.blocks, np.arange(len(column.codes)), "right") - 1) % 2 == 0
                counts = (_distinct(codes, column.distinct) for codes in (column.codes, column.codes[half]))
                of_all, of_half = (np.array([count]) for count in counts)
                total = distinct_in_each(np.array([float(self.total)]), of_all, np.array([float(len(half))]), of_half)
                self._distinct[path] = float(total[0])
        return self._distinct[path]

    def _column(self, path: Path) -> _Codes | None:
        """Return the codes of a column; None for a column in lists or maps."""
        if path not in self._codes:
            values = _leaf(self.rows, path)
            self._codes[path] = None if values is None else _codes(values)
        return self._codes[path]

    def _write(self, order: NDArray[np.int64], layout: LayoutSpec, coded: Mapping[Path, Coded]) -> dict[Path, _Encoded]:
        names = list(dict.fromkeys(path[0] for path in coded))
        rows, sink = self.rows.select(names).take(from_numpy(order)), pa.BufferOutputStream()
        pq.write_table(
            rows,
            sink,
            row_group_size=max(len(rows), 1),
            use_dictionary=[".".join(path) for path, it in coded.items() if it.is_coded],
            **page_options(layout),
        )
        paths = {".".join(path): path for path in coded}
        group, encoded = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0), {}
        for i in range(group.num_columns):
            chunk = group.column(i)
            path, dictionary, entry = paths.get(chunk.path_in_schema), 0, 0.0
            if path is None:
                continue
            if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
                dictionary = chunk.data_page_offset - chunk.dictionary_page_offset
                column = self._column(path)
                count = 1.0 if column is None else _distinct(column.codes[order], column.distinct)
                entry = dictionary / max(count, 1.0)
            encoded[path] = _Encoded((chunk.total_compressed_size - dictionary) / max(len(rows), 1), entry)
        return encoded


def _order_of(layout: LayoutSpec) -> str:
    """Return a key that is equal for layouts that give rows the same order."""
    order = replace(layout, bloom={}, dictionary={}, row_group_rows=None, row_group_bytes=1, page_rows=1)
    return repr(replace(order, target_file_bytes=1, files=None))


def page_options(layout: LayoutSpec) -> dict[str, Any]:
    """Return Arrow's writer options for the pages of a layout."""
    return {
        "max_rows_per_page": layout.page_rows,
        "write_batch_size": min(_ROWS_AT_ONCE, layout.page_rows),
        "data_page_size": layout.page_bytes,
        "compression": layout.compression if layout.compression != "uncompressed" else "none",
        "compression_level": layout.compression_level or (_ZSTD_LEVEL if layout.compression == "zstd" else None),
    }


def _leaf(rows: pa.Table, path: Path) -> pa.ChunkedArray | None:
    """Return the values of a column, perhaps inside structs; None for a column in lists or maps."""
    values = rows.column(path[0])
    for name in path[1:]:
        if not pa.types.is_struct(values.type):
            return None
        values = pc.struct_field(values, name)
    return None if pa.types.is_nested(values.type) else values


def _fall(whole: float, half: float) -> float:
    """Return the factor by which the bytes per row change when the number of rows doubles."""
    fall = whole / max(half, 1e-9)
    return 1.0 if fall > _NO_CHANGE else max(fall, 0.5)
