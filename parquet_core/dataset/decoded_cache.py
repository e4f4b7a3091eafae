"""What a process keeps in memory of the tables that it read: metadata as they were decoded, the latest used.

A key names a list of files in one state, so what is kept is never asked about files that changed. What is kept is not
changed either: who takes something that may change copies it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Hashable

MOST_BYTES = 128 << 20
_OBJECT_BYTES = 64


@dataclass(slots=True)
class DecodedCache:
    """Values by key; beyond `most_bytes` those that were used least recently are let go of."""

    most_bytes: int = MOST_BYTES
    used_bytes: int = 0
    _values: dict[Hashable, tuple[Any, int]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: Hashable) -> Any | None:
        """Return the value of a key, or None."""
        with self._lock:
            entry = self._values.pop(key, None)
            if entry is None:
                return None
            self._values[key] = entry
            return entry[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of `size` bytes instead of what was under its key; not one that takes half of the room."""
        with self._lock:
            self.used_bytes -= self._values.pop(key, (None, 0))[1]
            if size > self.most_bytes // 2:
                return
            self._values[key] = value, size
            self.used_bytes += size
            while self.used_bytes > self.most_bytes:
                self.used_bytes -= self._values.pop(next(iter(self._values)))[1]


def bytes_of(value: Any) -> int:
    """Return about how much memory a value takes: its arrays, and a flat sum for every other object.

    >>> bytes_of({"numbers": np.zeros(100, np.int64)})
    928
    """
    if isinstance(value, np.ndarray | pa.Array):
        return int(value.nbytes) + _OBJECT_BYTES
    if is_dataclass(value):
        return sum(bytes_of(getattr(value, part.name)) for part in fields(value))
    if isinstance(value, dict):
        return sum(map(bytes_of, value)) + sum(map(bytes_of, value.values()))
    return sum(map(bytes_of, value)) if isinstance(value, tuple | list) else _OBJECT_BYTES
