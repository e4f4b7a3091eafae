"""How far a command is, on a terminal, while somebody waits for it."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from prune_assets.errors import DEBUG_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from rich.status import Status

_SECONDS = 0.3


def start_session() -> SparkSession:
    """Return the Spark session of a command; on a terminal, say on stderr that it starts, which takes a while.

    It logs nothing: a command ends what fails in one line, beside which Spark would print a hundred.
    """
    import warnings

    from rich.console import Console

    from prune_assets.session.spark_session import spark_session

    # Of PySpark's own about pandas, which nothing here asks for.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    console = Console(stderr=True)
    if console.is_terminal:
        console.print("starting Spark ...", highlight=False)
    session = spark_session()
    context = getattr(session, "_sc", None)
    if context is not None and not os.environ.get(DEBUG_VARIABLE):
        context.setLogLevel("OFF")
    return session


def showing_progress(session: SparkSession) -> AbstractContextManager[None]:
    """Show the tasks of the stages that run, on stderr where that is a terminal; Spark Connect shows its own."""
    context = getattr(session, "_sc", None)
    return nullcontext() if context is None else showing("Spark starts", lambda: tasks_text(context))


@contextmanager
def showing(first: str, text: Callable[[], str]) -> Iterator[None]:
    """Show a text that changes while the block runs, on stderr where that is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    ended = threading.Event()
    with console.status(first) as status:
        watcher = threading.Thread(target=_watch, args=(text, status, ended), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def _watch(text: Callable[[], str], status: Status, ended: threading.Event) -> None:
    while not ended.wait(_SECONDS):
        status.update(text())


def tasks_text(context: SparkContext) -> str:
    """Say how many tasks of the running stages are done."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    if not known:
        return "Spark plans"
    done, whole = sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
    return f"Spark: {done:,} of {whole:,} tasks done"
