"""The base class of operators on one table."""

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
    """An operator on one table; `table`: a path, an address, or a catalog name.

    `when_empty`: behavior of a task that has no rows to work on, for example on a day without data. "pass": the task
    succeeds, and its XCom has `empty` True. "skip": the task is skipped, and so are the tasks after it, unless their
    trigger rules differ. "fail": the task fails without retries.

    The result of `run_on_table` becomes the task's XCom. The asset event of each outlet has the same result as its
    extra, and the partition if the DAG run has one.
    `retries`: 2 unless the task or `default_args` set it, since writes are atomic; errors that the user must fix are
    not retried. Wrong arguments fail the parsing of the DAG; arguments with a template are checked after rendering.
    """

    template_fields: Sequence[str] = ("table",)
    ui_color: ClassVar[str] = "#dcebe4"
    # Arguments of each class, with their checks.
    checks: ClassVar[Mapping[str, ArgumentCheck]] = {}
    # End of the log line of a task without rows.
    when_empty_line: ClassVar[str] = "it has no rows"

    def __init__(self, *, table: str | Path, when_empty: WhenEmpty = "pass", retries: int = 2, **kwargs: Any) -> None:
        super().__init__(retries=retries, **kwargs)
        self.table = table
        self.when_empty = when_empty

    def check_arguments(self, *, rendered: bool = False) -> None:
        """Raise WrongUse for a wrong argument; subclasses call it in their constructors."""
        common = {"table": arguments.table, "when_empty": arguments.when_empty}
        arguments.check_arguments(self, common | dict(self.checks), rendered=rendered)

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the task, and add its figures to the events of the asset outlets."""
        with failing_in_one_line():
            self.check_arguments(rendered=True)
            figures = self.run_on_table(context)
            if figures.get("empty"):
                self._judge_empty(figures)
        self._add_to_outlets(context, figures)
        return figures

    @abstractmethod
    def run_on_table(self, context: Context) -> dict[str, Any]:
        """Do the work and return its figures.

        The key `empty` is True if there were no rows.
        """

    def _judge_empty(self, figures: Mapping[str, Any]) -> None:
        line = f"{figures['table']}: {self.when_empty_line}"
        if self.when_empty == "skip":
            raise AirflowSkipException(line)
        if self.when_empty == "fail":
            raise TableTaskError(line)
        self.log.info(line)

    def _add_to_outlets(self, context: Context, figures: Mapping[str, Any]) -> None:
        partition = getattr(context.get("dag_run"), "partition_key", None)
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                outlet_event = context["outlet_events"][outlet]
                outlet_event.extra.update(figures)
                if partition is not None:
                    outlet_event.extra["partition"] = partition
