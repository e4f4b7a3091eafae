"""Fetch together what the levels of a plan would ask an object store for one after another."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from parquet_core.evidence.bloom import probes
from parquet_core.ragged import distinct
from parquet_core.storage import IN_FLIGHT, read_ahead

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from prune_assets.planner.levels.pruning_query import PruningQuery

    # Row groups, and the (start, length) of what is wanted of each.
    Ranges: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


def filters_to_read(query: PruningQuery, left: NDArray[np.int64]) -> list[Ranges]:
    """Return the bloom filters of row groups that are neither at hand nor kept, of columns that are looked up."""
    filters = query.index.bloom_filters
    looked_up = [it for it, numbers in query.by_column() if any(probes(query.parts[i]) is not None for i in numbers)]
    missing = [(it, filters.missing(it, left[filters.may_exist(it)[left]], may_be_folded=True)) for it in looked_up]
    return [(at, query.index.footers.chunks(column).bloom_filter[at]) for column, at in missing if len(at)]


def fetch_ahead(
    query: PruningQuery, left: NDArray[np.int64], filters: list[Ranges], located: Sequence[LeafColumn]
) -> None:
    """Fetch filters and the page indexes of the row groups that are left, if that is one round of requests.

    `located`: columns whose pages will be read. Of more files than can be asked at once the filters come first: they
    may rule most of them out.
    """
    index = query.index
    if len(distinct(index.file[left])) > IN_FLIGHT:
        return
    indexes = index.page_indexes.missing(query.columns_with_metadata() if query.of_pages else (), located, left)
    wanted: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for positions, ranges in [*filters, *((it.positions, it.ranges) for it in indexes)]:
        for file, (start, length) in zip(index.file[positions].tolist(), ranges.tolist(), strict=True):
            if start > 0 and length > 0:
                wanted[file].append((start, length))
    read_ahead([(index.files[i], ranges) for i, ranges in wanted.items()], purpose="index", traffic=index.traffic)
