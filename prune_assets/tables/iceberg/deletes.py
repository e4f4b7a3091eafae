"""Delete files per data file, and the rows that they delete.

A delete file applies to older data files of its partition. An equality delete file with an unpartitioned spec applies
to the whole table. A position delete file whose bounds name a single data file applies only to that file.
"""

from __future__ import annotations

from collections import defaultdict
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from parquet_core.errors import UnsupportedFeature
from prune_assets.tables.delete_debt import DeleteDebt
from prune_assets.tables.iceberg.manifests.delete_files import EQUALITY, only_file
from prune_assets.tables.iceberg.manifests.manifest import ABSENT
from prune_assets.tables.iceberg.metadata_files import MetadataFiles, wrapping_pyiceberg_errors
from prune_assets.tables.iceberg.snapshot import partition_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from prune_assets.tables.iceberg.manifests.delete_files import DeleteFile
    from prune_assets.tables.iceberg.manifests.listed_files import ListedFiles
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot


class FileDeletes(NamedTuple):
    """Delete files that may apply to a data file."""

    positions: tuple[DeleteFile, ...] = ()
    equality: tuple[DeleteFile, ...] = ()


def deletes_by_file(snapshot: IcebergSnapshot) -> dict[int, FileDeletes]:
    """Return the deletes of each file by its number, only for files that have deletes and whose manifests were read."""
    if not snapshot.deletes:
        return {}
    file_numbers = np.flatnonzero(snapshot.files.has_entry).tolist()
    number_by_path = {snapshot.files.path(i): i for i in file_numbers}
    sequences = snapshot.files.numbers("sequence", 0)
    file_partitions = list(snapshot.files.partitions())
    partitions: dict[str, list[int]] = defaultdict(list)
    for i, spec, values in file_partitions:
        partitions[partition_key(spec, values)].append(i)
    lacking = {spec for _, spec, values in file_partitions if ABSENT in values}
    unpartitioned = {spec.spec_id for spec in snapshot.metadata.partition_specs if spec.is_unpartitioned()}
    by_file: dict[int, FileDeletes] = {}
    for delete in snapshot.deletes:
        is_equality = delete.content == EQUALITY
        concerned = partitions[partition_key(delete.spec_id, delete.partition)]
        if delete.spec_id in lacking or ABSENT in delete.partition:
            concerned = [
                i
                for i, spec, values in file_partitions
                if spec == delete.spec_id and _may_be_same(values, delete.partition)
            ]
        if is_equality and delete.spec_id in unpartitioned:
            concerned = file_numbers
        elif not is_equality and (only := only_file(delete)) is not None:
            concerned = [number_by_path[only]] if only in number_by_path else []
        for i in concerned:
            # An equality delete does not apply to files of its own commit.
            if sequences[i] <= delete.sequence - is_equality:
                of_file = by_file.get(i, FileDeletes())
                field_name = "equality" if is_equality else "positions"
                by_file[i] = of_file._replace(**{field_name: (*getattr(of_file, field_name), delete)})
    return by_file


def _may_be_same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return True if two partitions of a spec may be the same. A field that a manifest lacks may have any value."""
    pairs = zip(left, right, strict=True)
    return all(ABSENT in pair or repr(pair[0]) == repr(pair[1]) for pair in pairs)


def debt_of(files: ListedFiles, deletes: Mapping[int, FileDeletes]) -> DeleteDebt:
    """Return the deletes that readers still apply to data files, from the manifests alone."""
    rows = files.numbers("records", 0)
    deleted, positions, equality = (np.zeros(len(files), np.int64) for _ in range(3))
    shared: dict[tuple[str, int | None], int] = {}
    is_exact = True
    for i, of_file in deletes.items():
        applied = applied_positions(of_file)
        positions[i], equality[i] = len(applied), len(of_file.equality)
        named = sum(each.record_count for each in applied if only_file(each) is not None)
        deleted[i] = min(named, max(0, int(rows[i])))
        shared |= {(each.file_path, each.offset): each.record_count for each in applied if only_file(each) is None}
        is_exact &= not of_file.equality and all(each.is_vector for each in applied)
    return DeleteDebt(
        rows=rows,
        deleted=deleted,
        shared=sum(shared.values()),
        is_exact=is_exact,
        delete_files=positions,
        equality_files=equality,
        path=files.path,
    )


def applied_positions(deletes: FileDeletes) -> tuple[DeleteFile, ...]:
    """Return the position deletes that readers apply: a deletion vector replaces position delete files."""
    vectors = tuple(each for each in deletes.positions if each.is_vector)
    return vectors or deletes.positions


def count_positions(snapshot: IcebergSnapshot, file_number: int, deletes: FileDeletes) -> int:
    """Count the rows of a file deleted by position deletes. Reads delete files that cover several data files."""
    applied = applied_positions(deletes)
    if all(only_file(each) is not None for each in applied):
        return sum(each.record_count for each in applied)
    return len(deleted_rows(snapshot, file_number, FileDeletes(applied)).read())


class PositionDeletes(NamedTuple):
    """Position deletes of one data file.

    `data`: path of the data file as spelled in the delete files.
    """

    data: str
    deletes: tuple[str, ...]
    root: str
    allow: tuple[str, ...]

    def read(self) -> NDArray[np.int64]:
        """Return the numbers of the deleted rows, ascending."""
        io, positions = MetadataFiles(self.root, self.allow), [np.zeros(0, np.int64)]
        for location in dict.fromkeys(self.deletes):
            with wrapping_pyiceberg_errors(location):
                rows = pq.read_table(BytesIO(io.new_input(location).data), columns=["file_path", "pos"])
                of_file = rows.filter(pc.equal(rows["file_path"], self.data))
                positions.append(of_file["pos"].to_numpy().astype(np.int64))
        return np.unique(np.concatenate(positions))


def deleted_rows(snapshot: IcebergSnapshot, file_number: int, deletes: FileDeletes) -> PositionDeletes:
    """Return the position deletes of a file. Raises UnsupportedFeature for other kinds of deletes."""
    path = snapshot.files.path(file_number)
    other = next((each for each in deletes.positions if each.file_format.upper() != "PARQUET"), None)
    if deletes.equality or other is not None:
        what = (
            "equality deletes" if deletes.equality else f"deletion vectors in a file of {other and other.file_format}"
        )
        raise UnsupportedFeature(
            f"{path}: has {what} ({(deletes.equality or deletes.positions)[0].file_path}), which are not "
            "applied here; read it with Spark and Iceberg, or compact it first (rewrite_data_files)"
        )
    deletes_of = tuple(each.file_path for each in deletes.positions)
    return PositionDeletes(path, deletes_of, snapshot.io.root, tuple(snapshot.io.allow))
