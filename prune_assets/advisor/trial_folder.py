"""Temporary folders for the layouts that `LayoutAdvice.verify` writes: hidden, next to the table.

The process holds a lock in its folder. The system releases the lock when the process ends for any reason, so a folder
with a free lock is abandoned: the next verification of the table, or `prune doctor TABLE`, removes it. Folders are
always on this machine, also for a table in a store. Machines that share a directory must share its locks.
"""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from parquet_core.errors import PruneError, UnsupportedFeature
from prune_assets.tables.writes.commit import delete_folder
from prune_assets.tables.writes.write_lock import LOCK, write_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Number of ranked layouts that are written.
LAYOUTS = 3
SAMPLE = "sample"
_CONTENTS = {LOCK, SAMPLE, *map(str, range(LAYOUTS))}
_SUFFIX = re.compile(r"[a-z0-9_]{8}")
# Seconds to wait while another process locks a new folder that looks abandoned.
_SECONDS = 30.0


@contextmanager
def trial_folder(parent: Path, name: str) -> Iterator[Path]:
    """Yield a new folder for layouts of table `name`, and remove it afterwards. Abandoned folders are removed first.

    Raises OSError if the folder cannot be made.
    """
    remove_abandoned(parent, name)
    folder = parent / f"{_prefix(name)}{uuid4().hex[:8]}"
    with ExitStack() as stack:
        folder.mkdir(mode=0o700)
        # Without locks in the file system, no other process removes the folder either.
        with suppress(UnsupportedFeature):
            stack.enter_context(write_lock(folder, timeout=_SECONDS))
        stack.callback(delete_folder, folder)
        yield folder


def remove_abandoned(parent: Path, name: str) -> tuple[str, ...]:
    """Remove the folders of table `name` that no process holds; return their paths."""
    return tuple(str(folder) for folder in sorted(_folders(parent, name)) if _removed(folder))


def _folders(parent: Path, name: str) -> Iterator[Path]:
    """Yield the folders that a verification made.

    Their contents are checked too, because another program may use such a name.
    """
    prefix = _prefix(name)
    with suppress(OSError):
        for path in parent.iterdir():
            if path.name.startswith(prefix) and _SUFFIX.fullmatch(path.name[len(prefix) :]) and _is_own(path):
                yield path


def _is_own(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink() and {entry.name for entry in path.iterdir()} <= _CONTENTS
    except OSError:
        return False


def _removed(folder: Path) -> bool:
    """Remove a folder unless another process holds it; False if it remains."""
    try:
        with write_lock(folder):
            delete_folder(folder)
    except PruneError:
        return False
    return not folder.exists()


def _prefix(name: str) -> str:
    return f".{name}-verify-"
