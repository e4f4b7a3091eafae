"""A third table format, as small as one can be: `toy.json` lists the files, and what is known before they are opened.

{"partition": "day", "files": [{"path": "a.parquet", "rows": 9, "day": "mon", "bounds": {"id": [0, 8]},
                                "deleted": [3]}]}
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.arrow_arrays import from_numpy
from parquet_core.dataset.logged import AT_LEAST, FileList, LoggedFiles
from parquet_core.dataset.opening import list_dataset, read_logged
from parquet_core.format.comparable_values import bounds_type
from parquet_core.inspection import choose_columns, inspect_table
from parquet_core.layout.spec import Finding, Severity
from parquet_core.pruning.evidence.many_leaves import outcomes_of_values
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.file_answers import FileAnswers
from parquet_core.pruning.outcomes import unknown
from parquet_core.pruning.predicate import ColumnLeaf, leaves
from parquet_core.pruning.trees import fold
from parquet_core.storage import Traffic, look_up
from parquet_core.trust.bounds import Bounds
from prune_assets.tables.examination import Claims, Examination, Inspection
from prune_assets.tables.format import Format
from prune_assets.tables.rewriting import GROUP, Rewritten, write_groups
from prune_assets.tables.table import FileConstants, TableDefaults
from prune_assets.tables.writes.arrange import arrange, write_parquet
from prune_assets.tables.writes.write_options import bind_layout
from prune_assets.tables.writes.write_result import WriteResult
from prune_assets.tables.writing import Writing

MANIFEST = "toy.json"


class ToyColumn(NamedTuple):
    leaf: object
    physical: tuple
    field_id: int | None = None


class ToyDeletedRows(NamedTuple):
    rows: tuple[int, ...]

    def read(self):
        return np.array(self.rows, np.int64)


@dataclass
class ToyTable(TableDefaults):
    given: str
    manifest: dict
    semantics: object
    cache: object = None
    version_number = None

    @property
    def format(self):
        return TOY

    @property
    def name(self):
        return str(self.given)

    @cached_property
    def files(self):
        return self.manifest["files"]

    @cached_property
    def paths(self):
        return [f"{self.given}/{file['path']}" for file in self.files]

    @cached_property
    def in_files(self):
        return list_dataset(self.paths[:1]).read_for_schema().groups.columns

    @property
    def partitions(self):
        return (self.day,)

    @cached_property
    def day(self):
        string_column = next(column for column in self.in_files if column.type == pa.string())
        return replace(string_column, path=(self.manifest["partition"],))

    @property
    def columns(self):
        return (*self.in_files, self.day)

    def empty_frame(self, spark):
        return self._frame(spark, 0).limit(0)

    def open_in_spark(self, spark, wanted):
        frames = [self._frame(spark, file_number, wanted.options) for file_number in wanted.files.tolist()]
        return reduce(lambda left, right: left.unionAll(right), frames) if frames else self.empty_frame(spark)

    def _frame(self, spark, file_number, options=None):
        from pyspark.sql import functions as fn

        file, name = self.files[file_number], self.manifest["partition"]
        frame = spark.read.options(**(options or {})).parquet(self.paths[file_number])
        if file["deleted"]:
            frame = frame.where(~fn.col("_metadata.row_index").isin(file["deleted"]))
        return frame.withColumn(name, fn.nullif(fn.lit(file[name]), fn.lit(None)))

    def constants(self, index, files, names):
        name = self.manifest["partition"]
        return [
            FileConstants(
                {name: pa.scalar(self.files[file_number][name])} if name in names else {},
                {},
                ToyDeletedRows(tuple(self.files[file_number]["deleted"]))
                if self.files[file_number]["deleted"]
                else None,
            )
            for file_number in files
        ]

    def answers(self, predicate):
        by_partition, by_bounds, files_with_bounds = [], [], {}
        for leaf in leaves(predicate):
            path = leaf.column if isinstance(leaf, ColumnLeaf) else None
            days = self._days() if path == self.day.path else None
            of_day = unknown(len(self.files)) if days is None else outcomes_of_values(leaf, days)
            bounds = None if path is None else self.file_bounds(path)
            by_partition.append(of_day)
            by_bounds.append(of_day if bounds is None else outcomes_from_bounds(leaf, bounds))
            if bounds is not None:
                files_with_bounds[path] = len(self.files)
        partitions, outcomes = fold(predicate, by_partition), fold(predicate, by_bounds)
        by_values = frozenset({self.day.path})
        return FileAnswers(
            partitions,
            outcomes,
            tuple(by_bounds),
            by_values,
            files_with_statistics=files_with_bounds,
            examined_files=len(self.files),
        )

    def _days(self):
        days = pa.array([file[self.manifest["partition"]] for file in self.files], pa.string())
        return days.cast(bounds_type(self.day))

    def file_bounds(self, path):
        column = next((column for column in self.in_files if column.path == path), None)
        stated = [file["bounds"].get(".".join(path)) for file in self.files]
        if column is None or not any(stated):
            return None
        arrow_type, rows = bounds_type(column), np.array([file["rows"] for file in self.files], np.int64)
        low, high = (pa.array([None if each is None else each[i] for each in stated], arrow_type) for i in (0, 1))
        return Bounds.of(low, high, pa.nulls(len(stated), pa.int64()), rows)

    def read_all(self):
        return self.read(np.ones(len(self.files), np.bool_))

    def read(self, wanted):
        return read_logged(self.given, self._logged(wanted), traffic=Traffic(), cache=self.cache)

    def _logged(self, wanted):
        chosen = np.flatnonzero(wanted).tolist()
        files_by_path = {file.path: file for file in look_up([self.paths[i] for i in chosen])}
        sizes = np.array([Path(path).stat().st_size for path in self.paths], np.int64)
        return LoggedFiles(
            files=FileList(self.paths.__getitem__, sizes, {i: files_by_path[self.paths[i]] for i in chosen}),
            opened=wanted,
            row_count=np.full(len(wanted), AT_LEAST, np.int64),
            deleted=self.deleted_rows() > 0,
            columns=[ToyColumn(column, column.path) for column in self.in_files],
            partitions=(self.day,),
        )

    def read_partitioned(self, file_numbers=None):
        partition = self.rewrite_scope()
        return (
            (self.read_all(), partition)
            if file_numbers is None
            else (self.part(file_numbers).read_all(), partition[file_numbers])
        )

    def part(self, file_numbers):
        return replace(self, manifest=self.manifest | {"files": [self.files[i] for i in file_numbers.tolist()]})

    def unread(self):
        return np.ones(len(self.files), np.bool_)

    def rewrite_scope(self):
        days = [file[self.manifest["partition"]] for file in self.files]
        return np.unique(days, return_inverse=True)[1].astype(np.int64)

    def rewrite(self, spark, rewrite):
        from pyspark.sql import functions as fn

        parts = [
            self._frame(spark, file_number).drop(self.manifest["partition"]).withColumn(GROUP, fn.lit(group))
            for file_number, group in zip(rewrite.numbers, rewrite.groups, strict=True)
        ]
        frame = reduce(lambda left, right: left.unionAll(right), parts)
        day_of = {
            group: self.files[file_number][self.manifest["partition"]]
            for file_number, group in rewrite.group_of.items()
        }
        written = write_groups(frame, f"{self.given}/{uuid4().hex}", rewrite)
        days = {path: day_of[int(path.rpartition(f"/{GROUP}=")[2].partition("/")[0])] for path in written}
        remaining = [file for file_number, file in enumerate(self.files) if file_number not in rewrite.group_of]
        added = _publish(str(self.given), self.manifest | {"files": remaining}, days)
        return Rewritten(added, frozenset(file.path for file in rewrite.files))

    def partition_names(self):
        return [self.manifest["partition"]]

    def deleted_rows(self):
        return np.array([len(file["deleted"]) for file in self.files], np.int64)

    def partition_text(self, path, file):
        return f"{self.files[file][self.manifest['partition']]!r} in the manifest" if path == self.day.path else None


def inspect(table, options):
    index = table.read_all()
    inspection = inspect_table(table.name, index, choose_columns(index, options.names), bloom=options.bloom)
    return Inspection(inspection, lambda console: console.print(f"a toy of {len(table.files)} files"))


def log_findings(table, limits):
    missing = [file["path"] for file in table.files if not file["bounds"]]
    message = "a file has no bounds in the manifest"
    return [Finding("toy.bounds", Severity.WARN, f"{table.name}, {path}", message) for path in missing]


@dataclass
class ToyClaims(Claims):
    table: ToyTable
    name = "the manifest"
    partition_remedy = "write the manifest anew"

    def bounds(self, path, file):
        file_bounds = self.table.file_bounds(path)
        return None if file_bounds is None else file_bounds.slice(file, file + 1)

    def rows(self, file):
        return self.table.files[file]["rows"]

    def live(self, file, rows):
        live = np.ones(rows, np.bool_)
        live[self.table.files[file]["deleted"]] = False
        return live

    def partition(self, path, file):
        if path != self.table.day.path:
            return None
        value = self.table._days()[file : file + 1]
        return Bounds.of(value, value, from_numpy(np.zeros(1, np.int64)), np.ones(1, np.int64))


def _is_at(location):
    return isinstance(location, str | os.PathLike) and Path(location, MANIFEST).is_file()


def _open(location, options):
    if not _is_at(location):
        return None
    manifest = json.loads(Path(location, MANIFEST).read_text())
    return ToyTable(str(location), manifest, options.semantics, options.cache)


def _fingerprint(table):
    return Path(table, MANIFEST).read_text()


def _partition_files(table, columns):
    for file in json.loads(_fingerprint(table))["files"]:
        yield tuple(file[column] for column in columns), json.dumps(file)


def _publish(table, manifest, days):
    """Add files, each with its day, to a manifest; the directories of the files have no meaning for the table."""
    added, files = {}, []
    for path, day in days.items():
        new = Path(table, f"{uuid4().hex}.parquet")
        Path(path).rename(new)
        added[str(new)] = new.stat().st_size
        rows = pq.read_metadata(new).num_rows
        files.append({"path": new.name, "rows": rows, manifest["partition"]: day, "bounds": {}, "deleted": []})
    Path(table, MANIFEST).write_text(json.dumps(manifest | {"files": manifest["files"] + files}))
    return added


def _write(df, table, request):
    manifest = json.loads(_fingerprint(table))
    bound = bind_layout(df.schema, request.layout, case_sensitive=False)
    arranged, options = arrange(df, request.layout, bound)
    stage = f"{table}/{uuid4().hex}"
    rows = write_parquet(arranged, stage, options, partition_by=bound.partition_by)
    days = {str(path): path.parent.name.partition("=")[2] for path in Path(stage).rglob("*.parquet")}
    added = _publish(table, manifest, days)
    return WriteResult(table=table, files=tuple(added), rows=rows, bytes=sum(added.values()), row_groups=0, removed=())


EXAMINATION = Examination(
    inspect=inspect,
    claims=ToyClaims,
    read_partitioned=ToyTable.read_partitioned,
    deleted_rows=ToyTable.deleted_rows,
    log_findings=log_findings,
)
WRITING = Writing(
    location=str,
    write=_write,
    refuse_existing=lambda _: None,
    check_entry=lambda _: None,
    check_rewrite=lambda table, layout: None,
    rewrite_scope=ToyTable.rewrite_scope,
    rewrite=lambda spark, table, rewrite: table.rewrite(spark, rewrite),
)
TOY = Format(
    name="toy",
    is_at=_is_at,
    open=_open,
    fingerprint=_fingerprint,
    partition_files=_partition_files,
    read_alone_by="the toy's own reader",
    examination=lambda: EXAMINATION,
    writing=lambda: WRITING,
    not_inspected={"orphans": "is a toy, which keeps no old files"},
)
