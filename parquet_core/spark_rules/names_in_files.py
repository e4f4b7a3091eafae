"""Names of a table's columns in its files, which may differ in case.

Whether `id` and `ID` are one column depends on the session. Where they are, as by default, Spark's reader finds a
column that is not there as the table spells it under the only name that differs in case alone, in structs at each
depth, and refuses the file where there are two. Source: ParquetReadSupport.clipParquetSchema of Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from parquet_core.spark_rules.columns_in_files import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn, Path

# No column of a table: what a file holds beside those.
NOT_OF_THE_TABLE = "\x00not of the table"


@dataclass(frozen=True, slots=True)
class NamesInFiles:
    """What footers say with the names of their files, by kind; by column its `paths` there, if not its own alone.

    The first path is what the table goes by. `numbers`: by column its field id, where that alone tells the column, and
    a path may be another column in another file; None where names do.
    """

    kinds: tuple[Provenance, ...]
    paths: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)
    numbers: Mapping[Path, int] | None = None

    def of(self, column: Path) -> tuple[Path, ...]:
        """Return the paths under which files may hold a column."""
        return self.paths.get(column, (column,))


def names_in_files(
    kinds: tuple[Provenance, ...],
    named: Sequence[Provenance],
    expected: Mapping[Path, Path],
    *,
    numbers: Mapping[Path, int] | None = None,
) -> NamesInFiles:
    """Compare what footers say with the same under the names of the table.

    `expected`: the path that the table goes by in files, where that is not the column's own.
    """
    paths_of = {column: {path: None} for column, path in expected.items()}
    for stored, called in zip(kinds, named, strict=True):
        for leaf, to in zip(stored.columns, called.columns, strict=True):
            if leaf.path != to.path:
                paths_of.setdefault(to.path, {to.path: None})[leaf.path] = None
    differing = {column: tuple(paths) for column, paths in paths_of.items() if [*paths] != [column]}
    return NamesInFiles(kinds, differing, numbers)


def named_in_any_case(kind: Provenance, columns: Sequence[LeafColumn]) -> Provenance:
    """Return a footer's provenance with the table's spelling of names that differ in case alone."""
    spelled = spelled_otherwise([column.path for column in columns], kind)
    if not spelled:
        return kind
    return replace(kind, columns=tuple(replace(leaf, path=spelled.get(leaf.path, leaf.path)) for leaf in kind.columns))


def spelled_otherwise(wanted: Iterable[Path], kind: Provenance) -> dict[Path, Path]:
    """Return the table's paths of leaves of a file, by their own paths, where the two differ.

    Of leaves whose paths differ in case alone, none is a column of the table, even if one is spelled as there.
    """
    wanted = set(wanted)
    if wanted <= {leaf.path for leaf in kind.columns} and not _may_clash(kind):
        return {}
    spellings = _spellings(kind)
    by_leaf: dict[Path, list[Path]] = {}
    for path in wanted:
        there = [spellings.get(folded(path[:depth]), set()) for depth in range(1, len(path) + 1)]
        # A leaf at each depth, and not several names for it.
        if [len(each) for each in there] == [1] * len(path):
            (only,) = there[-1]
            if only == path or _is_plain(only, path):
                by_leaf.setdefault(only, []).append(path)
        for leaf in there[-1] if min(map(len, there)) else ():
            by_leaf.setdefault(leaf, [])
    named = {leaf: paths[0] if len(paths) == 1 else (NOT_OF_THE_TABLE, *leaf) for leaf, paths in by_leaf.items()}
    return {leaf: path for leaf, path in named.items() if leaf != path}


def _may_clash(kind: Provenance) -> bool:
    """Tell whether any two names of a file differ in case alone, wherever they stand."""
    names = {name for leaf in kind.columns for name in leaf.path}
    return len(set(folded(tuple(names)))) < len(names)


def _spellings(kind: Provenance) -> dict[Path, set[Path]]:
    """Return the beginnings of all paths by what is the same in any case."""
    spellings: dict[Path, set[Path]] = {}
    for leaf in kind.columns:
        for depth in range(1, len(leaf.path) + 1):
            spellings.setdefault(folded(leaf.path[:depth]), set()).add(leaf.path[:depth])
    return spellings


def _is_plain(*paths: Path) -> bool:
    # Of other letters Java's rules decide, which change with its version.
    return all(name.isascii() for path in paths for name in path)
