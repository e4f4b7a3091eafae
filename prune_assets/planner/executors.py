"""Read the metadata of very many files on Spark's executors.

Each task gets some files and the predicate, evaluates all levels as a plan does, and returns which of its files may
hold a matching row, with counts. Files that a task cannot read, or tasks that Spark cannot run, count as kept: the
driver then reads these files itself and raises their error.
"""

from __future__ import annotations

import atexit
import pickle
import re
import shutil
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np

from parquet_core.errors import PruneError, WrongUse
from parquet_core.printable import one_line, shown
from parquet_core.pruning import prune
from parquet_core.pruning.access_plan import Verdict
from parquet_core.pruning.file_answers import FoundElsewhere
from parquet_core.quantities import bytes_text, counted
from prune_assets.spark.local_options import is_local
from prune_assets.spark.spark_session import own_jobs

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.pruning.file_answers import FileAnswers
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.tables.table import Table, TablePart

# Setting of the Spark session: number of files from which its executors read the footers.
SETTING = "spark.prune.executorFiles"
# For fewer files the driver is fast enough: it takes 66 microseconds and 5 KB per file, with 2 cores and a local disk.
FROM_FILES = 100_000
# Number of files per task: a task reads them within seconds, also from an object store.
FILES_A_TASK = 2_000
_SHIPPED: WeakSet[SparkSession] = WeakSet()
_PACKAGES = ("parquet_core", "deltalog", "prune_assets")


def executor_files(session: SparkSession) -> int | None:
    """Return the number of files from which a session's executors read the footers; None if they never do.

    None is the default of local sessions. Raises WrongUse for a setting that is not a number.
    """
    setting = session.conf.get(SETTING, None)
    if setting is None:
        return None if is_local(session.conf.get("spark.master", None) or "local") else FROM_FILES
    if not setting.isdecimal():
        raise WrongUse(f"{SETTING}={shown(setting)}: must be a number of files, from 0")
    return int(setting)


class _Task(NamedTuple):
    """Input of one task: some files and a predicate.

    `answers`: outcomes that the driver already has for these files.
    """

    part: TablePart
    predicate: Predicate
    answers: FileAnswers
    pages: bool
    stores: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class _TaskResult:
    """Result of one task, per file.

    `levels`: number of files that each level excluded.
    `failure`: why the task read nothing.
    """

    kept: NDArray[np.bool_]
    rows: NDArray[np.int64]
    levels: Counter[str]
    requests: int = 0
    fetched: tuple[tuple[str, int], ...] = ()
    failure: str = ""


