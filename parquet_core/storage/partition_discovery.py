"""Partition discovery: which files below a table Spark reads, and the partition columns in directory names.

Spark lists everything that is not hidden, looks in each directory that holds data for `column=value` names between
it and what was named, and then either finds no partition columns and reads what lies directly in the named
directories, or finds the same columns everywhere and reads the directories that have them. Everything else it
refuses. Source: `PartitioningAwareFileIndex`, `PartitioningUtils` and `ParquetUtils.inferSchema` of Spark 4.
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
# Characters that Hive and Spark escape, and NUL, which no file system has.
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")


def escape(text: str) -> str:
    """Escape a partition value for the name of its directory, as `escapePathName` of Spark.

    >>> escape("a/b c"), unescape(escape("a/b c"))
    ('a%2Fb c', 'a/b c')
    """
    return _ESCAPED.sub(lambda sign: f"%{ord(sign[0]):02X}", text)


def unescape(text: str) -> str:
    """Replace `%` and two hexadecimal digits by the character of that number, not by a byte of UTF-8.

    >>> unescape("a%2Fb%C3%zz")
    'a/bÃ%zz'
    """
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


class Partitioning(NamedTuple):
    """What the directories of a table say of its files.

    `names`: the partition columns, once for each way in which directories spell them. `texts`: of each directory the
    texts of their values, of those without data too. `numbers`: the place of each directory there, by its path.
    """

    names: tuple[tuple[str, ...], ...] = ()
    texts: tuple[tuple[str, ...], ...] = ()
    numbers: Mapping[str, int] = MappingProxyType({})


class PartitionListing(NamedTuple):
    """The data files of a table, sorted by path.

    `schema_file`: the file that Spark takes the schema from where it is not the first of them: a summary, or data
    that it does not read. `passed_over`: a directory with data that is not read. `is_unfinished`: a write is being
    carried out, or was cut off, so that these are not what is seen in the directories.
    """

    files: list[DataFile]
    partitioning: Partitioning = Partitioning()
    schema_file: DataFile | None = None
    passed_over: str | None = None
    is_unfinished: bool = False


class _DirectoryPlace(NamedTuple):
    """Where the partition columns of a directory begin, and the `column=value` names from there on."""

    base: str
    parts: tuple[str, ...] = ()


def choose(
    named: Sequence[DataFile], roots: Sequence[str], directories: Mapping[str, list[DataFile]]
) -> PartitionListing:
    """Choose the files that Spark reads of those that it lists.

    `named`: files that were named themselves; `roots`: directories that were; `directories`: the files in each
    directory at or below those, by its path, which stands before a slash in theirs. WrongUse where Spark refuses.
    """
    named = [file for file in named if not is_unlisted(listed_name(file))]
    # Where files alone are named, nothing stands between their directories and them.
    beside = _by_parent(named if roots else ())
    inside = {**beside, **directories}
    bases = {*roots, *beside}
    data = {path: found for path, files in inside.items() if (found := _data(path, files))}
    places = {path: partition for path in data if (partition := _place(path, bases)) is not None}
    if any(partition.parts for partition in places.values()):
        return _partitioned(places, data, inside)
    # What was named twice is read twice.
    read = [file for file in named if not is_hidden(listed_name(file))]
    read += chain.from_iterable(data.get(root, ()) for root in roots)
    others = [file for file in named if is_hidden(listed_name(file))]
    others += chain.from_iterable(_others(inside.get(root, []), data.get(root)) for root in roots)
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
    others = (_others(files, data.get(path) if path in index_of else None) for path, files in inside.items())
    texts = tuple(tuple(part.partition("=")[2] for part in places[path].parts) for path in chosen)
    return _listing(
        list(chain.from_iterable(data[path] for path in chosen)),
        Partitioning(tuple(dict.fromkeys(names.values())), texts, index_of),
        chain.from_iterable(others),
        min(data.keys() - index_of.keys(), default=None),
    )


def _listing(
    data: list[DataFile], partitioning: Partitioning, others: Iterable[DataFile], passed_over: str | None
) -> PartitionListing:
    # Spark reads no empty file. In this order it looks for the file that gives the schema.
    filled = data if all(map(attrgetter("size"), data)) else [file for file in data if file.size]
    read = sorted(filled, key=attrgetter("path"))
    return PartitionListing(read, partitioning, _schema_file(read, others), passed_over)


def _others(files: list[DataFile], data: list[DataFile] | None) -> list[DataFile]:
    """Return the files of a directory that are not read."""
    if files is data:
        return []
    return [file for file in files if data is None or is_hidden(listed_name(file))]


def _schema_file(read: Sequence[DataFile], others: Iterable[DataFile]) -> DataFile | None:
    first: dict[str, DataFile] = {}
    for file in others:
        name = listed_name(file)
        kind = name if name in SUMMARIES else ""
        if (kind or file.size) and (kind not in first or file.path < first[kind].path):
            first[kind] = file
    if "" in first and read and read[0].path < first[""].path:
        del first[""]
    return next((first[kind] for kind in (*SUMMARIES, "") if kind in first), None)


def _by_parent(files: Iterable[DataFile]) -> dict[str, list[DataFile]]:
    found: dict[str, list[DataFile]] = {}
    for file in files:
        found.setdefault(file.path.rpartition("/")[0], []).append(file)
    return found


def _data(directory: str, files: list[DataFile]) -> list[DataFile]:
    """Return the files that may be data: the same list where all are."""
    # No path has a zero: one search finds a name that may be hidden among those of all.
    if f"\0{directory}/_" not in "\0".join(["", *map(attrgetter("path"), files)]):
        return files
    return [file for file in files if not is_hidden(listed_name(file))]


def _place(directory: str, bases: Collection[str]) -> _DirectoryPlace | None:
    """Return the partition parts of a directory and of those above it; None if Spark treats it as temporary."""
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
    # Spark compares them without regard to case.
    bases = {partition.base.lower(): partition.base for partition in places.values()}
    if len(bases) > 1:
        one, other = sorted(bases.values())[:2]
        raise WrongUse(
            f"{one or '/'} and {other or '/'}: conflicting directory structures, which Spark refuses: partition "
            "columns begin in more than one place; name one table, or move what is not part of it elsewhere"
        )


def _check_names(directories: Sequence[str], names: Sequence[tuple[str, ...]]) -> None:
    # Whether P=1 and p=2 are one column, settings of Spark decide.
    counts: dict[tuple[str, ...], int] = {}
    for i, of_one in enumerate(names):
        counts.setdefault(of_one, i)
    unlike = {tuple(name.lower() for name in of_one): i for of_one, i in reversed(counts.items())}
    if len(unlike) > 1:
        one, other = sorted(unlike.values())[:2]
        raise WrongUse(
            f"{directories[one]} and {directories[other]}: conflicting partition columns, which Spark refuses: "
            f"{', '.join(names[one])} and {', '.join(names[other])}; name one table, or move the other elsewhere"
        )
