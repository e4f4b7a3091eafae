"""Rewrite those files of a table that need it, and leave the others alone.

What is picked is written in one job: a column that numbers the groups (`pick.py`) goes before the sort key, and parts
the new files into directories, so that no file holds rows of two groups. Files of a Delta table then move to
directories of their partitions, from which some readers take partition values.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import NAMESPACE_OID, uuid5

import numpy as np

from deltalog.maintenance.file_changes import move_files
from deltalog.table.data_paths import data_directory
from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import MalformedFile, UnsupportedFeature, WrongUse
from parquet_core.format.comparable_values import bounds_type
from parquet_core.printable import redacted
from parquet_core.storage import is_remote, list_data_files, summaries_below
from prune_assets.layout_file import load_layout, naming_layout_file
from prune_assets.maintenance.assess import (
    FILE,
    GROUP,
    OptimizeRequest,
    TableAssessment,
    assess,
    forecast,
    plan_of,
)
from prune_assets.session.columns import column_of
from prune_assets.session.queries.table_schema import escaped
from prune_assets.session.spark_session import naming_jobs
from prune_assets.session.spark_versions import from_arrow, metadata_column
from prune_assets.tables.delta import DeltaTable, has_log
from prune_assets.tables.delta.reading import file_uri, live_files, open_live
from prune_assets.tables.delta.rewriting import clustered_by
from prune_assets.writing.arrange import arrange, write_parquet
from prune_assets.writing.commit import commit
from prune_assets.writing.delta import DELTA_OPTIONS, as_stored, own_directory
from prune_assets.writing.named_table import entry_to_write, tell_catalog
from prune_assets.writing.staging import prove, staging_directory
from prune_assets.writing.table_formats import plain_directory
from prune_assets.writing.write_options import bind_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from deltalog.log.actions import FullAdd
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.stats.footer_statistics import NewFile
    from deltalog.table.schema import TableSchema
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.layout_file import LayoutSource
    from prune_assets.maintenance.result import OptimizeResult

# What the first round makes may be merged or cut once more, where sizes come out otherwise than forecast.
_ROUNDS = 4


def optimize(
    spark: SparkSession | None,
    table: str | os.PathLike[str],
    *,
    layout: LayoutSource,
    where: str | Column | None = None,
    predicates: Sequence[str] = (),
    dry_run: bool = False,
    rows: bool = False,
) -> OptimizeResult:
    """Rewrite the files of a table that are not as its layout says, too small, or full of deleted rows.

    With `spark` a SparkSession; four small files that overlap become one, and then there is nothing to do:

    >>> import tempfile
    >>> import prune_assets as pr
    >>> table, layout = tempfile.mkdtemp(), pr.LayoutSpec(sort_by=["id"], files=1)
    >>> for i in range(4):
    ...     written = pr.write(spark.range(i, 1000, 4), table, layout=layout, format="delta")
    >>> done = pr.optimize(spark, table, layout=layout)
    >>> len(done.picked), done.new_files, done.depth_before, done.depth_after
    (4, 1, 4.0, 1.0)
    >>> len(pr.optimize(spark, table, layout=layout).picked)
    0

    A file is picked when it overlaps with others of its partition on the leading sort key, when more than 5% of its
    rows are deleted, when bounds show that its rows are not in order, when it lacks a bloom filter or a page index of
    the layout, or when it is small, below a quarter of the target size, and merging it with its neighbours at least
    doubles every one of them. The others stay, so that new data cost about what they take themselves.

    `layout`, `where`: as of `write`; the latter are the partitions to consider. `predicates`: of each the bytes that it
    keeps are compared, before and after. `dry_run`: only say what would be done; `spark` may then be None.
    `rows`: read the sort key of the files that are considered where bounds leave the order of their rows open, and pick
    those whose rows are not in order, as `check` finds them (`order.rows`). Every run then reads the key of all files.

    A Delta table keeps its rows: the commit says so (`dataChange` false), concurrent appends stay, and a commit that
    removed a picked file meanwhile makes this one fail, with nothing changed. A plain table is changed as `write`
    changes it. Picked files whose columns have other types than those of the table are refused there.

    Raises LayoutError for a column that the table lacks, WrongUse, CommitConflict, UnsupportedTable for a Delta table
    with row tracking and others that name the feature, UnfinishedWrite, StorageFailure, and what Spark raises.
    """
    source, layout = layout, load_layout(layout)
    entry = entry_to_write(table, spark)
    place = os.fspath(table) if entry is None else entry.location
    if not has_log(place):
        place = str(plain_directory(place))
    request = OptimizeRequest(place, layout, where, spark, rows)
    with naming_layout_file(source):
        first = assess(request)
    told = forecast(first, [plan_of(request, sql, first) for sql in predicates], layout)
    if dry_run:
        return told
    if spark is None:
        raise WrongUse("spark=None: only dry_run=True works without a session; pass a SparkSession")
    with naming_jobs(spark, f"optimize {redacted(place)}"):
        done = _carried_out(spark, request, first, told)
    if entry is not None:
        tell_catalog(entry, spark)
    return done


def _carried_out(
    spark: SparkSession, request: OptimizeRequest, assessed: TableAssessment, told: OptimizeResult
) -> OptimizeResult:
    """Rewrite, again where what came out needs it too, and measure what came true."""
    if not assessed.picked.groups:
        return replace(told, dry_run=False)
    new: dict[str, int] = {}
    for _ in range(_ROUNDS):
        made = _rewrite_delta(request, assessed) if isinstance(assessed.table, DeltaTable) else _rewrite_plain(request)
        new = {path: size for path, size in new.items() if path not in made.removed} | made.added
        if assessed.table.format.spark_lists_files:
            spark.catalog.refreshByPath(request.place)
        assessed = assess(request)
        if not assessed.picked.groups:
            break
    plans = [plan_of(request, one.sql, assessed) for one in told.predicates]
    after = [plan.kept.extent(plan.index).bytes for plan in plans]
    return replace(
        told,
        dry_run=False,
        new_files=len(new),
        new_bytes=sum(new.values()),
        depth_after=assessed.measured.depth(),
        predicates=tuple(replace(one, after=size) for one, size in zip(told.predicates, after, strict=True)),
        version=assessed.table.snapshot.version if isinstance(assessed.table, DeltaTable) else None,
        left=len(assessed.numbers),
    )


class _Rewritten(NamedTuple):
    """The paths and bytes of new files, and the paths of those that they replace."""

    added: dict[str, int]
    removed: frozenset[str]


def _rewrite_delta(request: OptimizeRequest, assessed: TableAssessment) -> _Rewritten:
    """Write the picked files of a version anew, and commit that the rows are the same."""
    import deltalog

    assert isinstance(assessed.table, DeltaTable)
    snapshot, group_of = assessed.table.snapshot, assessed.group_of
    live = live_files(assessed.table, assessed.measured.index, assessed.numbers)
    values = {group_of[number]: file.values for number, file in zip(assessed.numbers, live, strict=True)}
    vectors = [file.vector for file in live if file.vector is not None]
    paths = snapshot.paths()
    with own_directory(snapshot.table) as directory:
        written = _write(_open_delta(request, assessed), directory, assessed, request.layout, schema=snapshot.schema)
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
            removes=[paths[number] for number in assessed.numbers],
            adds=_tagged(adds, snapshot),
            parameters=_parameters(request, snapshot),
            metrics=_metrics(adds, assessed)
            | {
                "numDeletionVectorsRemoved": len(vectors),
                "numDeletionVectorRowsRemoved": sum(vector.cardinality for vector in vectors),
            },
        )
    sizes = {f"{snapshot.table.rstrip('/')}/{placed[path].path}": size for path, size in written.items()}
    return _Rewritten(sizes, frozenset(file.path for file in assessed.files))


def _open_delta(request: OptimizeRequest, assessed: TableAssessment) -> DataFrame:
    """Open the picked files with the columns of their table, and the group of each row."""
    assert request.spark is not None
    assert isinstance(assessed.table, DeltaTable)
    live, group_of = live_files(assessed.table, assessed.measured.index, assessed.numbers), assessed.group_of
    return open_live(
        request.spark, assessed.table, live, labels=[group_of[number] for number in assessed.numbers], label=GROUP
    )


def _rewrite_plain(request: OptimizeRequest) -> _Rewritten:
    """Assess the table again, now that no other writer is at work, and replace the picked files in one swap."""
    directory = Path(request.place)
    with staging_directory(directory) as stage:
        assessed = assess(request)
        if not assessed.picked.groups:
            return _Rewritten({}, frozenset())
        _check_columns(assessed)
        _write(_open_plain(request, assessed), str(stage), assessed, request.layout)
        _check_types(stage, assessed)
        _put_into_place(stage, directory, assessed)
        staged = prove(stage, rows=assessed.rows)
        removed = [file.path for file in assessed.files]
        # It names files and their row groups.
        summaries = [file.path for file in summaries_below(directory) if Path(file.path).name == "_metadata"]
        added = commit([file.path for file in staged], stage, replaced=[*removed, *summaries])
    return _Rewritten({path: Path(path).stat().st_size for path in added}, frozenset(removed))


def _open_plain(request: OptimizeRequest, assessed: TableAssessment) -> DataFrame:
    """Open the picked files with the columns that they hold, whatever directories are called, and their group."""
    import pyarrow as pa
    from pyspark.sql import functions as fn

    assert request.spark is not None
    paths = [escaped(os.path.abspath(file.path)) for file in assessed.files]  # noqa: PTH100 - links stay links
    reader = request.spark.read.option("recursiveFileLookup", "true")
    frame = reader.schema(reader.parquet(paths[0]).schema).parquet(*paths)
    name = metadata_column(frame)["file_path"].alias(FILE)
    named = frame.select(*(column_of(column, nested=False) for column in frame.columns), name)
    group_of = assessed.group_of
    labels = pa.array([group_of[number] for number in assessed.numbers], pa.int32())
    known = pa.table({FILE: [file_uri(file.path) for file in assessed.files], GROUP: labels})
    return named.join(fn.broadcast(from_arrow(request.spark, known)), FILE).drop(FILE)


def _check_columns(assessed: TableAssessment) -> None:
    """Refuse plain files that lack columns of the table, hold others, or hold them as another type.

    Spark would read and write those of one file for all of them.
    """
    index = assessed.measured.index
    ours = _types(index.columns)
    for number in assessed.numbers:
        kind = index.kinds[index.kind[number]]
        theirs = _types(kind.columns)
        if theirs != ours:
            name = min({path for path, _ in theirs.items() ^ ours.items()})
            raise UnsupportedFeature(
                f"{index.files[number].path}: column {'.'.join(name)} differs from the table's schema; "
                "optimize files of one schema, or rewrite the table"
            )


def _check_types(stage: Path, assessed: TableAssessment) -> None:
    """Refuse what Spark has written with other types than it has read, e.g. unsigned numbers."""
    there = _types(assessed.measured.index.columns)
    for path, kind in _types(read_dataset(str(stage)).columns).items():
        if there.get(path) != kind:
            raise UnsupportedFeature(
                f"{assessed.table.name}: column {'.'.join(path)} is {there.get(path)}, but Spark writes it as {kind}, "
                "and the table would then have both; nothing was changed"
            )


def _types(columns: Iterable[LeafColumn]) -> dict[tuple[str, ...], str]:
    return {column.path: str(column.type if column.type is None else bounds_type(column)) for column in columns}


def _put_into_place(stage: Path, directory: Path, assessed: TableAssessment) -> None:
    """Move the files of each group to where those that they replace lie in the table."""
    group_of = assessed.group_of
    places = {
        group_of[number]: Path(file.path).parent for number, file in zip(assessed.numbers, assessed.files, strict=True)
    }
    for group, place in places.items():
        for file in sorted((stage / f"{GROUP}={group}").glob("*.parquet")):
            target = stage / place.relative_to(directory)
            target.mkdir(parents=True, exist_ok=True)
            file.rename(target / _of_group(file.name, group))


def _write(
    frame: DataFrame,
    directory: str,
    assessed: TableAssessment,
    layout: LayoutSpec,
    *,
    schema: TableSchema | None = None,
) -> dict[str, int]:
    """Write the picked rows, parted by group; return the paths and bytes of the files.

    `schema`: that of a Delta table, which knows what files call the columns.
    """
    wanted = {key.column.casefold(): key for key in layout.sort_keys}
    keys = [wanted[column.name.casefold()]._replace(column=column.name) for column in assessed.measured.keys]
    grouped = replace(
        layout,
        sort_by=[str(key) for key in keys],
        partition_by=[GROUP],
        files=max(1, -int(-assessed.live_bytes // assessed.target)),
    )
    arranged, options = arrange(frame, grouped, bind_layout(frame.schema, grouped, case_sensitive=False))
    if schema is not None:
        arranged, options = as_stored(arranged, options, schema)
    rows = write_parquet(arranged, directory, options | DELTA_OPTIONS, partition_by=[GROUP])
    if rows != assessed.rows:
        raise MalformedFile(
            f"{assessed.table.name}: Spark read {rows} rows from the picked files, but they hold {assessed.rows}; "
            "nothing was changed"
        )
    return {file.path: file.size for file in (list_data_files(directory) if rows else [])}


def _put_into_partitions(
    written: Iterable[str], directory: str, snapshot: Snapshot, values: Mapping[int, Sequence[str | None]]
) -> dict[str, NewFile]:
    """Move new files from the directories of groups to those of partitions; describe each by the path that it had.

    They have the partition values of the files that they replace.
    """
    import deltalog

    places, found = {}, {}
    for path in written:
        group, _, name = path.removeprefix(f"{directory}/{GROUP}=").partition("/")
        if int(group) not in places:
            texts = [text or None for text in values[int(group)]]
            of_partition = dict(zip(snapshot.schema.partition_columns, texts, strict=True))
            places[int(group)] = data_directory(snapshot.schema, of_partition, snapshot.properties), of_partition
        place, of_partition = places[int(group)]
        below = f"{directory[len(snapshot.table.rstrip('/')) + 1 :]}/{place}{_of_group(name, group)}"
        found[path] = deltalog.NewFile(below, of_partition)
    move_files({path: f"{snapshot.table.rstrip('/')}/{file.path}" for path, file in found.items()})
    if not is_remote(directory):
        for parent in {Path(path).parent for path in found}:
            shutil.rmtree(parent)  # Hadoop's checksums are left in it
    return found


def _of_group(name: str, group: int | str) -> str:
    """Return the name of a file of a group: the files that one task writes have one name, in a directory for each."""
    stem, _, rest = name.partition(".")
    return f"{stem}-g{group}.{rest}"


def _tagged(adds: Sequence[FullAdd], snapshot: Snapshot) -> list[FullAdd]:
    """Return files with the tags by which OPTIMIZE of delta-spark leaves clustered ones alone.

    It does so where all files of a table belong to one cube, so that this makes one for each table and what it is
    clustered by. Source: `ZCubeInfo` and `ClusteringStrategy` of delta-spark.
    """
    import msgspec

    columns = clustered_by(snapshot)
    if not columns:
        return list(adds)
    text = json.dumps(columns, separators=(",", ":"))
    tags = {"ZCUBE_ID": str(uuid5(NAMESPACE_OID, f"{snapshot.metadata.id} {text}")), "ZCUBE_ZORDER_BY": text}
    return [msgspec.structs.replace(add, tags=tags, clustering_provider="liquid") for add in adds]


def _parameters(request: OptimizeRequest, snapshot: Snapshot) -> dict[str, object]:
    columns = clustered_by(snapshot)
    where = [] if request.where is None else [str(request.where)]
    said = {"predicate": json.dumps(where), "zOrderBy": "[]", "clusterBy": json.dumps(columns), "auto": False}
    return said | ({"isFull": False} if columns else {})


def _metrics(adds: Sequence[FullAdd], assessed: TableAssessment) -> dict[str, int]:
    """Return the metrics that OPTIMIZE of delta-spark has in its history."""
    sizes = np.sort([add.size for add in adds]) if adds else np.zeros(1, np.int64)
    at = {"min": 0.0, "p25": 0.25, "p50": 0.5, "p75": 0.75, "max": 1.0}
    quantiles = {f"{name}FileSize": int(sizes[int(share * (len(sizes) - 1))]) for name, share in at.items()}
    removed = assessed.files
    return {
        "numAddedFiles": len(adds),
        "numRemovedFiles": len(removed),
        "numAddedBytes": sum(add.size for add in adds),
        "numRemovedBytes": sum(file.size for file in removed),
        **quantiles,
    }
