"""What follows a commit and never makes it fail: a checkpoint every so many versions, and log clean-up."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

INTERVAL, DEFAULT_INTERVAL = "delta.checkpointInterval", 10

Notes = tuple[str, ...]


def checkpoint_due(version: int, properties: Mapping[str, str]) -> bool:
    """Tell whether a version is to have a checkpoint.

    >>> checkpoint_due(20, {}), checkpoint_due(20, {"delta.checkpointInterval": "15"}), checkpoint_due(0, {})
    (True, False, False)
    """
    try:
        interval = int(properties.get(INTERVAL, DEFAULT_INTERVAL))
    except ValueError:
        interval = DEFAULT_INTERVAL
    return version > 0 and interval > 0 and version % interval == 0


def write_checkpoint(table: str, version: int) -> object:
    """Write the checkpoint of a version, and clean up after it; the answer may have `notes`."""
    from deltalog.maintenance.write_checkpoint import write_checkpoint as write

    return write(table, version)


def post_commit(
    table: str, version: int, *, wait: bool, write: Callable[[str, int], object] | None = None
) -> Future[Notes]:
    """Start what follows a commit; the result is what went wrong with it. Never raises.

    Unless it is waited for it runs beside what comes next, and the process ends after it.
    """
    done: Future[Notes] = Future()

    def follow() -> None:
        try:
            written = (write_checkpoint if write is None else write)(table, version)
        except Exception as error:  # noqa: BLE001 - the commit is there, whatever happens to its checkpoint
            said = str(error) or type(error).__name__
            done.set_result((f"the checkpoint of version {version} was not written: {said}",))
        else:
            # What went wrong behind the checkpoint: cleaning up.
            done.set_result(tuple(getattr(written, "notes", ())))

    if wait:
        follow()
        return done
    try:
        Thread(target=follow, name=f"checkpoint {version}").start()
    except RuntimeError as error:
        # The interpreter is on its way out, or there are too many threads.
        done.set_result((f"the checkpoint of version {version} was not written: {error}",))
    return done
