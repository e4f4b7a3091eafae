"""How far Spark is, on a terminal, while a command waits for it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from rich.status import Status

_SECONDS = 0.3


def start_session() -> SparkSession:
    """Return the Spark session of a command; on a terminal, say on stderr that it starts, which takes a while."""
    import warnings

    from rich.console import Console

    from prune_assets.session.spark_session import spark_session

    # Of PySpark's own about pandas, which nothing here asks for.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    console = Console(stderr=True)
    if console.is_terminal:
        console.print("starting Spark ...", highlight=False)
    return spark_session()


@contextmanager
def showing_progress(session: SparkSession) -> Iterator[None]:
    """Show the tasks of the stages that run, on stderr where that is a terminal; Spark Connect shows its own."""
    from rich.console import Console

    console, context = Console(stderr=True), getattr(session, "_sc", None)
    if context is None or not console.is_terminal:
        yield
        return
    ended = threading.Event()
    with console.status("Spark starts") as status:
        watcher = threading.Thread(target=_watch, args=(context, status, ended), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def _watch(context: SparkContext, status: Status, ended: threading.Event) -> None:
    while not ended.wait(_SECONDS):
        status.update(tasks_text(context))


def tasks_text(context: SparkContext) -> str:
    """Say how many tasks of the running stages are done."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    if not known:
        return "Spark plans"
    done, whole = sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
    return f"Spark: {done:,} of {whole:,} tasks done"
