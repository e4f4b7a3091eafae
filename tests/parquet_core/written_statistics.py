"""Decode the raw structs of footers and column indexes field by field, as WrittenStatistics."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from parquet_core.arrow_arrays import flags_from
from parquet_core.dataset.opening import read_dataset
from parquet_core.format.compact import MISSING
from parquet_core.format.plain import PlainValues
from parquet_core.format.written_statistics import WrittenStatistics


def written(entries, *, pages=False, deprecated=True):
    """Build statistics from one dict per entry; a missing key means that the writer did not set the field."""

    def values(name):
        return PlainValues.of([entry.get(name) for entry in entries])

    def counts(name, default=MISSING):
        return np.array([default if entry.get(name) is None else entry[name] for entry in entries], np.int64)

    def exact(name):
        return np.array([-1 if entry.get(name) is None else entry[name] for entry in entries], np.int8)

    rows = counts("rows")
    return WrittenStatistics(
        min_value=values("min"),
        max_value=values("max"),
        deprecated_min=values("old_min") if deprecated and not pages else None,
        deprecated_max=values("old_max") if deprecated and not pages else None,
        null_count=counts("nulls"),
        nan_count=counts("nans"),
        min_exact=exact("min_exact"),
        max_exact=exact("max_exact"),
        num_values=np.array([entry.get("values", entry["rows"]) for entry in entries], np.int64),
        row_count=rows,
        all_null=np.array([entry.get("all_null", False) for entry in entries], np.bool_) if pages else None,
    )


def page_bounds(index, leaf, position):
    """Return the trusted bounds of the pages of one chunk, and where they begin; None without a usable page index."""
    pages = index.page_indexes.read(leaf, np.array([position]))
    return None if pages.reason[0] else (pages.bounds, pages.first_row)


def open_file(path):
    return read_dataset(str(path))


def leaf_arrays(values):
    """Return the arrays of the leaves of a column, in the order of the schema."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return leaf_arrays(values.storage)
    if pa.types.is_map(kind):
        return [*leaf_arrays(values.keys), *leaf_arrays(values.items)]
    if pa.types.is_struct(kind):
        children = [leaf_arrays(pc.struct_field(values, [i])) for i in range(kind.num_fields)]
        return [leaf for child in children for leaf in child]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return leaf_arrays(values.flatten())
    return [values]


def assert_holds(bounds, container, values, *, where):
    """Check the claims about each container against its values and return the number of claims.

    `values[i]` is a value of the container `container[i]`.
    """
    kind = bounds.lower.type
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if pa.types.is_fixed_size_binary(values.type):
        values = values.cast(pa.binary())
    values = values.cast(kind, safe=not pa.types.is_timestamp(kind))
    is_nan = pc.is_nan(values) if pa.types.is_floating(kind) else pa.repeat(pa.scalar(value=False), len(values))
    plain = flags_from(pc.invert(is_nan))
    claims = Counter()
    for name, exactly, compare in (
        ("lower", bounds.min_exact, pc.greater_equal),
        ("upper", bounds.max_exact, pc.less_equal),
    ):
        bound = getattr(bounds, name)
        each = bound.take(pa.array(container))
        assert pc.all(compare(values, each).filter(pa.array(plain))).as_py() is not False, (where, name)
        claims[name] += len(bound) - bound.null_count
        claimed = np.flatnonzero(flags_from(exactly))
        assert set(claimed) <= set(container[plain & flags_from(pc.equal(values, each))]), (
            where,
            name,
            "does not occur",
        )
        claims[f"{name}_exact"] += len(claimed)
    for name, flags in (("null_count", flags_from(pc.is_null(values))), ("nan_count", flags_from(is_nan))):
        claim = getattr(bounds, name)
        actual = pa.array(np.bincount(container[flags], minlength=len(bounds)))
        assert pc.all(pc.equal(claim, actual)).as_py() is not False, (where, name)
        claims[name] += len(claim) - claim.null_count
    return +claims


def assert_file_holds(path):
    """Check the row groups and pages of every leaf of a file; returns the claims made, by leaf."""
    index = open_file(path)
    claims = {leaf.name: Counter() for leaf in index.groups.columns}
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowException:
        return claims  # pyarrow does not read it
    with file:
        for position in range(len(index)):
            for leaves, arrays in _leaves_by_column(file, index, position):
                for leaf, values in zip(leaves, arrays, strict=True):
                    where = (str(path), leaf.name, position)
                    bounds = index.footers.bounds(leaf)
                    if leaf.type is None:
                        assert bounds.lower.null_count == len(bounds), where
                        continue
                    bounds = bounds.take(np.array([position]))
                    claims[leaf.name].update(assert_holds(bounds, np.zeros(len(values), np.int64), values, where=where))
                    claims[leaf.name].update(_page_claims(index, leaf, position, values, where))
    return claims


def _leaves_by_column(file, index, position):
    group = _read(file, position)
    for name in dict.fromkeys(leaf.path[0] for leaf in index.groups.columns):
        leaves = [leaf for leaf in index.groups.columns if leaf.path[0] == name]
        alike = leaf_arrays(pa.array([], file.schema_arrow.field(name).type))
        if len(alike) != len(leaves):
            continue
        rows = _read(file, position, columns=[name]) if group is None else group.select([name])
        if rows is not None:
            yield leaves, leaf_arrays(rows.column(0).combine_chunks())


def _read(file, position, **options):
    """Return a row group; None if pyarrow lacks a codec or an encoding of it."""
    try:
        return file.read_row_group(position, **options)
    except (OSError, pa.ArrowException):
        return None


def _page_claims(index, leaf, position, values, where):
    found = page_bounds(index, leaf, position)
    if found is None or leaf.max_repetition_level:
        return {}
    bounds, first = found
    page = np.repeat(np.arange(len(bounds)), np.diff(first, append=len(values)))
    claims = assert_holds(bounds, page, values, where=(*where, "pages"))
    return {f"page {name}": count for name, count in claims.items()}
