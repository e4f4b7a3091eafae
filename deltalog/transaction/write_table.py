"""Write Arrow data into a table in one call: the files, the checks, the commit."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from deltalog.errors import RefusedCommit, TableExists, UncertainCommit
from deltalog.log.listing import holds_log
from deltalog.maintenance.file_changes import delete_files
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.footer_statistics import adds_of
from deltalog.transaction.check_change import check_appendable
from deltalog.transaction.check_place import check_place
from deltalog.transaction.create import check_create
from deltalog.transaction.create_with_files import OPERATIONS, check_kept_properties, create_with_files
from deltalog.transaction.write_files import write_files
from parquet_core.storage import find_file, is_remote, local_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from deltalog.log.actions import Transaction
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.stats.footer_statistics import NewFile
    from deltalog.transaction.commit import Committed
    from deltalog.transaction.create_with_files import WriteMode

ROWS_A_FILE = 1 << 20


def write_table(
    table: str | os.PathLike[str],
    data: pa.Table | pa.RecordBatchReader,
    *,
    mode: WriteMode = "error",
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    rows_a_file: int = ROWS_A_FILE,
    txn: Transaction | None = None,
) -> Committed:
    """Write Arrow data into a table, new or not, and commit them.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> deltalog.write_table(table, pa.table({"day": ["mon", "tue"], "id": [1, 2]}), partition_by=["day"]).version
    0
    >>> deltalog.write_table(table, pa.table({"day": ["tue"], "id": [3]}), mode="append").version
    1
    >>> deltalog.open_snapshot(table).file_count
    3

    `data`: the columns of the table by name, those that may be null need not be there. Of a reader at most
    `rows_a_file` rows are in memory at once.
    `mode`: what becomes of the rows of a table that is there; "error" writes a new one alone. Where another writer
    creates the table meanwhile, the files are committed to that one; rows that it wrote are never replaced so.
    `partition_by`, `properties`: of a new table; one that is there keeps its own.
    `rows_a_file`: the largest number of rows in a file.
    `txn`: as `append` has it.

    Raises TableExists, RefusedCommit for data that do not fit the table and for a new table among plain Parquet files,
    MetadataChanged for data that do not fit one that was created meanwhile, UnsupportedTable for what is not checked
    here, such as CHECK constraints, generated and identity columns, and as `commit`. Of what fails no file is left.
    """
    given = os.fspath(table)
    location = given if is_remote(given) else local_path(given)
    if not holds_log(location):
        check_place(location)
        schema = check_create(location, data.schema, partition_by=partition_by, properties=properties)

        def create(files: list[NewFile]) -> Committed:
            return create_with_files(location, schema, files, mode=mode, properties=properties, txn=txn)

        return _written(partial(write_files, location, schema, data, properties=properties or {}), rows_a_file, create)
    if mode == "error":
        raise TableExists(f"{location}: there is a table already; give mode='append' or 'overwrite', or another place")
    snapshot = open_snapshot(location)
    _check_kept(snapshot, partition_by, properties)
    check_appendable(snapshot)

    def commit(files: list[NewFile]) -> Committed:
        adds = adds_of(location, snapshot.schema, files, properties=snapshot.properties, domains=snapshot.domains)
        return OPERATIONS[mode](snapshot, adds, txn=txn)

    write = partial(write_files, location, snapshot.schema, data, properties=snapshot.properties)
    return _written(write, rows_a_file, commit)


def _check_kept(snapshot: Snapshot, partition_by: Sequence[str], properties: Mapping[str, str] | None) -> None:
    mine = snapshot.schema.partition_columns
    if partition_by and tuple(partition_by) != mine:
        raise RefusedCommit(
            f"{snapshot.table}: the table is partitioned by {', '.join(mine) or 'nothing'}; leave partition_by out"
        )
    check_kept_properties(snapshot, properties)


def _written(
    write: Callable[..., Iterator[NewFile]], rows_a_file: int, commit: Callable[[list[NewFile]], Committed]
) -> Committed:
    """Write the files and commit them; they are removed where no commit names them."""
    written: list[str] = []
    try:
        done = commit(list(write(rows_a_file=rows_a_file, written=written)))
    except UncertainCommit:
        raise  # a commit may name its files
    except BaseException:
        _remove(written)
        raise
    if not done.written:
        _remove(written)
    return done


def _remove(paths: Sequence[str]) -> None:
    delete_files([file for file in map(find_file, paths) if file is not None])
