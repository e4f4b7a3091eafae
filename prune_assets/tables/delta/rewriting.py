"""Rewrite some files of a Delta table.

This module decides which versions allow a rewrite, and how the new files are clustered. New files are moved to
partition directories, from which some readers take partition values.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, uuid5

from parquet_core.errors import LayoutError
from parquet_core.storage import is_remote
from prune_assets.spark.columns import quoted
from prune_assets.tables.delta.inspection import clustering_paths
from prune_assets.tables.rewriting import GROUP, Rewritten, name_in_group, write_groups
from prune_assets.tables.same_partitions import check_same_partitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from deltalog.log.actions import FullAdd
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.stats.footer_statistics import NewFile
    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.storage import DataFile
    from prune_assets.tables.delta.reading import ReadableFile
    from prune_assets.tables.delta.table import DeltaTable
    from prune_assets.tables.rewriting import Rewrite

_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def rewrite_version(spark: SparkSession, table: DeltaTable, rewrite: Rewrite) -> Rewritten:
    """Rewrite files of a version, and commit without a data change."""
    import deltalog
    from prune_assets.tables.delta.reading import live_files
    from prune_assets.tables.delta.writing import DELTA_OPTIONS, as_stored, own_directory

    def stored(frame: DataFrame, options: Mapping[str, str]) -> tuple[DataFrame, dict[str, str]]:
        renamed, of_files = as_stored(frame, options, snapshot.schema)
        return renamed, of_files | DELTA_OPTIONS

    snapshot = table.snapshot
    live = live_files(table, rewrite.index, rewrite.numbers)
    values = {group: file.values for group, file in zip(rewrite.groups, live, strict=True)}
    vectors = [file.vector for file in live if file.vector is not None]
    paths = snapshot.paths()
    with own_directory(snapshot.table) as directory:
        written = write_groups(_open(spark, table, live, rewrite), directory, rewrite, stored=stored)
        placed = _put_into_partitions(written, directory, snapshot, values)
        adds = deltalog.adds_of(
            snapshot.table,
            snapshot.schema,
            list(placed.values()),
            properties=snapshot.properties,
            domains=snapshot.domains,
            data_change=False,
        )
        deltalog.compact(
            snapshot,
            removes=[paths[file_number] for file_number in rewrite.numbers],
            adds=_tag_clustered(adds, snapshot),
            parameters=_parameters(rewrite.where, snapshot),
            metrics=_metrics(adds, rewrite.files)
            | {
                "numDeletionVectorsRemoved": len(vectors),
                "numDeletionVectorRowsRemoved": sum(vector.cardinality for vector in vectors),
            },
        )
    sizes = {f"{snapshot.table.rstrip('/')}/{placed[path].path}": size for path, size in written.items()}
    return Rewritten(sizes, frozenset(file.path for file in rewrite.files))


def _open(spark: SparkSession, table: DeltaTable, live: Sequence[ReadableFile], rewrite: Rewrite) -> DataFrame:
    """Open the files to rewrite, with the table's columns and the group of each row's file."""
    from prune_assets.tables.delta.reading import open_live

    return open_live(spark, table, live, labels=rewrite.groups, label=GROUP)


def _put_into_partitions(
    written: Iterable[str], directory: str, snapshot: Snapshot, values: Mapping[int, Sequence[str | None]]
) -> dict[str, NewFile]:
    """Move new files from group directories to partition directories; return their new paths by their old ones.

    New files have the partition values of the files that they replace.
    """
    import deltalog
    from deltalog.table.data_paths import data_directory
    from parquet_core.storage import move_files

    target_directories, renamed = {}, {}
    for path in written:
        group, _, name = path.removeprefix(f"{directory}/{GROUP}=").partition("/")
        if int(group) not in target_directories:
            value_strings = [value or None for value in values[int(group)]]
            of_partition = dict(zip(snapshot.schema.partition_columns, value_strings, strict=True))
            target_directories[int(group)] = (
                data_directory(snapshot.schema, of_partition, snapshot.properties),
                of_partition,
            )
        prefix, of_partition = target_directories[int(group)]
        below = f"{directory[len(snapshot.table.rstrip('/')) + 1 :]}/{prefix}{name_in_group(name, group)}"
        renamed[path] = deltalog.NewFile(below, of_partition)
    move_files({path: f"{snapshot.table.rstrip('/')}/{file.path}" for path, file in renamed.items()})
    if not is_remote(directory):
        for parent in {Path(path).parent for path in renamed}:
            shutil.rmtree(parent)  # deletes Hadoop's checksum files too
    return renamed


def _tag_clustered(adds: Sequence[FullAdd], snapshot: Snapshot) -> list[FullAdd]:
    """Tag files as clustered, so that OPTIMIZE of delta-spark does not rewrite them.

    OPTIMIZE rewrites no file if all files of a table are in one ZCube. The tag therefore names one ZCube per table and
    clustering columns. Source: `ZCubeInfo` and `ClusteringStrategy` of delta-spark.
    """
    import msgspec

    columns = clustered_by(snapshot)
    if not columns:
        return list(adds)
    columns_json = json.dumps(columns, separators=(",", ":"))
    tags = {
        "ZCUBE_ID": str(uuid5(NAMESPACE_OID, f"{snapshot.metadata.id} {columns_json}")),
        "ZCUBE_ZORDER_BY": columns_json,
    }
    return [msgspec.structs.replace(add, tags=tags, clustering_provider="liquid") for add in adds]


def _parameters(where: str | None, snapshot: Snapshot) -> dict[str, object]:
    columns = clustered_by(snapshot)
    predicate = json.dumps([] if where is None else [where])
    parameters = {"predicate": predicate, "zOrderBy": "[]", "clusterBy": json.dumps(columns), "auto": False}
    return parameters | ({"isFull": False} if columns else {})


def _metrics(adds: Sequence[FullAdd], files: Sequence[DataFile]) -> dict[str, int]:
    """Return the metrics that OPTIMIZE of delta-spark writes to the history."""
    import numpy as np

    sizes = np.sort([add.size for add in adds]) if adds else np.zeros(1, np.int64)
    shares = {"min": 0.0, "p25": 0.25, "p50": 0.5, "p75": 0.75, "max": 1.0}
    quantiles = {f"{name}FileSize": int(sizes[int(share * (len(sizes) - 1))]) for name, share in shares.items()}
    return {
        "numAddedFiles": len(adds),
        "numRemovedFiles": len(files),
        "numAddedBytes": sum(add.size for add in adds),
        "numRemovedBytes": sum(file.size for file in files),
        **quantiles,
    }


def check_rewrite(table: DeltaTable, layout: LayoutSpec) -> None:
    """Refuse table features and layout keys that a rewrite does not support, before Spark starts."""
    import deltalog

    snapshot = table.snapshot
    deltalog.check_compactable(snapshot)
    check_same_partitions(layout, snapshot.schema.partition_columns, snapshot.table)
    mine = {_quote_name(name).casefold() for name in layout.sort_columns}
    for name in clustered_by(snapshot):
        if name.casefold() not in mine:
            raise LayoutError(
                f"{snapshot.table}: the table is clustered by {name}, which sort_by lacks: OPTIMIZE of delta-spark and "
                f"this one would undo each other; add {name} to sort_by, or cluster the table by the columns of sort_by"
            )


def clustered_by(snapshot: Snapshot) -> list[str]:
    """Return the clustering columns of a Delta table in the spelling of delta-spark's tags."""
    return [".".join(map(_quote_name, path)) for path in clustering_paths(snapshot)]


def _quote_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)
