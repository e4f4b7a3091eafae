"""The health of a table: of its files, and of its log where it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.printable import redacted
from prune_assets.checks.health.file_health import check_footers
from prune_assets.checks.health.log_health import check_delta
from prune_assets.tables.delta import delta_table

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.layout.spec import Finding


def check_health(
    table: str | os.PathLike[str] | Sequence[str],
    index: MetadataIndex,
    partition: NDArray[np.int64] | None,
    *,
    allow: Sequence[str] = (),
) -> list[Finding]:
    """Tell what is wrong with a table whose footers are read already; `partition`: as `read_whole` returns it."""
    name = redacted(str(table))
    delta = delta_table(table, version=None, timestamp=None, allow=allow)
    if delta is None:
        return check_footers(index, partition, name)
    log, inspected = check_delta(delta)
    # The files say the same of their sizes as the log does.
    found = [finding for finding in log if finding.code != "log.small_files"]
    return [*check_footers(index, partition, name, clustered_by=inspected.clustered_by), *found]
