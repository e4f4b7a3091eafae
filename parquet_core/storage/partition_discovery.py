"""Partition discovery: the files of a table that Spark reads, and its partition columns.

Spark lists everything that is not hidden. It searches the directory names between the named directory and each
directory with data for `column=value`. If it finds no partition columns, it reads the files directly in the named
directories. If it finds the same columns everywhere, it reads the directories that have them. It refuses everything
else. Source: `PartitioningAwareFileIndex`, `PartitioningUtils` and `ParquetUtils.inferSchema` of Spark 4.
"""

from __future__ import annotations

import re
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import WrongUse
from parquet_core.storage.files import SUMMARIES, is_hidden, is_unlisted, listed_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from parquet_core.storage.files import DataFile

ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
# Characters that Hive and Spark escape, and NUL, which no file system allows in names.
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")


def escape(value: str) -> str:
    """Escape a partition value for a directory name, as Spark's `escapePathName`.

    >>> escape("a/b c"), unescape(escape("a/b c"))
    ('a%2Fb c', 'a/b c')
    """
    return _ESCAPED.sub(lambda sign: f"%{ord(sign[0]):02X}", value)


def unescape(name: str) -> str:
    """Replace `%` and two hexadecimal digits by the character with that code point.

    Spark does not treat the number as a byte of UTF-8.

    >>> unescape("a%2Fb%C3%zz")
    'a/bÃ%zz'
    """
    return ESCAPE.sub(lambda match: chr(int(match[1], 16)), name)


class Partitioning(NamedTuple):
    """Partition columns and value strings of the directories of a table.

    `names`: the partition columns, once for each spelling in directory names.
    `value_strings`: the value strings of each directory, including directories with only empty files.
    `index_of`: index into `value_strings` by directory path.
    """

    names: tuple[tuple[str, ...], ...] = ()
    value_strings: tuple[tuple[str, ...], ...] = ()
    index_of: Mapping[str, int] = MappingProxyType({})


class PartitionListing(NamedTuple):
    """Data files of a table, sorted by path.

    `schema_file`: the file that Spark takes the schema from if it is not the first data file: a summary, or a data file
    that Spark does not read.
    `passed_over`: a directory with data that Spark does not read.
    `is_unfinished`: a write is running or was interrupted, so `files` differs from the contents of the directories.
    """

    files: list[DataFile]
    partitioning: Partitioning = Partitioning()
    schema_file: DataFile | None = None
    passed_over: str | None = None
    is_unfinished: bool = False


class _DirectoryPlace(NamedTuple):
    """Place of a directory in a partitioned table.

    `base`: the directory above the partition columns.
    `parts`: names below it, in the form `column=value`.
    """

    base: str
    parts: tuple[str, ...] = ()


def choose(
    named: Sequence[DataFile], roots: Sequence[str], directories: Mapping[str, list[DataFile]]
) -> PartitionListing:
    """Choose the files that Spark reads among the listed files.

    `named`: files that the user named.
    `roots`: directories that the user named.
    `directories`: the files in each directory at or below the roots; a key plus a slash is the beginning of the paths
    of its files.

    Raises WrongUse for directories that Spark refuses to read as one table.
    """
    named = [file for file in named if not is_unlisted(listed_name(file))]
    # If the user named only files, Spark takes no partition columns from their directories.
    beside = _by_parent(named if roots else ())
    inside = {**beside, **directories}
    bases = {*roots, *beside}
    data = {path: data_files for path, files in inside.items() if (data_files := _data(path, files))}
    places = {path: partition for path in data if (partition := _place(path, bases)) is not None}
    if any(partition.parts for partition in places.values()):
        return _partitioned(places, data, inside)
    # Spark reads a file twice if the user named it twice.
    read = [file for file in named if not is_hidden(listed_name(file))]
    read += chain.from_iterable(data.get(root, ()) for root in roots)
    others = [file for file in named if is_hidden(listed_name(file))]
    others += chain.from_iterable(_unread_files(inside.get(root, []), data.get(root)) for root in roots)
    return _listing(read, Partitioning(), others, min(data.keys() - bases, default=None))


