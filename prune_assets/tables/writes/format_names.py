"""Names of the formats with a writer, without slow imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Sequence

# The entries of `FORMATS` in `prune_assets.tables.opening` that have a writer.
WRITTEN = ("parquet", "iceberg", "delta")


def check_format(name: object, choices: Sequence[str] = WRITTEN) -> None:
    """Raise WrongUse for an unknown format name; None means the format of the table.

    >>> check_format("detla")
    Traceback (most recent call last):
    parquet_core.errors.WrongUse: format='detla': choose 'parquet' or 'iceberg' or 'delta'
    """
    if name is not None and name not in choices:
        raise WrongUse(f"format={name!r}: choose {' or '.join(map(repr, choices))}")
