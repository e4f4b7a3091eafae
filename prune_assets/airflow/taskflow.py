"""TaskFlow: write the DataFrame of a decorated function as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk.bases.decorator import DecoratedOperator, determine_kwargs, task_decorator_factory

from prune_assets.airflow.writing import WriteTableOperator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airflow.sdk import Context
    from airflow.sdk.bases.decorator import TaskDecorator


class PrunedTableDecoratedOperator(DecoratedOperator, WriteTableOperator):
    """WriteTableOperator with a decorated function as its source."""

    custom_operator_name: ClassVar[str] = "@task.pruned_table"
    template_fields: Sequence[str] = (
        *DecoratedOperator.template_fields,
        *(name for name in WriteTableOperator.template_fields if name != "source"),
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **DecoratedOperator.template_fields_renderers,
        **WriteTableOperator.template_fields_renderers,
    }

    def __init__(
        self, *, python_callable: Callable[..., Any], op_kwargs: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None:
        # Airflow requires every argument in advance, but the session is only known when the task runs.
        given = {"spark": None, **(op_kwargs or {})}
        super().__init__(python_callable=python_callable, op_kwargs=given, source=python_callable, **kwargs)

    def execute(self, context: Context) -> Any:
        """Call the function with the session and its other arguments, and write its DataFrame."""
        arguments = determine_kwargs(self.python_callable, self.op_args, {**context, **self.op_kwargs})
        self.make_rows = lambda spark: self.python_callable(*self.op_args, **{**arguments, "spark": spark})
        return super().execute(context)


def pruned_table_task(python_callable: Callable[..., Any] | None = None, **kwargs: Any) -> TaskDecorator:
    """Make a task that writes the DataFrame of a function, as WriteTableOperator does.

    >>> from airflow.sdk import DAG, task
    >>> with DAG("orders", schedule="@daily"):
    ...     @task.pruned_table(table="lake/orders", layout={"sort_by": ["id"]}, mode="overwrite")
    ...     def orders(spark, day):
    ...         return spark.read.parquet("landing/orders").where(f"day = DATE '{day}'")
    ...     written = orders(day="{{ ds }}")
    >>> written.operator.table
    'lake/orders'

    The function has an argument `spark`, the session; an argument that has the name of an entry of Airflow's context
    receives the value of the entry. All other options are passed to WriteTableOperator.
    """
    return task_decorator_factory(
        python_callable=python_callable, decorated_operator_class=PrunedTableDecoratedOperator, **kwargs
    )
