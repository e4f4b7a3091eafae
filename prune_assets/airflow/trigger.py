"""A trigger that fires when a table changes.

It serves a waiting sensor or a watched asset.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from prune_assets.airflow.poll import NO_TABLE, poll_table

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

_KEY = "prune-assets/seen"


class TableChangeTrigger(BaseEventTrigger):
    """Fire when the version of a Delta table, or the files of another table, change.

    >>> from prune_assets.airflow import TableChangeTrigger
    >>> trigger = TableChangeTrigger("/lake/orders", poke_interval=30)
    >>> trigger.serialize()[1]["table"]
    '/lake/orders'

    Each poll lists the table in its own thread; the next poll follows after `poke_interval` seconds. The event is a
    dictionary of `table`, `version` (Delta only), `fingerprint`, `changes`, `partitions` (values of the partitions
    whose files were added, removed or changed) and `where` (a condition that selects the rows of these partitions).
    If the changed partitions are unknown, `partitions` is None and `where` is "true". They are unknown for tables
    without partition columns, for partitions by times or transforms, for more than 2,000 partitions, and with `since`.

    For a watched asset the trigger fires on every change. The state is stored with the asset (Airflow 3.3 and later),
    so that changes are noticed even if no triggerer runs at the time. Read errors are logged.

    For a sensor the trigger fires once.

    `since`: earlier state of the table, which a sensor passes; None for a watched asset.
    `version`: version of a Delta table at which the trigger of a sensor fires; None for the next change.
    `patient`: if True, a sensor's trigger waits while the table is missing or damaged; otherwise it fires with `table`
    and `error`.
    """

    def __init__(
        self,
        table: str,
        *,
        poke_interval: float = 60.0,
        since: Sequence[Any] | None = None,
        version: int | None = None,
        patient: bool = False,
    ) -> None:
        super().__init__()
        self.table = table
        self.poke_interval = poke_interval
        self.since = since
        self.version = version
        self.patient = patient

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its plain arguments."""
        return f"{__name__}.{type(self).__name__}", {
            "table": self.table,
            "poke_interval": self.poke_interval,
            "since": None if self.since is None else list(self.since),
            "version": self.version,
            "patient": self.patient,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until there is an event to yield; forever for a watched asset."""
        from parquet_core.errors import PruneError, StorageFailure, TableNotFound

        before = self.since or await self._restored()
        while True:
            try:
                seen, event = await asyncio.to_thread(poll_table, self.table, before, self.version)
            except PruneError as error:
                if self.since and not self.patient and not isinstance(error, StorageFailure):
                    yield TriggerEvent({"table": self.table, "error": str(error)})
                    return
                self.log.warning("%s; retrying in %s s", error, f"{self.poke_interval:g}")
                if before is None and isinstance(error, TableNotFound):
                    before = NO_TABLE
            else:
                if event is not None:
                    yield TriggerEvent(event)
                if event is not None and self.since:
                    return
                # The state is stored after the event, so that a lost event is sent again.
                await self._save_state(before, seen)
                before = seen
            await asyncio.sleep(self.poke_interval)

    def _stores(self) -> list[Any]:
        """Return the stores of the watched assets; empty before Airflow 3.3.

        Airflow runs one trigger for all assets whose triggers have the same arguments.
        """
        store = getattr(self, "asset_state_store", None)
        if store is None:
            return []
        of_assets = [*getattr(store, "_by_name", {}).values(), *getattr(store, "_by_uri", {}).values()]
        return of_assets or [store]

    async def _restored(self) -> Any:
        kept = [await store.aget(_KEY) for store in self._stores()]
        return next((seen for seen in kept if seen is not None), None)

    async def _save_state(self, before: Sequence[Any] | None, seen: list[Any]) -> None:
        if before is None or list(before) != seen:
            for store in self._stores():
                await store.aset(_KEY, seen)
