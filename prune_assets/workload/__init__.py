"""What queries really ran: the filters, columns and bytes of each table's scans.

`prune_assets.workload` is this room and the function `pr.workload`, whichever was used first: the room can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prune_assets.workload.query_shapes import Workload


class _Room(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Workload:
        made: Workload = sys.modules["prune_assets"].__getattr__("workload")(*arguments, **options)
        return made


sys.modules[__name__].__class__ = _Room
