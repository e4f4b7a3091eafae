"""Options of Spark's Parquet writer for a layout, bound to the columns of a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError
from parquet_core.layout.sort_key import SortKey, direction_hint
from parquet_core.printable import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql.types import DataType, StructType

    from parquet_core.layout.spec import LayoutSpec

# Types whose values parquet-java hashes and Spark looks up. Booleans are excluded: parquet-java writes an all-zero
# filter for them, by which a reader that hashes booleans would skip every row.
_NUMBERS = {"byte", "short", "integer", "long", "float", "double", "decimal"}
_BLOOM_TYPES = _NUMBERS | {"string", "char", "varchar", "binary", "date", "timestamp", "timestamp_ntz"}
_SORT_TYPES = _BLOOM_TYPES | {"boolean"}
# Types whose values can be restored from a directory name.
_PARTITION_TYPES = _SORT_TYPES - {"float", "double", "binary"}


_GZIP = ("", "BEST_SPEED", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "BEST_COMPRESSION")


@dataclass(frozen=True, slots=True)
class WriteLayout:
    """A layout in the DataFrame's spelling of columns.

    `bloom`, `dictionary`: the layout's values, by dotted leaf path.
    """

    sort_by: tuple[SortKey, ...]
    bloom: dict[str, float]
    partition_by: tuple[str, ...] = ()
    curve_by: tuple[str, ...] = ()
    dictionary: dict[str, bool] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[SortKey, ...]:
        """Sort keys of the rows: partition columns first; the position on a curve is not included."""
        return (*map(SortKey, self.partition_by), *self.sort_by)


def bind_layout(schema: StructType, layout: LayoutSpec, *, case_sensitive: bool) -> WriteLayout:
    """Resolve the columns that a layout names to their exact spelling.

    parquet-java silently ignores an option for `#Col` if the column is `col`. Raises LayoutError for an unknown column,
    and for a column whose type does not support sorting, partitioning or a bloom filter.
    """
    option = next((name for name in ("zorder_by", "hilbert_by") if getattr(layout, name)), "sort_by")
    names = _key(schema, layout.curve_by or layout.sort_columns, option, case_sensitive)
    for name in names:
        _check_type(schema[name].dataType, _SORT_TYPES, f"{option}: {name}", "cannot be sorted with usable bounds")
    partition_by = _key(schema, layout.partition_by, "partition_by", case_sensitive)
    for name in partition_by:
        _check_type(schema[name].dataType, _PARTITION_TYPES, f"partition_by: {name}", "makes no directory names")
    if len(partition_by) == len(schema.fields):
        raise LayoutError(
            f"partition_by: {', '.join(partition_by)} are all columns of the data; leave at least one column out"
        )
    bloom = {_leaf(schema, name, "bloom", case_sensitive): fpp for name, fpp in layout.bloom.items()}
    for name in bloom:
        _check_type(_leaf_type(schema, name), _BLOOM_TYPES, f"bloom: {name}", "cannot have a bloom filter")
    if len(bloom) < len(layout.bloom):
        raise LayoutError(f"bloom: {', '.join(layout.bloom)} names a column twice; name each column once")
    for name in (*names, *(column.split(".")[0] for column in bloom)):
        if name in partition_by:
            raise LayoutError(f"partition_by: {name} is also in {option} or bloom; remove it there")
    dictionary = {_leaf(schema, name, "dictionary", case_sensitive): on for name, on in layout.dictionary.items()}
    if both := next((name for name, on in dictionary.items() if on and name in bloom), None):
        raise LayoutError(
            f"dictionary: {both} is true, but parquet-java writes no bloom filter for a dictionary-encoded "
            "column; choose one of the two"
        )
    if layout.curve_by:
        return WriteLayout((), bloom, partition_by, names, dictionary)
    keys = (key._replace(column=name) for key, name in zip(layout.sort_keys, names, strict=True))
    return WriteLayout(tuple(keys), bloom, partition_by, (), dictionary)


def refuse_unknown_columns(layout: LayoutSpec, names: list[str]) -> None:
    """Raise LayoutError for a layout column that the data lack, ignoring case.

    `names`: top-level columns of the data. `bind_layout` checks the rest of a layout, because it has the types.
    """
    folded_names = {name.casefold() for name in names}
    curve = "zorder_by" if layout.zorder_by else "hilbert_by"
    options: list[tuple[str, Iterable[str]]] = [("sort_by", layout.sort_columns), (curve, layout.curve_by)]
    options += [("partition_by", layout.partition_by), ("bloom", layout.bloom), ("dictionary", layout.dictionary)]
    for option, columns in options:
        for column in columns:
            if not {column.casefold(), column.casefold().partition(".")[0]} & folded_names:
                raise _no_column(option, column, names)


def _key(schema: StructType, names: Sequence[str], option: str, case_sensitive: bool) -> tuple[str, ...]:  # noqa: FBT001 - passed on
    resolved = tuple(_resolve(schema, name, option, case_sensitive)[0] for name in names)
    if len(set(resolved)) < len(resolved):
        raise LayoutError(f"{option}: {', '.join(resolved)} names a column twice; name each column once")
    return resolved


def write_options(
    layout: LayoutSpec, bound: WriteLayout, *, row_group_rows: int | None, distinct: Mapping[str, int]
) -> dict[str, str]:
    """Convert a layout to options of `DataFrameWriter`.

    `row_group_rows`: row limit per row group. None for no limit.
    `distinct`: for each bloom column, the expected number of distinct values in a row group.
    """
    options = {
        "compression": layout.compression,
        "parquet.block.size": layout.row_group_bytes,
        "parquet.page.size": layout.page_bytes,
        "parquet.page.row.count.limit": layout.page_rows,
        "parquet.page.size.row.check.min": _first_size_check(layout),
        "maxRecordsPerFile": 0,  # overrides a limit of the session, which would split the files
    }
    options |= {key: value for key, value in _optional_settings(layout).items() if value is not None}
    options |= {f"parquet.enable.dictionary#{column}": str(on).lower() for column, on in bound.dictionary.items()}
    if row_group_rows is not None:
        options["parquet.block.row.count.limit"] = row_group_rows
    for column, probability in bound.bloom.items():
        options |= {
            f"parquet.bloom.filter.enabled#{column}": "true",
            f"parquet.bloom.filter.fpp#{column}": probability,
            f"parquet.bloom.filter.expected.ndv#{column}": distinct[column],
            # A column chunk that stays dictionary-encoded gets no bloom filter.
            f"parquet.enable.dictionary#{column}": "false",
        }
    return {key: str(value) for key, value in options.items()}


def _optional_settings(layout: LayoutSpec) -> dict[str, object]:
    level = layout.compression_level
    return {
        "parquet.compression.codec.zstd.level": level if layout.compression == "zstd" else None,
        # Hadoop names the gzip level by an enum.
        "zlib.compress.level": _GZIP[level] if layout.compression == "gzip" and level is not None else None,
        "parquet.columnindex.truncate.length": layout.column_index_truncate_length,
        "parquet.statistics.truncate.length": layout.statistics_truncate_length,
    }


def _first_size_check(layout: LayoutSpec) -> int:
    """Return the number of rows before the first size check; the default, 100, is too late for small or wide pages."""
    return max(1, min(100, layout.page_rows, layout.page_bytes >> 13))


def _resolve(schema: StructType, name: str, option: str, case_sensitive: bool) -> tuple[str, DataType]:  # noqa: FBT001 - passed on
    names = schema.fieldNames()
    if name not in names and not case_sensitive:
        same = [other for other in names if other.casefold() == name.casefold()]
        name = same[0] if len(same) == 1 else name
    if name not in names:
        raise _no_column(option, name, names)
    return name, schema[name].dataType


def _no_column(option: str, name: str, names: list[str]) -> LayoutError:
    return LayoutError(f"{option}: no column {name!r}; {direction_hint(name, names) or _did_you_mean(name, names)}")


def _leaf(schema: StructType, name: str, key: str, case_sensitive: bool) -> str:  # noqa: FBT001 - passed on
    """Resolve a column or a struct leaf (`address.city`) to its path in parquet-java."""
    option = f"{key}: {name}"
    if "." in name and name in schema.fieldNames():
        raise LayoutError(f"{option}: parquet-java takes the dot as nesting and ignores the column; rename the column")
    head, *rest = name.split(".")
    first, data_type = _resolve(schema, head, key, case_sensitive)
    path = [first]
    for part in rest:
        if data_type.typeName() != "struct":
            raise LayoutError(f"{option}: {'.'.join(path)} is {data_type.simpleString()}, not a struct; name a column")
        step, data_type = _resolve(data_type, part, f"{key}: {'.'.join(path)}", case_sensitive)  # type: ignore[arg-type]  # a struct, tested above
        path.append(step)
    return ".".join(path)


def _leaf_type(schema: StructType, path: str) -> DataType:
    data_type: DataType = schema
    for part in path.split("."):
        data_type = data_type[part].dataType  # type: ignore[index]  # a struct, tested before
    return data_type


def _check_type(data_type: DataType, allowed: Iterable[str], option: str, verdict: str) -> None:
    shown = data_type.simpleString()
    if data_type.typeName() not in allowed:
        raise LayoutError(f"{option} is {shown}, which {verdict}; leave it out of the layout")
    if shown.startswith("string collate"):
        raise LayoutError(
            f"{option} is {shown}: Parquet bounds and bloom filters compare only bytes; use a plain string"
        )


def _did_you_mean(name: str, names: list[str]) -> str:
    by_fold = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), list(by_fold), n=1)
    if close:
        return f"did you mean {by_fold[close[0]]!r}?"
    return f"the columns are {listed(names)}"
