"""The clustering columns of a table, from its `delta.clustering` domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from deltalog.errors import MalformedLog

if TYPE_CHECKING:
    from collections.abc import Mapping

CLUSTERING = "delta.clustering"


class _Said(msgspec.Struct, rename="camel"):
    clustering_columns: list[tuple[str, ...]]


def clustering_columns(domains: Mapping[str, str], *, place: str) -> tuple[tuple[str, ...], ...]:
    """Return the physical paths of the columns, none when the table is not clustered.

    >>> clustering_columns({"delta.clustering": '{"clusteringColumns": [["a", "b"]]}'}, place="t")
    (('a', 'b'),)
    """
    if CLUSTERING not in domains:
        return ()
    try:
        return tuple(msgspec.json.decode(domains[CLUSTERING], type=_Said).clustering_columns)
    except msgspec.DecodeError as error:
        raise MalformedLog(f"{place}: the domain {CLUSTERING} is damaged ({error}); cluster the table anew") from None
