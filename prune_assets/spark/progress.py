"""Progress of a command on stderr."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from prune_assets.errors import DEBUG_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

    from pyspark import SparkContext, SparkStageInfo
    from pyspark.sql import SparkSession
    from rich.console import Console
    from rich.status import Status

_SECONDS = 0.3
# Minimum number of seconds between two log lines: if a new stage has started, and within one stage.
_BETWEEN_LINES = 2.0
_WITHIN_A_STAGE = 30.0


def start_session(*tables: str) -> SparkSession:
    """Return the Spark session of a command.

    Print to stderr that the session starts, which takes a while.
    `tables`: tables that Spark will read and write. Raises UnsupportedFeature, before Spark starts, for a table in a
    store whose driver Spark lacks. The session logs nothing: a command reports a failure in one line, where Spark would
    print a hundred.
    """
    import warnings

    from prune_assets.spark.drivers import check_drivers
    from prune_assets.spark.spark_session import spark_session
    from prune_assets.spark.supported import check_installed

    check_installed()
    # PySpark warns about pandas, which nothing here uses.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    check_drivers(*tables)
    _console().print("starting Spark ...", highlight=False)
    session = spark_session()
    context = getattr(session, "_sc", None)
    if context is not None and not os.environ.get(DEBUG_VARIABLE):
        context.setLogLevel("OFF")
    return session


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True)


def showing_progress(session: SparkSession) -> AbstractContextManager[None]:
    """Show the tasks of running stages on stderr; Spark Connect shows its own progress.

    If stderr is not a terminal, print a line when a stage starts and every 30 seconds while it runs.
    """
    context = getattr(session, "_sc", None)
    if context is None:
        return nullcontext()
    if _console().is_terminal:
        return showing("Spark starts", lambda: tasks_text(context))
    return _printing_stages(context)


@contextmanager
def _printing_stages(context: SparkContext) -> Iterator[None]:
    ended = threading.Event()
    watcher = threading.Thread(target=_print_stages, args=(context, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _print_stages(context: SparkContext, ended: threading.Event) -> None:
    console = _console()
    printed: Collection[int] = ()
    printed_at = time.monotonic() - _BETWEEN_LINES
    while not ended.wait(_SECONDS):
        stages = running_stages(context)
        waited = time.monotonic() - printed_at
        if stages and waited >= (_WITHIN_A_STAGE if stages.keys() == printed else _BETWEEN_LINES):
            stage_ids = ", ".join(map(str, sorted(stages)))
            named = f"stage{'s' if len(stages) > 1 else ''} {stage_ids}"
            console.print(f"Spark: {named}: {_tasks(stages.values())}", highlight=False)
            printed, printed_at = stages.keys(), time.monotonic()


@contextmanager
def showing(first: str, message: Callable[[], str]) -> Iterator[None]:
    """Show a changing text while the block runs.

    Without a terminal on stderr nothing is shown.
    """
    console = _console()
    if not console.is_terminal:
        yield
        return
    ended = threading.Event()
    with console.status(first) as status:
        watcher = threading.Thread(target=_watch, args=(message, status, ended), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def _watch(message: Callable[[], str], status: Status, ended: threading.Event) -> None:
    while not ended.wait(_SECONDS):
        status.update(message())


def tasks_text(context: SparkContext) -> str:
    """Return the number of finished tasks of the running stages as text."""
    stages = running_stages(context)
    return f"Spark: {_tasks(stages.values())}" if stages else "Spark plans"


def running_stages(context: SparkContext) -> dict[int, SparkStageInfo]:
    """Return the running stages, by number."""
    tracker = context.statusTracker()
    stages = {stage_id: tracker.getStageInfo(stage_id) for stage_id in tracker.getActiveStageIds()}
    return {stage_id: stage for stage_id, stage in stages.items() if stage is not None}


def _tasks(stages: Collection[SparkStageInfo]) -> str:
    done, whole = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
    return f"{done:,} of {whole:,} tasks done"
