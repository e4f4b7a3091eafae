"""Plans of many predicates on one table: its metadata are read once, and rows are flags over the whole table."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from
from parquet_core.dataset.opening import read_dataset
from parquet_core.pruning import evaluation, prune
from parquet_core.pruning.evidence import many_leaves, min_max, two_columns
from parquet_core.pruning.levels import BLOOM_FILTERS, DICTIONARIES, LEVELS
from parquet_core.pruning.predicate import Unsupported, leaves
from prune_assets.sql.lower import lower
from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.cursor import text_of
from prune_assets.sql.syntax.grammar import parse
from prune_assets.sql.syntax.lexer import tokenize
from prune_assets.tables.parquet.table import named_columns


class Rows(NamedTuple):
    """Rows of a plan that are kept (`ranges`) and proven (`matches`), one flag per row of the table."""

    ranges: np.ndarray
    matches: np.ndarray


class Planner:
    """Plans predicates on the files of a directory; row numbers continue from file to file, ordered by path."""

    def __init__(self, directory, semantics):
        self.index = read_dataset(directory)
        self.columns = named_columns(self.index)
        self.semantics = semantics
        self.base = np.cumsum(self.index.groups.row_count) - self.index.groups.row_count
        self.rows = int(self.index.groups.row_count.sum())
        self.paths = [file.path for file in self.index.groups.files]

    def lower(self, where):
        return lower(where, self.columns, semantics=self.semantics).predicate

    def weakened(self, sql):
        """Return a weaker predicate that is TRUE wherever `sql` is, without its unsupported parts."""
        tokens = tokenize(sql)
        return self._weakened(parse(sql, tokens), partial(text_of, sql=sql, tokens=tokens), "true")

    def _weakened(self, node, text, instead):
        match node:
            case nodes.Conjunction() | nodes.Disjunction():
                word = " AND " if isinstance(node, nodes.Conjunction) else " OR "
                return word.join(f"({self._weakened(part, text, instead)})" for part in (node.left, node.right))
            # The operand of `x IS NOT NULL` has no text of its own.
            case nodes.Negation(operand) if text(operand, brackets=False) != text(node, brackets=False):
                return f"NOT ({self._weakened(operand, text, 'false' if instead == 'true' else 'true')})"
            case _:
                return instead if refused(self.lower(text(node))) else text(node)

    def evaluate(self, predicate, *, pages=True):
        return prune(predicate, self.index, pages=pages)

    def plan(self, predicate, *, pages=True):
        access = self.evaluate(predicate, pages=pages).access
        return Rows(self.flags(access.ranges), self.flags(access.matches))

    def row_groups(self):
        """Yield for each row group its file, and one flag per row for the rows in it."""
        for group, file in enumerate(self.index.groups.file.tolist()):
            yield file, np.repeat(np.arange(len(self.index.groups.file)) == group, self.index.groups.row_count)

    def differs(self, path, number):
        """Return how the column of a file differs from the file that defines the schema; "" if it does not."""
        whole = {leaf.path: leaf for leaf in self.index.groups.columns}.get(path)
        mine = {
            leaf.path: leaf
            for leaf in self.index.groups.provenances[int(self.index.groups.provenance_ids[number])].columns
        }.get(path)
        if whole is None:
            return ""
        if mine is None:
            return "a file lacks the column"
        return "" if _storage(mine) == _storage(whole) else "a file stores it as another type than the table's"

    def flags_of(self, made):
        """Return the flags of the rows that a plan keeps; in its index, an unopened file counts as one row."""
        index = made.index
        base = np.cumsum(index.groups.row_count) - index.groups.row_count
        kept = np.zeros(int(index.groups.row_count.sum()), np.bool_)
        for start, stop in made.evaluation.access.ranges.as_dataset_rows(base).tolist():
            kept[start:stop] = True
        if index.groups.opened is None:
            return kept
        found = np.zeros(self.rows, np.bool_)
        opened = np.repeat(index.groups.opened[index.groups.file], index.groups.row_count)
        found[np.repeat(index.groups.opened[self.index.groups.file], self.index.groups.row_count)] = kept[opened]
        # If a kept file is not opened, all its rows are kept.
        for file in np.unique(np.repeat(index.groups.file, index.groups.row_count)[kept & ~opened]):
            found[np.repeat(self.index.groups.file == file, self.index.groups.row_count)] = True
        return found

    def flags(self, ranges):
        found = np.zeros(self.rows, np.bool_)
        for start, stop in ranges.as_dataset_rows(self.base).tolist():
            found[start:stop] = True
        return found


def _storage(leaf):
    return leaf.physical, leaf.type, leaf.type_length


def refused(predicate):
    """Return the reasons for which parts of a predicate are unsupported."""
    return sorted({leaf.reason for leaf in leaves(predicate) if isinstance(leaf, Unsupported)})


@contextmanager
def without_lookups():
    """Plan without bloom filters and dictionaries."""
    left = tuple(level for level in LEVELS if level not in {BLOOM_FILTERS, DICTIONARIES})
    with patch.object(evaluation, "LEVELS", left):
        yield


@contextmanager
def without_unseen_nan():
    """Plan like a reader that trusts bounds to include NaN: NaN exists only where it is counted."""
    presence_of = min_max.presence_of

    def seen(of):
        presence = presence_of(of)
        counted = flags_from(pc.fill_null(pc.greater(of.nan_count, 0), fill_value=False))
        return presence._replace(nan=presence.nan & counted)

    with ExitStack() as patches:
        for module in (min_max, many_leaves, two_columns):
            patches.enter_context(patch.object(module, "presence_of", seen))
        yield
