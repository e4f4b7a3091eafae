"""Names of a table's columns in its files, which may differ in case.

The session decides whether `id` and `ID` are one column. By default they are: if a file lacks the table's spelling,
Spark reads the name that differs only in case, at each depth of structs, and refuses a file with two such names.
Source: ParquetReadSupport.clipParquetSchema of Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from parquet_core.spark_rules.columns_in_files import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn, Path

# First part of the path of a leaf that does not belong to any column of the table.
NOT_OF_THE_TABLE = "\x00not of the table"


@dataclass(frozen=True, slots=True)
class NamesInFiles:
    """Paths under which files hold the columns of a table.

    `provenances`: distinct footer contents except row groups; their schemas have the names of the files.
    `paths`: per column, its possible paths in files, beginning with the path that the table expects. A column is
    missing if its only path in files is its path in the table.
    `numbers`: per column, its field id, if ids identify columns; the same path may then be another column in another
    file. None if names identify columns.
    """

    provenances: tuple[Provenance, ...]
    paths: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)
    numbers: Mapping[Path, int] | None = None

    def of(self, column: Path) -> tuple[Path, ...]:
        """Return the paths under which files may hold a column."""
        return self.paths.get(column, (column,))


def names_in_files(
    provenances: tuple[Provenance, ...],
    named: Sequence[Provenance],
    expected: Mapping[Path, Path],
    *,
    numbers: Mapping[Path, int] | None = None,
) -> NamesInFiles:
    """Find the paths under which files hold the columns of a table.

    `provenances`: provenances of footers as stored.
    `named`: the same provenances with the table's names.
    `expected`: per column, the path that the table expects in files, if it is not the column's own.
    `numbers`: see `NamesInFiles`.
    """
    paths_of = {column: {path: None} for column, path in expected.items()}
    for stored, called in zip(provenances, named, strict=True):
        for leaf, to in zip(stored.columns, called.columns, strict=True):
            if leaf.path != to.path:
                paths_of.setdefault(to.path, {to.path: None})[leaf.path] = None
    differing = {column: tuple(paths) for column, paths in paths_of.items() if [*paths] != [column]}
    return NamesInFiles(provenances, differing, numbers)


def named_in_any_case(provenance: Provenance, columns: Sequence[LeafColumn]) -> Provenance:
    """Return a footer's provenance with the table's spelling of names.

    Names in the file that differ from the table's only in case are replaced.
    """
    spelled = spelled_otherwise([column.path for column in columns], provenance)
    if not spelled:
        return provenance
    return replace(
        provenance,
        columns=tuple(replace(leaf, path=spelled.get(leaf.path, leaf.path)) for leaf in provenance.columns),
    )


def spelled_otherwise(wanted: Iterable[Path], provenance: Provenance) -> dict[Path, Path]:
    """Return table paths by leaf path, for leaves that the file spells differently.

    Leaves whose paths differ only in case do not belong to the table, even if one has the spelling of the table.
    """
    wanted = set(wanted)
    if wanted <= {leaf.path for leaf in provenance.columns} and not _may_clash(provenance):
        return {}
    spellings = _spellings(provenance)
    by_leaf: dict[Path, list[Path]] = {}
    for path in wanted:
        there = [spellings.get(folded(path[:depth]), set()) for depth in range(1, len(path) + 1)]
        # Each depth has exactly one spelling.
        if [len(each) for each in there] == [1] * len(path):
            (only,) = there[-1]
            if only == path or _is_plain(only, path):
                by_leaf.setdefault(only, []).append(path)
        for leaf in there[-1] if min(map(len, there)) else ():
            by_leaf.setdefault(leaf, [])
    named = {leaf: paths[0] if len(paths) == 1 else (NOT_OF_THE_TABLE, *leaf) for leaf, paths in by_leaf.items()}
    return {leaf: path for leaf, path in named.items() if leaf != path}


def _may_clash(provenance: Provenance) -> bool:
    """Return True if names of a file, at any depth, differ only in case."""
    names = {name for leaf in provenance.columns for name in leaf.path}
    return len(set(folded(tuple(names)))) < len(names)


def _spellings(provenance: Provenance) -> dict[Path, set[Path]]:
    """Return the prefixes of all leaf paths, grouped by their case-folded form."""
    spellings: dict[Path, set[Path]] = {}
    for leaf in provenance.columns:
        for depth in range(1, len(leaf.path) + 1):
            spellings.setdefault(folded(leaf.path[:depth]), set()).add(leaf.path[:depth])
    return spellings


def _is_plain(*paths: Path) -> bool:
    # The case of other letters depends on the version of Java.
    return all(name.isascii() for path in paths for name in path)
