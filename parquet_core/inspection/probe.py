"""Look up one value in every bloom filter of a column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.bloom import can_hash, may_hold, probe_hashes
from parquet_core.errors import WrongUse
from parquet_core.fix import Fix, Step
from parquet_core.inspection.facts import BloomProbe, ProbeFacts
from parquet_core.inspection.values import parse_value
from parquet_core.printable import listed, redacted
from parquet_core.spark_rules.columns_in_files import leaf_in_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.bloom import Blocks
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn

_OTHER_TYPE = "the file lacks the column, stores it as another type, or has two of its name"


def probed_column(index: MetadataIndex, columns: Sequence[LeafColumn]) -> LeafColumn:
    """Return the column whose bloom filters are probed.

    It is the only chosen column, or the only chosen column with filters. Raises WrongUse if that does not determine
    one column.
    """
    if len(columns) == 1:
        return columns[0]
    filtered = [column for column in columns if (index.footers.chunks(column).bloom_filter[:, 0] > 0).any()]
    if len(filtered) == 1:
        return filtered[0]
    if not filtered:
        raise WrongUse(
            "--bloom: no column has a bloom filter",
            Fix(
                "name one in `bloom` of layout.yaml, and rewrite the files: ",
                Step.WRITE_TABLE,
                "; or write with the option parquet.bloom.filter.enabled#NAME=true in Spark",
            ),
        )
    names = listed(column.name for column in filtered)
    raise WrongUse(f"--bloom: {len(filtered)} columns have bloom filters ({names}); choose one with --columns")


def probe_filters(index: MetadataIndex, column: LeafColumn, literal: str) -> BloomProbe:
    """Look up a value in a column's bloom filter of every row group.

    `literal`: the value as text. Raises WrongUse for text that is not a value of the column's type, and for a column
    whose values cannot be hashed.
    """
    # Filters answer lookups even if predicates on the column do not prune.
    hashable = replace(column, unsupported="")
    if not can_hash(hashable):
        stored = column.physical.name if column.type is None else f"{column.type}, stored as {column.physical.name}"
        raise WrongUse(
            f"--bloom: values of {column.name} ({stored}) have no hash in a bloom filter; choose another column"
        )
    probes = probe_hashes(hashable, parse_value(hashable, literal))
    filters = _filters(index, column)
    probed = [i for i, filter_ in enumerate(filters) if not isinstance(filter_, str)]
    answers = may_hold([filter_ for filter_ in filters if not isinstance(filter_, str)], probes)[:, 0].tolist()
    maybe = dict(zip(probed, answers, strict=True))
    return BloomProbe(
        column.name, literal, tuple(_fact(index, i, maybe.get(i), filter_) for i, filter_ in enumerate(filters))
    )


def _filters(index: MetadataIndex, column: LeafColumn) -> list[Blocks | str]:
    alike = np.array([_has_alone(column, footer_kind) for footer_kind in index.groups.provenances], np.bool_)
    of_column = alike[index.groups.provenance_ids[index.groups.file]]
    filters: list[Blocks | str] = [_OTHER_TYPE] * len(index)
    positions = np.flatnonzero(of_column)
    for position, blocks in zip(positions.tolist(), index.bloom_filters.read(column, positions), strict=True):
        filters[position] = blocks
    return filters


def _has_alone(column: LeafColumn, footer_kind: Provenance) -> bool:
    # parquet-java keys filters by the dotted path: if two columns share a path, one gets the other's filter.
    names = sum(leaf.name == column.name for leaf in footer_kind.columns)
    leaf = leaf_in_file(column, footer_kind)
    return names == 1 and leaf is not None and bool(leaf.type == column.type)


def _fact(index: MetadataIndex, position: int, maybe: bool | None, blocks: Blocks | str) -> ProbeFacts:  # noqa: FBT001 - three answers
    file, row_group = (
        redacted(index.groups.files[int(index.groups.file[position])].path),
        int(index.groups.ordinal[position]),
    )
    if isinstance(blocks, str):
        return ProbeFacts(file, row_group, "unknown", blocks)
    return ProbeFacts(file, row_group, "maybe" if maybe else "absent", "")