def _partitioned(
    places: Mapping[str, _DirectoryPlace], data: Mapping[str, list[DataFile]], inside: Mapping[str, list[DataFile]]
) -> PartitionListing:
    _check_bases(places)
    chosen = sorted(path for path, partition in places.items() if partition.parts)
    columns = [tuple(part.partition("=")[0] for part in places[path].parts) for path in chosen]
    names = {column: tuple(map(unescape, column)) for column in dict.fromkeys(columns)}
    _check_names(chosen, [names[column] for column in columns])
    index_of = {path: i for i, path in enumerate(chosen)}
    others = (_unread_files(files, data.get(path) if path in index_of else None) for path, files in inside.items())
    value_strings = tuple(tuple(part.partition("=")[2] for part in places[path].parts) for path in chosen)
    return _listing(
        list(chain.from_iterable(data[path] for path in chosen)),
        Partitioning(tuple(dict.fromkeys(names.values())), value_strings, index_of),
        chain.from_iterable(others),
        min(data.keys() - index_of.keys(), default=None),
    )


def _listing(
    data: list[DataFile], partitioning: Partitioning, others: Iterable[DataFile], passed_over: str | None
) -> PartitionListing:
    # Spark skips empty files, and searches for the file with the schema in order of path.
    filled = data if all(map(attrgetter("size"), data)) else [file for file in data if file.size]
    read = sorted(filled, key=attrgetter("path"))
    return PartitionListing(read, partitioning, _schema_file(read, others), passed_over)


def _unread_files(files: list[DataFile], data: list[DataFile] | None) -> list[DataFile]:
    """Return the files of a directory that Spark does not read."""
    if files is data:
        return []
    return [file for file in files if data is None or is_hidden(listed_name(file))]


def _schema_file(read: Sequence[DataFile], others: Iterable[DataFile]) -> DataFile | None:
    first: dict[str, DataFile] = {}
    for file in others:
        name = listed_name(file)
        summary = name if name in SUMMARIES else ""
        if (summary or file.size) and (summary not in first or file.path < first[summary].path):
            first[summary] = file
    if "" in first and read and read[0].path < first[""].path:
        del first[""]
    return next((first[summary] for summary in (*SUMMARIES, "") if summary in first), None)


def _by_parent(files: Iterable[DataFile]) -> dict[str, list[DataFile]]:
    by_parent: dict[str, list[DataFile]] = {}
    for file in files:
        by_parent.setdefault(file.path.rpartition("/")[0], []).append(file)
    return by_parent


def _data(directory: str, files: list[DataFile]) -> list[DataFile]:
    """Return the files that are not hidden; the same list if all are visible."""
    # Paths contain no NUL, so one search over all joined paths finds a name that may be hidden.
    if f"\0{directory}/_" not in "\0".join(["", *map(attrgetter("path"), files)]):
        return files
    return [file for file in files if not is_hidden(listed_name(file))]


def _place(directory: str, bases: Collection[str]) -> _DirectoryPlace | None:
    """Return the base directory and the partition names of a directory.

    None if Spark treats the directory as temporary.
    """
    parts: list[str] = []
    here = directory
    while True:
        above, _, name = here.rpartition("/")
        if name.lower() == "_temporary":
            return None
        if here in bases or not here:
            break
        if "=" in name:
            _check_part(here, name)
            parts.append(name)
        elif parts:
            break
        here = above
    return _DirectoryPlace(here, tuple(reversed(parts))) if parts else _DirectoryPlace(directory)


def _check_part(path: str, name: str) -> None:
    column, _, value = name.partition("=")
    if not column or not value:
        raise WrongUse(
            f"{path}: a directory name without a {'value' if column else 'column'}; Spark refuses it: rename it"
        )


def _check_bases(places: Mapping[str, _DirectoryPlace]) -> None:
    # Spark ignores case when it compares base directories.
    bases = {partition.base.lower(): partition.base for partition in places.values()}
    if len(bases) > 1:
        base, other = sorted(bases.values())[:2]
        raise WrongUse(
            f"{base or '/'} and {other or '/'}: conflicting directory structures, which Spark refuses: partition "
            f"columns begin in more than one directory; give the path of one table, or move other files out of it"
        )


def _check_names(directories: Sequence[str], names: Sequence[tuple[str, ...]]) -> None:
    # Settings of Spark decide whether P=1 and p=2 are the same column.
    counts: dict[tuple[str, ...], int] = {}
    for i, of_one in enumerate(names):
        counts.setdefault(of_one, i)
    unlike = {tuple(name.lower() for name in of_one): i for of_one, i in reversed(counts.items())}
    if len(unlike) > 1:
        first, other = sorted(unlike.values())[:2]
        raise WrongUse(
            f"{directories[first]} and {directories[other]}: conflicting partition columns, which Spark refuses: "
            f"{', '.join(names[first])} and {', '.join(names[other])}; name one table, or move the other elsewhere"
        )
