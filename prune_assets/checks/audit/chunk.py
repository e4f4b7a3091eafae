"""Audit of one column chunk: compares its metadata with its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.bloom import can_hash, may_hold, probe_hashes
from prune_assets.checks.audit.claim_checks import CheckedClaims
from prune_assets.checks.audit.column_values import cast, read_column
from prune_assets.checks.audit.findings import ClaimSource, Findings, absent_value, findings_of_claims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.bloom import Blocks
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.layout.spec import Finding
    from parquet_core.trust.bounds import Bounds
    from parquet_core.values import ValueReader
    from prune_assets.checks.audit.column_values import ColumnPart


@dataclass(frozen=True, slots=True)
class Chunk:
    """Metadata claims about a column chunk.

    `leaf`: the column as the file stores it.
    `path`: its name in the file.
    `own`: claims about the whole chunk.
    `pages`: claims about its pages; None without pages.
    `first_row`: first row of each page.
    `container`: name of the row group, for findings.
    `key`: column and file, by which findings are grouped.
    """

    column: LeafColumn
    leaf: LeafColumn
    path: Path
    group: int
    own: Bounds
    pages: Bounds | None
    first_row: NDArray[np.int64]
    blocks: Blocks | None
    dictionary: pa.Array | None
    container: str
    key: str


@dataclass(slots=True)
class WholeFile:
    """Claims about a column in a whole file.

    `live`: flags of the rows that are not deleted, None if all count. `first_row`: first row of the current row group.
    """

    checked: CheckedClaims
    live: NDArray[np.bool_] | None
    first_row: int = 0

    def take(self, part: ColumnPart) -> None:
        """Compare the values of a part with the claims about the file; ignores deleted rows."""
        rows = self.first_row + part.first_row + np.arange(len(part.compared))
        values = part.compared
        if self.live is not None:
            # A file may have more rows than it claims; such rows are not deleted.
            here = np.ones(len(rows), np.bool_)
            here[rows < len(self.live)] = self.live[rows[rows < len(self.live)]]
            values, rows = values.filter(from_numpy(here)), rows[here]
        bounds = self.checked.claimed
        if len(bounds.lower.drop_null()) or len(bounds.upper.drop_null()):
            values = cast(values, bounds.lower.type)
        self.checked.take(values, np.zeros(len(values), np.int64), rows)


def audit_chunk(
    chunk: Chunk, values: ValueReader, of_file: Sequence[WholeFile], findings: Findings
) -> CheckedClaims | None:
    """Compare the values of a chunk with its claims, and report disproved ones.

    Returns the checked claims about its pages; None without pages.
    """
    own = CheckedClaims(chunk.own)
    pages = None if chunk.pages is None else CheckedClaims(chunk.pages)
    denied: dict[str, pa.Scalar] = {}
    for part in read_column(values, chunk.group, chunk.path, leaf=chunk.leaf, column=chunk.column):
        rows = part.first_row + np.arange(len(part.compared))
        own.take(part.compared, np.zeros(len(rows), np.int64), rows)
        if pages is not None:
            pages.take(part.compared, np.searchsorted(chunk.first_row, rows, side="right") - 1, rows)
        for whole in of_file:
            whole.take(part)
        _look_up(chunk, part, denied)
    _report(chunk, own, pages, denied, findings)
    return pages


def _look_up(chunk: Chunk, part: ColumnPart, denied: dict[str, pa.Scalar]) -> None:
    """Look up each distinct value in the bloom filter and the dictionary."""
    if chunk.blocks is not None and "bloom_filter" not in denied and can_hash(chunk.leaf):
        stored = cast(part.stored.unique().drop_null(), chunk.leaf.type or part.stored.type)
        if len(stored):
            _note("bloom_filter", stored, ~may_hold([chunk.blocks], probe_hashes(chunk.leaf, stored))[0], denied)
    if chunk.dictionary is not None and "dictionary" not in denied:
        compared = part.compared.unique().drop_null()
        present = flags_from(pc.is_in(_one_zero(compared), value_set=_one_zero(chunk.dictionary)))
        _note("dictionary", compared, ~present, denied)


def _note(what: str, values: pa.Array, absent: NDArray[np.bool_], denied: dict[str, pa.Scalar]) -> None:
    if absent.any():
        denied[what] = values[int(np.argmax(absent))]


def _one_zero(values: pa.Array) -> pa.Array:
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values


def _report(
    chunk: Chunk, own: CheckedClaims, pages: CheckedClaims | None, denied: dict[str, pa.Scalar], findings: Findings
) -> None:
    as_text = is_text(chunk.column)
    reported = _report_bounds(chunk, "row_group", "the row group", own, findings, as_text=as_text)
    if pages is not None:
        reported += _report_bounds(chunk, "page", "the page", pages, findings, as_text=as_text)
    for what, there in (("bloom_filter", chunk.blocks), ("dictionary", chunk.dictionary)):
        findings.claims[what] += there is not None
        if what in denied:
            claimed_by = f"the {what.replace('_', ' ')}"
            source = ClaimSource(what, claimed_by, chunk.container, chunk.column.name)
            reported.append(absent_value(source, denied[what], as_text=as_text))
    for finding in reported:
        findings.add(finding, chunk.key)


def _report_bounds(
    chunk: Chunk, prefix: str, claimed_by: str, checked: CheckedClaims, findings: Findings, *, as_text: bool
) -> list[Finding]:
    count_claims(findings, prefix, checked)
    return findings_of_claims(
        ClaimSource(prefix, claimed_by, chunk.container, chunk.column.name), checked, as_text=as_text, whole=True
    )


def count_claims(findings: Findings, prefix: str, checked: CheckedClaims) -> None:
    """Count the claims that are compared with values."""
    bounds, counts = checked.claims
    findings.claims[f"{prefix}_bounds"] += bounds
    findings.claims[f"{prefix}_counts"] += counts


def is_text(column: LeafColumn) -> bool:
    """Return True if values of the column are shown as text."""
    return column.type is not None and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type))
