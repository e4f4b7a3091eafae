"""Parquet files of checkpoints, read by column and row group."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.errors import MalformedLog
from deltalog.log.actions import CheckpointMetadata, DomainMetadata, Line, Metadata, Protocol, Sidecar, Transaction
from deltalog.log.file_block import BATCH_FILES, VECTOR_TYPE, FileBlock, StatisticsBatch, texts_of_map
from deltalog.log.paths import canonical_paths, path_array
from parquet_core.arrow_arrays import filled, flags_from, from_numpy, numbers_from
from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.fix import Fix
from parquet_core.format.leaf_type import Physical
from parquet_core.values import Footer, ValueReader, open_values, read_arrow_footers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_core.storage import DataFile, Traffic

    _Take = Callable[[pa.StructArray, NDArray[np.int64]], StatisticsBatch]

# Every action takes some bytes, however well it compresses; a file that claims more rows per byte is damaged.
_ROWS_PER_BYTE = 64
_LEAST_ROWS = 1 << 16
_FILE_COLUMNS = ("path", "size", "modificationTime", "partitionValues", "deletionVector")
_OTHER_ACTIONS: dict[str, tuple[str, Any]] = {
    "protocol": ("protocol", Protocol),
    "metaData": ("meta_data", Metadata),
    "txn": ("txn", Transaction),
    "domainMetadata": ("domain_metadata", DomainMetadata),
    "sidecar": ("sidecar", Sidecar),
    "checkpointMetadata": ("checkpoint_metadata", CheckpointMetadata),
}
_STORAGE_TYPES = path_array(["u", "p", "i"])
_PARSED = ("add", "stats_parsed")
_INSTANT = pa.timestamp("us", "UTC")
_PLAIN = re.compile(r"\w+", re.ASCII)
RESTORE = Fix("restore the checkpoint or remove it")


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """One Parquet file of a checkpoint.

    It is opened once for its footer, and again for each read.
    """

    file: DataFile
    traffic: Traffic
    _footer: list[Footer] = field(default_factory=list)

    @contextmanager
    def _opened(self) -> Iterator[ValueReader]:
        """Open the file; any error becomes MalformedLog."""
        try:
            # A writer that creates files by hard links changes the ctime when it removes the temporary name: ignore the
            # ctime.
            named = self.file._replace(changed_ns=0)
            if not self._footer:
                (footer,) = read_arrow_footers([named], traffic=self.traffic)
                self._check(footer)
                self._footer.append(footer)
            with open_values(named, traffic=self.traffic, footer=self._footer[0]) as opened:
                yield opened
        except (MalformedFile, UnsupportedFeature) as error:
            raise MalformedLog(error.problem, RESTORE) from None
        except (pa.ArrowException, ValueError, KeyError, IndexError, MemoryError, msgspec.MsgspecError) as error:
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            raise MalformedLog(f"{self.file.path}: {reason}", RESTORE) from None

    def _check(self, footer: Footer) -> None:
        most = max(_LEAST_ROWS, self.file.size * _ROWS_PER_BYTE)
        if footer.num_rows > most:
            raise ValueError(f"{footer.num_rows} rows in {self.file.size} bytes")

    def footer(self) -> Footer:
        """Return the footer."""
        if not self._footer:
            with self._opened():
                pass
        return self._footer[0]

    def batches(self, wanted: Mapping[str, Sequence[str]], size: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of `size` rows with the wanted fields of actions.

        Fields that the file lacks are left out.
        """
        with self._opened() as opened:
            schema = opened.schema
            names = [f"{name}.{part}" for name in wanted for part in wanted[name] if part in _fields(schema, name)]
            if names:
                yield from opened.batches(opened.row_groups, names, rows=size)

    def other_actions(self) -> list[Line]:
        """Return all actions except file actions."""
        lines: list[Line] = []
        with self._opened() as opened:
            names = [name for name in _OTHER_ACTIONS if name in opened.schema.names]
            for group in opened.row_groups:
                lines += self._other_lines(opened, group, names)
        return lines

    def _other_lines(self, opened: ValueReader, group: int, names: list[str]) -> Iterator[Line]:
        # Almost all row groups hold only file actions, so one field of each other action is probed. Footers count nulls
        # too, but pyarrow aborts the process on some damaged footers.
        probes = [f"{name}.{_first_field(opened.schema, name)}" for name in names]
        probed = opened.table(group, probes)
        names = [name for name in names if probed.column(name).null_count < len(probed)]
        if not names:
            return
        table = opened.table(group, names)
        for name in names:
            column = table.column(name)
            for row in column.filter(pc.is_valid(column)).to_pylist():
                yield _line(name, row)

    def row_groups(self) -> range:
        """Return the indexes of row groups that may hold files; empty without an `add` column."""
        footer = self.footer()
        has_files = any(leaf.name.startswith("add.") for leaf in footer.leaves)
        return range(len(footer.row_counts) if has_files else 0)

    def files(self, group: int) -> FileBlock:
        """Return the `add` actions of a row group as a block."""
        with self._opened() as opened:
            fields = _fields(opened.schema, "add")
            names = [f"add.{name}" for name in _FILE_COLUMNS if name in fields]
            return self._block(opened, group, names, fields)

    def _block(self, opened: ValueReader, group: int, names: list[str], fields: set[str]) -> FileBlock:
        # Partition keys and values repeat, so they are read dictionary-encoded.
        coded = [leaf.name for leaf in opened.footer.leaves if leaf.name.startswith("add.partitionValues.")]
        column = opened.table(group, names, coded=coded).column("add")
        adds: Any = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        path = pc.struct_field(adds, "path")
        if not pa.types.is_string(path.type):
            raise ValueError("add.path is not a string")
        path.validate(full=True)
        there = flags_from(path.is_valid())
        rows = np.flatnonzero(there)
        if len(rows) < len(adds):
            adds = adds.filter(from_numpy(there))
            path = pc.struct_field(adds, "path")
        size = _int64(adds, "size", fields)
        if size is None or (len(size) and (size.min() < 0)):
            raise ValueError("a file of the table has no size, or less than 0 bytes")
        modified = _int64(adds, "modificationTime", fields)
        canonical = canonical_paths(path)
        return FileBlock(
            path=canonical,
            written=None if canonical is path else path,
            size=size,
            modified=np.zeros(len(adds), np.int64) if modified is None else modified,
            partition=_partition(adds, fields),
            vectors=_vectors(adds, fields),
            statistics=CheckpointStatistics(self, group, rows),
        )


