"""Read, query and write Delta logs without Spark.

Public names are imported on first use, so that importing this package does not import numpy, pyarrow or msgspec.

Subpackages; each imports only those listed above it:

- `log`: actions, listing of `_delta_log`, commits, checkpoints, replay;
- `table`: table features, schema, properties;
- `snapshot`: a version as columns of files, its history, its cache on disk;
- `stats`: statistics and partition values: read to skip files, and written to the log;
- `maintenance`: writing checkpoints, cleaning up the log, vacuuming files;
- `transaction`: changes, their validation, and optimistic commits with conflict checks.

In the examples, `table` is the path of a one-file table, `snapshot` is its latest version, and `new_file` describes
a file that is written but not yet committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.public_names import on_first_use

if TYPE_CHECKING:
    from deltalog.errors import DeltaError as DeltaError
    from deltalog.inspection import inspect_snapshot as inspect_snapshot
    from deltalog.log.deletion_vectors import read_vector as read_vector
    from deltalog.log.deletion_vectors import vector_of as vector_of
    from deltalog.maintenance.clean_log import clean_log as clean_log
    from deltalog.maintenance.vacuum import orphans as orphans
    from deltalog.maintenance.vacuum import vacuum as vacuum
    from deltalog.maintenance.write_checkpoint import write_checkpoint as write_checkpoint
    from deltalog.snapshot.history import history as history
    from deltalog.snapshot.history import snapshot_time as snapshot_time
    from deltalog.snapshot.history import versions as versions
    from deltalog.snapshot.opening import open_snapshot as open_snapshot
    from deltalog.snapshot.opening import version_at as version_at
    from deltalog.snapshot.snapshot import Snapshot as Snapshot
    from deltalog.stats.data_skipping import skip_files as skip_files
    from deltalog.stats.footer_statistics import NewFile as NewFile
    from deltalog.stats.footer_statistics import adds_of as adds_of
    from deltalog.transaction.change import Change as Change
    from deltalog.transaction.change import Reads as Reads
    from deltalog.transaction.check_change import check_appendable as check_appendable
    from deltalog.transaction.check_change import check_compactable as check_compactable
    from deltalog.transaction.commit import commit as commit
    from deltalog.transaction.create import check_create as check_create
    from deltalog.transaction.create import create_table as create_table
    from deltalog.transaction.operations import append as append
    from deltalog.transaction.operations import compact as compact
    from deltalog.transaction.operations import overwrite as overwrite
    from deltalog.transaction.operations import replace_partitions as replace_partitions
    from deltalog.transaction.operations import rewrite as rewrite
else:
    __all__, __getattr__, __dir__ = on_first_use(
        __name__,
        makers=lambda: {
            "Snapshot": "deltalog.open_snapshot(table)",
            "Field": "pyarrow.field(name, type)",
            "NewFile": "deltalog.NewFile(path, partition_values)",
            "TableSchema": "deltalog.open_snapshot(table).schema",
        },
    )
