"""A sensor that waits for a table to change without occupying a worker."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.sdk.exceptions import AirflowSkipException

from prune_assets.airflow import arguments
from prune_assets.airflow.poll import NO_TABLE, poll_table
from prune_assets.airflow.task_errors import TableTaskError, failing_in_one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from airflow.sdk import Context


class TableChangeSensor(BaseSensorOperator):
    """Wait until the files or the Delta version of a table change.

    >>> from prune_assets.airflow import TableChangeSensor
    >>> wait = TableChangeSensor(task_id="wait_for_orders", table="/lake/orders", poke_interval=30)
    >>> wait.deferrable
    True

    `table`: a path or an address; a relative path denotes another location in each process.
    `since`: the version or fingerprint to compare with, e.g. from the event of an earlier run; by default the state at
    the first poll.
    `version`: wait until a Delta table has this version or a later one, instead of any change.
    `deferrable`: wait in the triggerer, without a worker; if False, the sensor waits in the worker as `mode` says.

    A missing table fails the task at once; with `soft_fail` the task is skipped, and with `silent_fail` the sensor
    keeps waiting. If the storage does not respond, the sensor keeps waiting until `timeout`. The XCom is the event:
    `table`, `version`, `fingerprint`, `changes`, `partitions` and `where`, as in TableChangeTrigger.
    """

    template_fields: Sequence[str] = ("table", "since", "version")

    def __init__(
        self,
        *,
        table: str | Path,
        since: str | int | None = None,
        version: int | str | None = None,
        deferrable: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not deferrable and self.reschedule and since is None and version is None:
            raise ValueError("mode='reschedule' does not remember earlier pokes; keep deferrable=True, or pass `since`")
        self.table = table
        self.since = since
        self.version = version
        self.deferrable = deferrable
        self._seen: Sequence[Any] | None = None
        arguments.check_arguments(self, {"table": arguments.table, "version": _check_version}, rendered=False)

    def execute(self, context: Context) -> Any:
        """Poll once, then defer to the trigger."""
        if not self.deferrable:
            return super().execute(context)
        try:
            event = self._look()
        except TableTaskError as error:
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException(str(error)) from None
            raise
        if event is None:
            self._defer()
        return event

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002 - Airflow's signature
        """Poll once, in the worker."""
        event = self._look()
        return PokeReturnValue(is_done=event is not None, xcom_value=event)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - see above
        """Return the event of the trigger, or raise its error."""
        with failing_in_one_line():
            if "error" in event:
                self.log.error(event["error"])
                raise TableTaskError(event["error"])
        self.log.info("%s: changed, %s", event["table"], event["fingerprint"])
        return event

    def _look(self) -> dict[str, Any] | None:
        from parquet_core.errors import PruneError, StorageFailure, TableNotFound

        if self._seen is None:
            self._seen = _given(self.since)
        with failing_in_one_line():
            try:
                self._seen, event = poll_table(str(self.table), self._seen, self._version())
            except PruneError as error:
                if not self.silent_fail and not isinstance(error, StorageFailure):
                    raise
                self.log.warning("%s; retrying in %s s", error, f"{self.poke_interval:g}")
                if self._seen is None and isinstance(error, TableNotFound):
                    self._seen = NO_TABLE
                return None
        return event

    def _version(self) -> int | None:
        _check_version("version", self.version)
        return None if self.version is None else int(self.version)

    def _defer(self) -> None:
        from prune_assets.airflow.trigger import TableChangeTrigger

        self.defer(
            trigger=TableChangeTrigger(
                str(self.table),
                poke_interval=self.poke_interval,
                since=self._seen,
                version=self._version(),
                patient=self.silent_fail,
            ),
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )


def _check_version(_name: str, version: int | str | None) -> None:
    from parquet_core.errors import WrongUse

    if version is not None and not (isinstance(version, int | str) and str(version).strip().isdecimal()):
        raise WrongUse(f"version = {version!r}: give a version number, e.g. 12")


def _given(since: str | int | None) -> tuple[str, int] | None:
    """Parse an earlier version or fingerprint as a polled state; a template renders a version as a string.

    >>> _given("12"), _given("version 12"), _given("0a1b2c"), _given(None)
    (('version 12', 0), ('version 12', 0), ('0a1b2c', 0), None)
    """
    if since is None:
        return None
    from prune_assets.tables.changes import fingerprint_text

    text = str(since)
    return fingerprint_text(int(text) if text.isdecimal() else text), 0