def _line(name: str, row: dict[str, Any]) -> Line:
    slot, action_type = _OTHER_ACTIONS[name]
    if isinstance(row.get("configuration"), list):
        row["configuration"] = dict(row["configuration"])
    given = {key: value for key, value in row.items() if value is not None}
    return Line(**{slot: msgspec.convert(given, action_type, strict=False)})


def _first_field(schema: pa.Schema, name: str) -> str:
    """Return the first non-nested field of an action. Raises ValueError if there is no such field."""
    arrow_type = schema.field(name).type
    plain = (
        [child.name for child in arrow_type if not pa.types.is_nested(child.type)]
        if pa.types.is_struct(arrow_type)
        else []
    )
    if schema.names.count(name) > 1 or not plain:
        raise ValueError(f"the column {name} is not an action")
    return str(plain[0])


def _fields(schema: pa.Schema, name: str) -> set[str]:
    if name not in schema.names:
        return set()
    if schema.names.count(name) > 1 or not pa.types.is_struct(schema.field(name).type):
        raise ValueError(f"the column {name} is not a struct")
    return {child.name for child in schema.field(name).type}


def _int64(adds: pa.StructArray, name: str, fields: set[str]) -> NDArray[np.int64] | None:
    if name not in fields:
        return None
    array = pc.struct_field(adds, name)
    if array.null_count:
        raise ValueError(f"a file of the table has no {name}")
    return numbers_from(array.cast(pa.int64()))


def _partition(adds: pa.StructArray, fields: set[str]) -> dict[str, Any]:
    if "partitionValues" not in fields:
        return {}
    values = pc.struct_field(adds, "partitionValues")
    if not pa.types.is_map(values.type):
        raise ValueError("add.partitionValues is not a map")
    return texts_of_map(values)


def _vectors(adds: pa.StructArray, fields: set[str]) -> pa.StructArray | None:
    if "deletionVector" not in fields:
        return None
    vectors = pc.struct_field(adds, "deletionVector")
    if vectors.null_count == len(vectors):
        return None
    children = {child.name: pc.struct_field(vectors, child.name).cast(child.type) for child in VECTOR_TYPE}
    for name, child in children.items():
        if name != "offset" and child.null_count > vectors.null_count:
            raise ValueError(f"a deletion vector has no {name}")
    for name in ("storageType", "pathOrInlineDv"):
        children[name].validate(full=True)
    if not pc.all(pc.is_in(children["storageType"].drop_null(), value_set=_STORAGE_TYPES)).as_py():
        raise ValueError("a deletion vector of an unknown storage type")
    for name in ("offset", "sizeInBytes", "cardinality"):
        if pc.any(pc.less(children[name], 0)).as_py():
            raise ValueError(f"a deletion vector with a negative {name}")
    return pa.StructArray.from_arrays(list(children.values()), fields=list(VECTOR_TYPE), mask=vectors.is_null())


