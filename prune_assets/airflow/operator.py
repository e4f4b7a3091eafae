"""What the operators have in common: a table, retries that make sense, numbers for whoever comes after."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import Asset, BaseOperator

from prune_assets.airflow.task_errors import failing_in_one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from airflow.sdk import Context


class TableOperator(BaseOperator):
    """An operator on one table; `table`: a path, an address, or a name in a catalog.

    What `run` returns is the task's XCom, and the extra of the event of each asset among its `outlets`, with the
    partition where the run of the DAG has one. `retries`: 2 unless the task or `default_args` say otherwise, as a
    write counts wholly or not at all; what the user must mend is not tried again.
    """

    template_fields: Sequence[str] = ("table",)
    ui_color: ClassVar[str] = "#dcebe4"

    def __init__(self, *, table: str | Path, retries: int = 2, **kwargs: Any) -> None:
        super().__init__(retries=retries, **kwargs)
        self.table = table

    def execute(self, context: Context) -> dict[str, Any]:
        """Run, and tell the assets among the outlets what came of it."""
        with failing_in_one_line():
            figures = self.run_on_table(context)
        self._tell_outlets(context, figures)
        return figures

    @abstractmethod
    def run_on_table(self, context: Context) -> dict[str, Any]:
        """Do the work and return its numbers."""

    def _tell_outlets(self, context: Context, figures: Mapping[str, Any]) -> None:
        partition = getattr(context.get("dag_run"), "partition_key", None)
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                outlet_event = context["outlet_events"][outlet]
                outlet_event.extra.update(figures)
                if partition is not None:
                    outlet_event.extra["partition"] = partition