def ask_executors(
    session: SparkSession, table: Table, predicate: Predicate, answers: FileAnswers, *, pages: bool
) -> FoundElsewhere | None:
    """Evaluate the remaining unread files on the executors; None if there are too few of these files.

    `predicate`: predicate of `answers` without the leaves that only this process can evaluate.
    """
    least = executor_files(session)
    if least is None:
        return None
    chosen = np.flatnonzero(answers.left & table.unread())
    if len(chosen) < max(least, 1):
        return None
    from parquet_core.storage.objects import session_options

    stores = session_options()
    batches = np.array_split(chosen, -(-len(chosen) // FILES_A_TASK))
    try:
        tasks = [
            zlib.compress(
                pickle.dumps(_Task(table.part(batch), predicate, answers.take(batch), pages, stores)), level=1
            )
            for batch in batches
        ]
        with own_jobs(session, f"prune: metadata of {table.name}"):
            results = _run(session, tasks)
    except Exception as error:  # noqa: BLE001 - whatever Spark or pickle cannot do, the driver can
        return _without_executors(answers, _cause(error))
    surviving, rows = np.ones(len(answers.kept), np.bool_), np.full(len(answers.kept), -1, np.int64)
    for batch, of_task in zip(batches, results, strict=True):
        surviving[batch], rows[batch] = of_task.kept, of_task.rows
    return FoundElsewhere(surviving, rows, _describe_results(len(chosen), results))


def _without_executors(answers: FileAnswers, why: str) -> FoundElsewhere:
    files = len(answers.kept)
    words = f"Spark's executors could not read the footers, so the driver read them: {why}"
    return FoundElsewhere(np.ones(files, np.bool_), np.full(files, -1, np.int64), words)


def _cause(error: Exception) -> str:
    """Return the error of a failed task in one line.

    If Spark does not pass on the error raised in the task, return the first line of Spark's error.
    """
    lines = f"{type(error).__name__}: {error}".splitlines()
    raised = [line for line in lines[1:] if re.match(r"\w+(Error|Exception): ", line)]
    return one_line((raised or lines)[-1 if raised else 0])


def _describe_results(files: int, results: list[_TaskResult]) -> str:
    levels = sum((of_task.levels for of_task in results), Counter[str]())
    requests = sum(of_task.requests for of_task in results)
    size = sum(count for of_task in results for _, count in of_task.fetched)
    work = f"{counted(requests, 'read')}, {bytes_text(size)}"
    parts = [f"{counted(files, 'file')} read in {counted(len(results), 'task')} ({work})"]
    parts += [f"{level} skipped {count:,}" for level, count in levels.items()]
    failures = [of_task.failure for of_task in results if of_task.failure]
    if failures:
        parts.append(f"{counted(len(failures), 'task')} left the files to the driver; the first reason: {failures[0]}")
    return "; ".join(parts)


def _run(session: SparkSession, tasks: list[bytes]) -> list[_TaskResult]:
    """Run the tasks; the results are in the order of the tasks."""
    from pyspark.sql.functions import udf

    _ship(session)
    # Arrow would make Spark require pandas.
    answer = udf(answer_task, "binary", useArrow=False)
    rows = session.createDataFrame(list(enumerate(tasks)), "number long, task binary")
    answered = rows.repartition(len(tasks)).select("number", answer("task").alias("answer")).collect()
    by_position = {row["number"]: pickle.loads(row["answer"]) for row in answered}  # noqa: S301 - results of our own tasks
    return [by_position[position] for position in range(len(tasks))]


def answer_task(task: bytes) -> bytes:
    """Evaluate a task on an executor."""
    return pickle.dumps(_answer(pickle.loads(zlib.decompress(task))))  # noqa: S301 - our own task


def _answer(task: _Task) -> _TaskResult:
    from parquet_core.storage.objects import reach_as_session

    files = len(task.answers.kept)
    try:
        for bucket, options in task.stores.items():
            reach_as_session(bucket, options)
        return _evaluate_task(task, task.part.read_all(), files)
    except PruneError as error:
        return _TaskResult(np.ones(files, np.bool_), np.full(files, -1, np.int64), Counter(), failure=str(error))


def _evaluate_task(task: _Task, index: MetadataIndex, files: int) -> _TaskResult:
    # The index may begin with a file that only defines the schema and does not belong to the task.
    before = len(index.groups.files) - files
    answers = task.answers if before == 0 else task.answers.take(np.maximum(np.arange(-before, files), 0))
    evaluation = prune(task.predicate, index, pages=task.pages, files=answers)
    surviving, by_level = np.ones(len(index.groups.files), np.bool_), Counter[str]()
    remaining = [(state.level, state.remaining) for state in evaluation.of_row_groups]
    remaining.append((evaluation.pages.level, evaluation.access.verdict != Verdict.SKIP))
    for level, groups in remaining:
        left = np.zeros(len(index.groups.files), np.bool_)
        left[index.groups.file[groups]] = True
        by_level[level] += int(np.count_nonzero((surviving & ~left)[before:]))
        surviving &= left
    rows = np.bincount(index.groups.file, index.groups.row_count, minlength=len(index.groups.files)).astype(np.int64)
    traffic = index.groups.traffic
    return _TaskResult(surviving[before:], rows[before:], +by_level, traffic.requests, tuple(traffic.bytes.items()))


def put_rows(index: MetadataIndex, elsewhere: FoundElsewhere) -> None:
    """Set the row counts of the files that only the executors opened."""
    is_counted = (index.groups.ordinal < 0) & (elsewhere.rows[index.groups.file] > 0)
    rows = np.where(is_counted, elsewhere.rows[index.groups.file], index.groups.row_count)
    index.groups.put_row_count(rows, (index.groups.ordinal < 0) & ~is_counted)


def _ship(session: SparkSession) -> None:
    """Send the code of these packages to the executors, once per session; a classic local session has it already."""
    if session in _SHIPPED:
        return
    context: Any = getattr(session, "_sc", None)
    if context is None:
        session.addArtifacts(_packed(), pyfile=True)
    elif not is_local(context.master):
        context.addPyFile(_packed())
    _SHIPPED.add(session)


@cache
def _packed() -> str:
    """Pack the Python sources into a zip, without the compiled modules, which are optional."""
    folder = mkdtemp(prefix="prune-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    packed = Path(folder) / "prune_assets_for_executors.zip"
    top = Path(__file__).parents[2]
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in _PACKAGES:
            for source in sorted((top / package).rglob("*")):
                if source.suffix in {".py", ".json"}:
                    archive.write(source, source.relative_to(top))
    return str(packed)
