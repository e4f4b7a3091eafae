"""What a Delta table says about its files: the log read, replayed, asked and written, without Spark.

The public names resolve on first use, so that importing this package brings in neither numpy, pyarrow nor msgspec.

Rooms, each of which imports those above it alone:

- `log`: actions, what lies in `_delta_log`, commits, checkpoints, replay;
- `table`: table features, schema, properties;
- `snapshot`: a version as columns of files, its history, its cache on disk;
- `stats`: statistics and partition values as evidence, and as they are written;
- `maintenance`: checkpoints written, the log cleaned up, files vacuumed;
- `transaction`: changes, what is refused of them, and the race for the next version.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltalog.errors import DeltaError
    from deltalog.inspection import inspect_snapshot
    from deltalog.log.deletion_vectors import read_vector, vector_of
    from deltalog.maintenance.clean_log import clean_log
    from deltalog.maintenance.vacuum import orphans, vacuum
    from deltalog.maintenance.write_checkpoint import write_checkpoint
    from deltalog.snapshot.history import history, snapshot_time, versions
    from deltalog.snapshot.opening import open_snapshot, version_at
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.stats.data_skipping import skip_files
    from deltalog.stats.footer_statistics import NewFile, adds_of
    from deltalog.transaction.add_columns import add_columns
    from deltalog.transaction.change import Change, Reads
    from deltalog.transaction.check_change import check_appendable, check_compactable
    from deltalog.transaction.commit import commit
    from deltalog.transaction.create import check_create, create_table
    from deltalog.transaction.delete_rows import delete_rows
    from deltalog.transaction.operations import alter, append, compact, overwrite, replace_partitions, rewrite
    from deltalog.transaction.write_table import write_table

_HOMES = {
    "Change": "transaction.change",
    "DeltaError": "errors",
    "NewFile": "stats.footer_statistics",
    "Reads": "transaction.change",
    "Snapshot": "snapshot.snapshot",
    "add_columns": "transaction.add_columns",
    "adds_of": "stats.footer_statistics",
    "alter": "transaction.operations",
    "append": "transaction.operations",
    "check_appendable": "transaction.check_change",
    "check_compactable": "transaction.check_change",
    "check_create": "transaction.create",
    "clean_log": "maintenance.clean_log",
    "commit": "transaction.commit",
    "compact": "transaction.operations",
    "create_table": "transaction.create",
    "delete_rows": "transaction.delete_rows",
    "history": "snapshot.history",
    "inspect_snapshot": "inspection",
    "open_snapshot": "snapshot.opening",
    "orphans": "maintenance.vacuum",
    "overwrite": "transaction.operations",
    "read_vector": "log.deletion_vectors",
    "replace_partitions": "transaction.operations",
    "rewrite": "transaction.operations",
    "skip_files": "stats.data_skipping",
    "snapshot_time": "snapshot.history",
    "vacuum": "maintenance.vacuum",
    "vector_of": "log.deletion_vectors",
    "version_at": "snapshot.opening",
    "versions": "snapshot.history",
    "write_checkpoint": "maintenance.write_checkpoint",
    "write_table": "transaction.write_table",
}

__all__ = [
    "Change",
    "DeltaError",
    "NewFile",
    "Reads",
    "Snapshot",
    "add_columns",
    "adds_of",
    "alter",
    "append",
    "check_appendable",
    "check_compactable",
    "check_create",
    "clean_log",
    "commit",
    "compact",
    "create_table",
    "delete_rows",
    "history",
    "inspect_snapshot",
    "open_snapshot",
    "orphans",
    "overwrite",
    "read_vector",
    "replace_partitions",
    "rewrite",
    "skip_files",
    "snapshot_time",
    "vacuum",
    "vector_of",
    "version_at",
    "versions",
    "write_checkpoint",
    "write_table",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
