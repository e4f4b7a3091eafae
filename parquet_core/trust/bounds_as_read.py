"""Bounds of one column over files that store it in several types, in the type that Spark reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.spark_rules.type_promotion import as_read, stored_form
from parquet_core.trust.bounds import concat_bounds, with_nulls
from parquet_core.trust.trusted_bounds import holds_nulls_alone, trusted_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from parquet_core.format.written_statistics import WrittenStatistics
    from parquet_core.trust.bounds import Bounds
    from parquet_core.trust.judgement import Trust


def bounds_as_read(
    column: LeafColumn, written: WrittenStatistics, trusts: Sequence[Trust], kind: NDArray[np.int64]
) -> Bounds:
    """Decode what may be trusted as `trusted_bounds` does, each entry by the type that its file stores."""
    found = _decoded(column, written, trusts, kind)
    otherwise = np.fromiter((trust.nulls_alone for trust in trusts), np.bool_, len(trusts))
    if not otherwise.any():
        return found
    return with_nulls(found, otherwise[kind] & holds_nulls_alone(column, written))


def _decoded(
    column: LeafColumn, written: WrittenStatistics, trusts: Sequence[Trust], kind: NDArray[np.int64]
) -> Bounds:
    if all(trust.stored is None for trust in trusts):
        return trusted_bounds(column, written, trusts, kind)
    forms: dict[object, int] = {}
    leaves = [column if trust.stored is None else trust.stored for trust in trusts]
    form = np.array([forms.setdefault(stored_form(leaf), len(forms)) for leaf in leaves], np.int64)[kind]
    places, parts = [], []
    for number, key in enumerate(forms.values()):
        at = np.flatnonzero(form == key)
        leaf = next(leaf for leaf in leaves if forms[stored_form(leaf)] == number)
        found = trusted_bounds(leaf, written[at], trusts, kind[at])
        places.append(at)
        parts.append(replace(found, lower=as_read(found.lower, column), upper=as_read(found.upper, column)))
    return concat_bounds(parts).take(np.argsort(np.concatenate(places)))
