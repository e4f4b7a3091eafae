"""Write Arrow data to the Parquet files of a table: the files of a partition hold rows of that partition alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.errors import RefusedCommit, UnsupportedTable
from deltalog.maintenance.file_changes import publish, staged
from deltalog.stats.footer_statistics import NewFile
from deltalog.table.arrow_schema import arrow_schema
from deltalog.table.data_paths import data_directory
from deltalog.table.types import schema_text
from parquet_core.arrow_arrays import numbers_from
from parquet_core.errors import StorageFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deltalog.table.schema import TableSchema

_TIMES = {"timestamp": "%Y-%m-%dT%H:%M:%SZ", "timestamp_ntz": "%Y-%m-%d %H:%M:%S"}


class _Part(NamedTuple):
    """Rows of one partition, without its columns, and the texts of its values by column."""

    rows: pa.Table
    values: dict[str, str | None]


def write_files(
    location: str,
    schema: TableSchema,
    data: pa.Table | pa.RecordBatchReader,
    *,
    properties: Mapping[str, str],
    rows_a_file: int,
    written: list[str],
) -> Iterator[NewFile]:
    """Write rows and yield the files, of at most `rows_a_file` rows; `written` takes the path of each.

    `properties`: those of the table, which decide where files go.

    Raises RefusedCommit for data that are not those of the table, before anything of them is written.
    """
    logical, stored = (arrow_schema(schema, stored=stored, location=location) for stored in (False, True))
    if any(pa.types.is_binary(logical.field(name).type) for name in schema.partition_columns):
        raise UnsupportedTable(f"{location}: a partition column is binary, which is not written here; write with Spark")
    _check_columns(logical, data.schema, location)
    chosen = [i for i, name in enumerate(logical.names) if name not in schema.partition_columns]
    of_files = pa.schema([stored.field(i) for i in chosen])
    for some in _pieces(data, rows_a_file):
        for part in _parts(_conformed(some, logical, location), schema):
            name = f"{data_directory(schema, part.values, properties)}write-{uuid4().hex}.parquet"
            path = f"{location.rstrip('/')}/{name}"
            written.append(path)
            _write(part.rows, of_files, path)
            yield NewFile(name, part.values)


def _pieces(data: pa.Table | pa.RecordBatchReader, most: int) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in data.to_batches(max_chunksize=most) if isinstance(data, pa.Table) else data:
        for first in range(0, batch.num_rows, most):
            some = batch.slice(first, most)
            if waiting and sum(map(len, waiting)) + len(some) > most:
                yield pa.Table.from_batches(waiting)
                waiting = []
            waiting.append(some)
    if waiting:
        yield pa.Table.from_batches(waiting)


def _check_columns(logical: pa.Schema, given: pa.Schema, location: str) -> None:
    """Refuse columns that the table lacks or has of another type, and required ones that are not given."""
    for field in given:
        if field.name not in logical.names or given.names.count(field.name) > 1:
            raise RefusedCommit(f"{location}: the table has no one column {field.name}; leave it out, or add it first")
        wanted = logical.field(field.name)
        if _shape(wanted) != _shape(field):
            raise RefusedCommit(f"{location}: column {field.name} is {wanted.type} and not {field.type}; cast it")
    for field in logical:
        if field.name not in given.names and not field.nullable:
            raise RefusedCommit(f"{location}: column {field.name} must not be null; give its values")


def _shape(field: pa.Field) -> str:
    """Return the Delta type of a field, with everything nullable."""
    schema_json = schema_text(pa.schema([field]))
    return re.sub(r'("nullable"|"containsNull"|"valueContainsNull"):false', r"\1:true", schema_json)


def _conformed(data: pa.Table, logical: pa.Schema, location: str) -> pa.Table:
    """Return the columns of the table in its order; null where they are not given."""
    columns = []
    for field in logical:
        try:
            column = (
                data.column(field.name).cast(field.type)
                if field.name in data.column_names
                else pa.chunked_array([pa.nulls(len(data), field.type)])
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise RefusedCommit(
                f"{location}: column {field.name} holds what {field.type} does not ({error}); cast it"
            ) from None
        if column.null_count and not field.nullable:
            raise RefusedCommit(
                f"{location}: column {field.name} must not be null, and {column.null_count:,} of its values are; leave "
                "those rows out"
            )
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=logical)


def _parts(data: pa.Table, schema: TableSchema) -> Iterator[_Part]:
    names = list(schema.partition_columns)
    if not names:
        yield _Part(data, {})
        return
    coded = [data.column(name).combine_chunks().dictionary_encode(null_encoding="encode") for name in names]
    codes = np.stack([numbers_from(column.indices).astype(np.int64) for column in coded])
    partitions, of_row = np.unique(codes, axis=1, return_inverse=True)
    order = np.argsort(of_row.reshape(-1), kind="stable")
    stops = np.cumsum(np.bincount(of_row.reshape(-1)))
    kinds = {column.leaf.path[0]: column.kind for column in schema.columns}
    rows = data.drop_columns(names)
    for i, stop in enumerate(stops.tolist()):
        values = {
            name: partition_text(column.dictionary[int(code)], kinds[name])
            for name, column, code in zip(names, coded, partitions[:, i].tolist(), strict=True)
        }
        yield _Part(rows.take(pa.array(order[0 if i == 0 else int(stops[i - 1]) : stop])), values)


def partition_text(value: pa.Scalar, kind: str) -> str | None:
    """Return a partition value as the protocol writes it.

    >>> partition_text(pa.scalar(True), "boolean"), partition_text(pa.scalar(None, pa.string()), "string")
    ('true', None)
    """
    if not value.is_valid:
        return None
    if kind in _TIMES:
        return str(pc.strftime(value, format=_TIMES[kind]).as_py())
    if kind == "boolean":
        return "true" if value.as_py() else "false"
    if kind in {"float", "double"}:
        text = str(np.float32(value.as_py()) if kind == "float" else value.as_py())
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(text, text)
    return f"{value.as_py():f}" if kind.startswith("decimal") else str(value.as_py())


class _Renamed:
    """A batch under the names, numbers and nullability of another schema of the same types, without a copy."""

    def __init__(self, batch: pa.RecordBatch, schema: pa.Schema) -> None:
        self._batch, self._schema = batch, schema

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self._schema.__arrow_c_schema__(), self._batch.__arrow_c_array__()[1]


def _write(rows: pa.Table, schema: pa.Schema, path: str) -> None:
    import pyarrow.parquet as pq

    with staged(path) as temporary:
        with pq.ParquetWriter(
            temporary, schema, compression="zstd", write_page_index=True, store_schema=False
        ) as writer:
            for batch in rows.combine_chunks().to_batches():
                writer.write_batch(pa.record_batch(_Renamed(batch, schema)))
        if not publish(temporary, path):
            raise StorageFailure(f"{path}: there is a file of this name; write again")