@dataclass(frozen=True, slots=True)
class CheckpointStatistics:
    """Statistics of the files in one row group.

    `rows`: for each file, the index of its row in the row group.
    """

    source: CheckpointFile
    group: int
    rows: NDArray[np.int64]

    def take(self, files: NDArray[np.int64]) -> CheckpointStatistics:
        """Return the statistics of chosen files. `files`: ascending indices."""
        return replace(self, rows=self.rows[files])

    def read(self, columns: Sequence[tuple[str, ...]], wanted: NDArray[np.bool_]) -> Iterator[StatisticsBatch]:
        """Yield the statistics of columns in batches.

        Parsed statistics (`stats_parsed`) are preferred: they equal the JSON text and are read faster. The text is read
        for files without parsed statistics, and for files whose text names a column that `stats_parsed` lacks.
        """
        with self.source._opened() as opened:  # noqa: SLF001 - same module
            fields = _fields(opened.schema, "add")
            silent = wanted.copy()
            for names, take in _forms(opened, fields, columns):
                if silent.any():
                    for batch in self._batches(opened, names, silent.copy(), take):
                        silent[batch.positions] = False
                        yield batch

    def _batches(
        self, opened: ValueReader, names: list[str], wanted: NDArray[np.bool_], take: _Take
    ) -> Iterator[StatisticsBatch]:
        first = 0
        for batch in opened.batches([self.group], names, rows=BATCH_FILES):
            here = slice(*np.searchsorted(self.rows, [first, first + len(batch)]))
            positions = np.arange(here.start, here.stop)[wanted[here]]
            if len(positions):
                adds = batch.column("add").take(from_numpy(self.rows[positions] - first))
                chosen = take(adds, positions)
                if len(chosen.positions):
                    yield chosen
            first += len(batch)


def _forms(
    opened: ValueReader, fields: set[str], columns: Sequence[tuple[str, ...]]
) -> Iterator[tuple[list[str], _Take]]:
    """Yield each set of columns to read, in order, with the function that extracts statistics from a batch."""
    struct_type = opened.schema.field("add").type.field("stats_parsed").type if "stats_parsed" in fields else pa.null()
    structs = _has(struct_type, ("numRecords",))
    stored = [
        path for path in columns if _has(struct_type, ("minValues", *path)) or _has(struct_type, ("nullCount", *path))
    ]
    missing = [path[-1] for path in columns if path not in stored]
    if structs and missing and "stats" in fields:
        yield ["add.stats"], partial(_text_batch, naming=missing)
    if structs:
        parts = ("minValues", "maxValues", "nullCount")
        names = [f"add.stats_parsed.{part}.{'.'.join(path)}" for part in parts for path in stored]
        int96 = {leaf.name for leaf in opened.footer.leaves if leaf.physical == Physical.INT96}
        yield ["add.stats_parsed.numRecords", *names], partial(_parsed_batch, int96=int96)
    if "stats" in fields:
        yield ["add.stats"], _text_batch


def _has(arrow_type: pa.DataType, path: tuple[str, ...]) -> bool:
    for name in path:
        if not pa.types.is_struct(arrow_type) or arrow_type.get_field_index(name) < 0:
            return False
        arrow_type = arrow_type.field(arrow_type.get_field_index(name)).type
    return True


def _text_batch(
    adds: pa.StructArray, positions: NDArray[np.int64], naming: Sequence[str] | None = None
) -> StatisticsBatch:
    """Return the JSON texts of a batch.

    `naming`: leave out texts that contain none of these names. None to keep all texts.
    """
    stats_json = pc.struct_field(adds, "stats")
    if not (pa.types.is_string(stats_json.type) or pa.types.is_large_string(stats_json.type)):
        stats_json = pa.nulls(len(adds), pa.string())
    # The texts are read as bytes, so that invalid UTF-8 only loses the statistics of its own file.
    stats_json = stats_json.cast(pa.large_binary())
    there = stats_json.is_valid()
    # JSON may escape other characters, so only plain names can be searched in the text.
    if naming is not None and all(_PLAIN.fullmatch(name) for name in naming):
        there = filled(pc.match_substring_regex(stats_json, '"(' + "|".join(naming) + ')"'), value=False)
    return StatisticsBatch(positions[flags_from(there)], stats_json.filter(there), None)


def _parsed_batch(adds: pa.StructArray, positions: NDArray[np.int64], int96: set[str]) -> StatisticsBatch:
    parsed = pc.struct_field(adds, "stats_parsed")
    if int96:
        parsed = parsed.cast(_as_instants(parsed.type, _PARSED, int96))
    there = flags_from(pc.struct_field(parsed, "numRecords").is_valid())
    return StatisticsBatch(positions[there], None, parsed.filter(from_numpy(there)))


def _as_instants(arrow_type: pa.DataType, path: tuple[str, ...], int96: set[str]) -> pa.DataType:
    """Return the type with time zone UTC for INT96 columns.

    Arrow decodes their instants to timestamps without a zone.
    """
    if pa.types.is_struct(arrow_type):
        return pa.struct([(inner.name, _as_instants(inner.type, (*path, inner.name), int96)) for inner in arrow_type])
    return _INSTANT if ".".join(path) in int96 else arrow_type
