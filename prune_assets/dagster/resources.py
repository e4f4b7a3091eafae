"""Provide a Spark session to Dagster."""

from __future__ import annotations

import os
from contextlib import suppress
from inspect import getattr_static
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The main class of Java processes that PySpark or spark-submit start.
_MAIN_CLASS = b"org.apache.spark.deploy.SparkSubmit"

_MOST_SESSIONS = 2


class SparkSessionResource(dg.ConfigurableResource):  # type: ignore[type-arg]  # yields itself
    """A Spark session that starts when an asset first uses it.

    >>> from prune_assets.dagster import SparkSessionResource
    >>> resource = SparkSessionResource(master="local[4]", conf={"spark.driver.memory": "4g"})
    >>> resource.master
    'local[4]'

    Pass it to definitions as `resources={"spark": resource}`. A resource of your own works as well if it has a property
    `session` or, as in dagster-pyspark, `spark_session`.

    The session is never stopped: later steps of the same process reuse it, whereas a new session takes seconds to start
    and the Java process of a stopped session stays until Python ends. One process therefore has one set of options; use
    the in-process executor to serve a run with one Java process. Dagster's default executor starts a process for each
    step, and so a Java process for each step; a run of several such steps logs a warning.
    """

    master: str | None = Field(
        default=None, description="Spark master URL; by default the master of Spark's configuration."
    )
    app_name: str = Field(default="prune-assets", description="The application name in Spark's own tools.")
    conf: dict[str, str] = Field(default_factory=dict, description="Spark options in addition to the defaults.")

    @property
    def session(self) -> SparkSession:
        """Return the session of this process; start it if needed."""
        from prune_assets.spark.spark_session import spark_session

        return spark_session(master=self.master, app_name=self.app_name, conf=self.conf)


def session_for(context: dg.AssetExecutionContext) -> SparkSession:
    """Return the session of a step's `spark` resource.

    Log a warning if each step starts its own Java process.
    """
    executor, run = context.job_def.executor_def.name, context.run
    execution: Any = run.run_config.get("execution", {})
    in_process = "in_process" in execution.get("config", {})
    if executor.startswith("multi") and not in_process and len(context.job_def.nodes) > 1:
        context.log.warning(
            "each step of this run starts a process and a Java of its own, which takes seconds; "
            "Definitions(executor=dagster.in_process_executor) shares one process, and a pool limits how many "
            "steps run at once"
        )
    session = session_of(context.resources.spark)
    warn_of_many_sessions(context.log)
    return session


def warn_of_many_sessions(log: Any) -> None:
    """Log a warning if this user runs too many Spark sessions on this machine."""
    count = live_sessions()
    if count > _MOST_SESSIONS:
        message = (
            f"you run {count} Spark sessions on this machine, each with a Java of its own; in a backfill "
            "backfill_policy=dagster.BackfillPolicy.single_run() writes all partitions with one, and "
            "max_concurrent_runs or a pool limits how many run at once"
        )
        log.warning(message)


def session_of(resource: Any) -> SparkSession:
    """Return the session of the `spark` resource: the resource itself, or its `session` or `spark_session`."""
    if getattr_static(resource, "createDataFrame", None) is not None:
        return resource  # type: ignore[no-any-return]  # a session itself
    for name in ("session", "spark_session"):
        # A static lookup, because Dagster's resources warn about some names that they lack.
        if getattr_static(resource, name, None) is not None:
            return getattr(resource, name)  # type: ignore[no-any-return]  # a resource of anybody
    raise WrongUse(
        f"the resource spark is {type(resource).__name__}, which has no property `session`; use "
        "SparkSessionResource, or give your resource that property"
    )


def live_sessions(processes: Path = Path("/proc")) -> int:
    """Count this user's Java processes that serve a Spark session, according to `/proc`.

    >>> live_sessions() >= 0
    True

    A killed process is not counted. Returns 0 if the system has no `/proc` (macOS, Windows). Processes of other
    containers are not counted.
    """
    if not processes.exists():
        return 0
    count, user = 0, os.geteuid()
    for cmdline in processes.glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process ended meanwhile
            count += cmdline.stat().st_uid == user and _MAIN_CLASS in cmdline.read_bytes().split(b"\0")
    return count
