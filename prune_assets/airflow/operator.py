"""The base of the operators: a table, checked arguments, sensible retries, figures, and the choice for no rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import Asset, BaseOperator
from airflow.sdk.exceptions import AirflowSkipException

from prune_assets.airflow import arguments
from prune_assets.airflow.task_errors import TableTaskError, failing_in_one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from airflow.sdk import Context

    from prune_assets.airflow.arguments import ArgumentCheck
    from prune_assets.checks.when_empty import WhenEmpty


class TableOperator(BaseOperator):
    """An operator on one table; `table`: a path, an address, or a name in a catalog.

    `when_empty`: what the task does where there are no rows to work on, as on a day without data. With "pass" it
    succeeds, and its XCom has `empty` True. With "skip" it is skipped, and so are the tasks after it, unless their
    trigger rules say otherwise. With "fail" it fails, and is not tried again.

    What `run` returns is the task's XCom, and the extra of the event of each asset among its `outlets`, with the
    partition where the run of the DAG has one. `retries`: 2 unless the task or `default_args` say otherwise, as a
    write counts wholly or not at all; what the user must mend is not tried again. Wrong arguments fail the parsing of
    the DAG; those with a template are checked once it is rendered.
    """

    template_fields: Sequence[str] = ("table",)
    ui_color: ClassVar[str] = "#dcebe4"
    # The arguments of each class, and what checks them.
    checks: ClassVar[Mapping[str, ArgumentCheck]] = {}
    # Ends the line of the log about a task without rows.
    when_empty_line: ClassVar[str] = "it has no rows"

    def __init__(self, *, table: str | Path, when_empty: WhenEmpty = "pass", retries: int = 2, **kwargs: Any) -> None:
        super().__init__(retries=retries, **kwargs)
        self.table = table
        self.when_empty = when_empty

    def check_arguments(self, *, rendered: bool = False) -> None:
        """Raise WrongUse for a wrong argument; each class does so when it is made."""
        common = {"table": arguments.table, "when_empty": arguments.when_empty}
        arguments.check_arguments(self, common | dict(self.checks), rendered=rendered)

    def execute(self, context: Context) -> dict[str, Any]:
        """Run, and tell the assets among the outlets what came of it."""
        with failing_in_one_line():
            self.check_arguments(rendered=True)
            figures = self.run_on_table(context)
            if figures.get("empty"):
                self._judge_empty(figures)
        self._tell_outlets(context, figures)
        return figures

    @abstractmethod
    def run_on_table(self, context: Context) -> dict[str, Any]:
        """Do the work and return its numbers; `empty` among them says that there were no rows."""

    def _judge_empty(self, figures: Mapping[str, Any]) -> None:
        line = f"{figures['table']}: {self.when_empty_line}"
        if self.when_empty == "skip":
            raise AirflowSkipException(line)
        if self.when_empty == "fail":
            raise TableTaskError(line)
        self.log.info(line)

    def _tell_outlets(self, context: Context, figures: Mapping[str, Any]) -> None:
        partition = getattr(context.get("dag_run"), "partition_key", None)
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                outlet_event = context["outlet_events"][outlet]
                outlet_event.extra.update(figures)
                if partition is not None:
                    outlet_event.extra["partition"] = partition
