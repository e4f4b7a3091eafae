"""Run the demo's job through Dagster's own command line and wait until it is over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from examples.demo.jobs import DEMO_JOB
from examples.demo.settings import DIRECTORY_VARIABLE, SCALE_VARIABLE
from parquet_core.errors import PruneError, WrongUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from examples.demo.settings import DemoSettings

RUN_TAG = "prune/demo"
POLL_SECONDS = 0.5

# Dagster's default coordinator queues a launched job for a daemon, and no daemon runs here. This coordinator starts it
# at once; Dagster does not export the class publicly.
_INSTANCE = """\
# Written by `python -m examples.demo`.
telemetry: {enabled: false}
nux: {enabled: false}
run_coordinator:
  module: dagster._core.run_coordinator
  class: DefaultRunCoordinator
sensors: {use_threads: true, num_workers: 2}
schedules: {use_threads: true, num_workers: 2}
"""


class RunFailure(PruneError):
    """The demo run failed or timed out."""


def prepare_home(settings: DemoSettings) -> None:
    """Write the Dagster home of the demo; earlier runs in it are kept."""
    settings.dagster_home.mkdir(parents=True, exist_ok=True)
    (settings.dagster_home / "dagster.yaml").write_text(_INSTANCE, encoding="utf-8")


@contextmanager
def open_instance(settings: DemoSettings) -> Iterator[dg.DagsterInstance]:
    """Open the run history of the demo."""
    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as instance:
        yield instance


def launch(settings: DemoSettings, tag: str, *, workspace: Path) -> None:
    """Launch the job with the `dagster` command and tag its run.

    The command returns as soon as the run has started.
    """
    arguments = ["job", "launch", "-w", str(workspace), "-j", DEMO_JOB, "--tags", json.dumps({RUN_TAG: tag})]
    done = subprocess.run(  # noqa: S603 - our own arguments
        [sys.executable, "-m", "dagster", *arguments],
        check=False,
        cwd=workspace.parent,  # the directory from which Python can import examples.demo
        env=environment(settings),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        log = settings.dagster_home / "launch.log"
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise RunFailure(f"dagster job launch ended with {done.returncode}: {' '.join(last)}; all of it is in {log}")


def environment(settings: DemoSettings) -> dict[str, str]:
    """Return the environment in which Dagster loads the demo's definitions and history."""
    return {
        **os.environ,
        "DAGSTER_HOME": str(settings.dagster_home),
        "PYTHONWARNINGS": "ignore",
        DIRECTORY_VARIABLE: str(settings.directory),
        SCALE_VARIABLE: f"{settings.scale:g}",
    }


def find_workspace() -> Path:
    """Return `workspace.yaml` of the current directory or of the checkout; raises WrongUse if both are missing."""
    for directory in (Path.cwd(), Path(__file__).parents[2]):
        if (directory / "workspace.yaml").is_file():
            return directory / "workspace.yaml"
    raise WrongUse("workspace.yaml: not in this directory; run the demo from a checkout of prune-assets")


def wait(
    instance: dg.DagsterInstance, settings: DemoSettings, tag: str, *, seconds: float, progress: Callable[[str], None]
) -> dg.DagsterRun:
    """Wait for the run with the tag; raises RunFailure if it fails or takes longer than `seconds`.

    `progress`: called with one line for each step that ends.
    """
    deadline = time.monotonic() + seconds
    reported: set[str] = set()
    while True:
        run = _run_of(instance, tag)
        if run is not None:
            for step, line in _finished_steps(instance, run.run_id):
                if step not in reported:
                    reported.add(step)
                    progress(line)
            if run.is_finished:
                break
        if time.monotonic() > deadline:
            raise RunFailure(f"the run did not end within {seconds:.0f} s; {_log_of(settings, run)}")
        time.sleep(POLL_SECONDS)
    if not run.is_success:
        raise RunFailure(
            f"the run ended as {run.status.value}: {_first_error(instance, run)}; {_log_of(settings, run)}"
        )
    return run


def stop(instance: dg.DagsterInstance, tag: str) -> None:
    """Terminate the run with the tag, which has its own process and would continue."""
    run = _run_of(instance, tag)
    if run is not None and not run.is_finished:
        instance.run_launcher.terminate(run.run_id)


def _run_of(instance: dg.DagsterInstance, tag: str) -> dg.DagsterRun | None:
    return next(iter(instance.get_runs(filters=dg.RunsFilter(tags={RUN_TAG: tag}), limit=1)), None)


def _finished_steps(instance: dg.DagsterInstance, run_id: str) -> Iterator[tuple[str, str]]:
    for stats in instance.get_run_step_stats(run_id):
        if stats.start_time is not None and stats.end_time is not None:
            yield stats.step_key, f"{stats.step_key}  {stats.end_time - stats.start_time:.1f} s"


def _first_error(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    for entry in instance.all_logs(run.run_id):
        event = entry.dagster_event
        if event is not None and event.is_step_failure:
            error = event.step_failure_data.error
            while error is not None and error.cause is not None:
                error = error.cause
            text = str(event.message if error is None else error.message)
            return f"step {event.step_key}: {' '.join(text.split())[:500]}"
    return "no step failed"


def _log_of(settings: DemoSettings, run: dg.DagsterRun | None) -> str:
    storage = settings.dagster_home / "storage"
    return f"its log is in {storage if run is None else storage / run.run_id / 'compute_logs'}"
