"""Check that row groups have the bloom filters of the layout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.fix import Fix, Setting, Step
from parquet_core.format.schema import Physical
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.places import row_groups_place
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted
from parquet_core.trust.writer import PARQUET_JAVA, application_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.bound_layout import BoundLayout


def check_bloom_filters(bound: BoundLayout) -> Iterator[Finding]:
    """Report presence, size and fill per column, and why filters are missing."""
    index = bound.index
    positions = np.flatnonzero(index.groups.row_count > 0)
    for column in bound.bloom:
        filters = index.bloom_filters.read(column, positions)
        present = [blocks for blocks in filters if not isinstance(blocks, str)]
        if present:
            yield _presence(column, present, len(positions))
        absent = {int(p): blocks for p, blocks in zip(positions, filters, strict=True) if isinstance(blocks, str)}
        for (why, fix), alike in _by_cause(index, column, absent).items():
            yield Finding(
                "bloom_filter.absent",
                Severity.ERROR,
                row_groups_place(index, alike, column),
                f"no bloom filter in {len(alike):,} of {counted(len(positions), 'row group')}: {why}",
                columns=(column.name,),
                fix=fix,
            )


def _by_cause(index: MetadataIndex, column: LeafColumn, absent: dict[int, str]) -> dict[tuple[str, Fix], list[int]]:
    """Group row groups without a usable filter by cause and fix."""
    chunks = index.footers.chunks(column)
    by_cause: dict[tuple[str, Fix], list[int]] = {}
    causes: dict[tuple[object, ...], tuple[str, Fix]] = {}
    for position, reason in absent.items():
        # The cause depends on these values only. Nearly all of 100,000 row groups share them.
        signs = int(index.groups.provenance_ids[index.groups.file[position]]), chunks.dictionary_only[position], reason
        if signs not in causes:
            causes[signs] = _cause(index, column, position, reason)
        by_cause.setdefault(causes[signs], []).append(position)
    return by_cause


def _presence(column: LeafColumn, present: list[np.ndarray], row_groups: int) -> Finding:
    size = sum(blocks.nbytes for blocks in present)
    fill = [float(np.bitwise_count(blocks).sum()) / (blocks.nbytes * 8) for blocks in present]
    # A probe sets one bit in each of 8 words; all 8 are set by chance with probability fill ** 8.
    expected = float(np.mean([share**8 for share in fill]))
    return Finding(
        "bloom_filter.present",
        Severity.INFO,
        f"column {column.name}",
        f"in {len(present)} of {row_groups} row groups, {size:,} bytes in all; bits set {np.mean(fill):.1%}, "
        f"so about {expected:.2%} false positives",
    )


def _cause(index: MetadataIndex, column: LeafColumn, position: int, reason: object) -> tuple[str, Fix]:
    chunks = index.footers.chunks(column)
    if chunks.bloom_filter[position, 0] > 0:
        return f"the filter cannot be used: {reason}", Fix("write the file again")
    if column.physical is Physical.BOOLEAN:
        return "a boolean column cannot have one (confirmed by the schema)", Fix("remove it from the layout")
    created_by = index.groups.provenance(position).created_by
    in_dictionary = bool(chunks.dictionary_only[position] > 0)
    return _cause_by_writer(created_by, index.groups.name_in_files(column), in_dictionary=in_dictionary)


def _cause_by_writer(created_by: str, name: str, *, in_dictionary: bool) -> tuple[str, Fix]:
    """Return why this writer left the filter out, and the fix."""
    application = application_of(created_by)
    fix = Fix("rewrite the files: ", Step.OPTIMIZE)
    if in_dictionary:
        fix = replace(fix, before=f"remove {name} from `bloom` in the layout, or {fix.before}")
    if in_dictionary and application == PARQUET_JAVA:
        return (
            (
                "every data page is dictionary-encoded, and parquet-java writes no filter then; "
                "the dictionary answers the same question exactly (confirmed by the encodings)"
            ),
            replace(fix, setting=Setting.NO_DICTIONARY, value=name),
        )
    writer = _WRITERS.get(application)
    why = f"{created_by or 'an unnamed writer'} writes none by default (inferred)"
    if writer is not None:
        why, after = writer.why, writer.remedy.format(name=name)
        fix = replace(fix, after=after, setting=writer.setting, value=name)
    beside = "; every data page uses the dictionary, which can skip in place of the filter" if in_dictionary else ""
    return why + beside, fix


class _Writer(NamedTuple):
    why: str
    remedy: str = ""
    setting: Setting | None = None


_ARROW_RS = _Writer(
    "it was not requested when arrow-rs wrote the file (inferred)",
    ", or write with WriterProperties.set_column_bloom_filter_enabled, in deltalake with "
    "WriterProperties(column_properties={{'{name}': ColumnProperties(bloom_filter_properties="
    "BloomFilterProperties(True))}})",
)
# Known writers, keyed by their name in `created_by`.
_WRITERS = {
    PARQUET_JAVA: _Writer(
        "it was not requested when the file was written (inferred)",
        setting=Setting.BLOOM_FILTER,
    ),
    "parquet-cpp-arrow": _Writer(
        "it was not requested when pyarrow, or Arrow's C++ library, wrote the file (inferred)",
        ", or write with bloom_filter_options={{'{name}': True}} (pyarrow 24 or newer)",
    ),
    "DuckDB": _Writer(
        "DuckDB writes filters only for dictionary-encoded chunks, since version 1.2 (inferred)",
        ", or raise DICTIONARY_SIZE_LIMIT above the distinct values of {name} in a row group",
    ),
    "delta-rs": _ARROW_RS,
    "parquet-rs": _ARROW_RS,
}

BLOOM_FILTERS_PRESENT = Check(
    "bloom_filters_present",
    "The files have every bloom filter of the layout.",
    {
        "bloom_filter.present": Code("The bloom filter exists; the finding has its size and its false-positive rate."),
        "bloom_filter.absent": Code(
            "Row groups lack a bloom filter of the layout. The message says why: the writer of the file did not "
            "request the filter, or parquet-java omitted it because a dictionary answers the same question.",
        ),
    },
    check_bloom_filters,
)
