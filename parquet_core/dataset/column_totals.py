"""Bytes and data pages of columns per row group, summed from footers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from parquet_core.dataset.arrow_form import numbers_at
from parquet_core.format.chunk_decoding import Totals
from parquet_core.ragged import distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Positions
    from parquet_core.dataset.footer_columns import FooterSource
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.dataset.stored_index import KeptColumns
    from parquet_core.format.schema import LeafColumn, Path


@dataclass(slots=True)
class ColumnTotals:
    """Reader of column totals; caches the sums of each set of columns.

    Columns are summed together, since there may be thousands.
    """

    groups: RowGroupTable
    source: FooterSource
    kept: KeptColumns
    _totals: dict[str, Totals] = field(default_factory=dict)
    _unsaved: list[str] = field(default_factory=list)

    def read(self, columns: Sequence[LeafColumn]) -> Totals:
        """Return the totals over columns, one per row group of `groups.read_from()`."""
        paths = [self.groups.names.of(column.path) for column in columns]
        name = _name(paths)
        if name not in self._totals:
            self._totals[name] = self._read(name, paths)
        return self._totals[name]

    def _read(self, name: str, paths: Sequence[Sequence[Path]]) -> Totals:
        at = self.groups.read_from()
        kept = self.kept.read(name)
        groups = np.full(len(at), -1, np.int64) if kept is None else kept.groups[at]
        old, new = groups >= 0, groups < 0
        none = np.zeros(len(at), np.int64)
        totals = Totals(none, none.copy(), np.zeros(len(at), np.bool_))
        if kept is not None:
            for part, whole in zip(Totals._fields, totals, strict=True):
                whole[old] = numbers_at(kept.batch, part)[groups[old]]
        if new.any():
            for whole, parts in zip(totals, self._added_up(paths, at[new]), strict=True):
                whole[new] = np.concatenate(parts)
            self._unsaved.append(name)
        return totals

    def _added_up(self, paths: Sequence[Sequence[Path]], positions: Positions) -> list[tuple[NDArray[np.int64], ...]]:
        files = distinct(self.groups.opened_files(positions))
        return list(zip(*[footers.totals(paths) for footers in self.source.read(files)], strict=True))

    def save(self) -> None:
        """Write totals computed since the last `save` to the disk cache."""
        for name in self._unsaved:
            self.kept.write(name, self._totals[name]._asdict())
        self._unsaved.clear()


def _name(columns: Sequence[Sequence[Path]]) -> str:
    paths = ("\x00".join(path) for paths in columns for path in ("", *paths))
    return f"totals {xxhash.xxh3_128_hexdigest(chr(0).join(paths).encode(errors='surrogatepass'))}"
