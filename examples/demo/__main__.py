"""Run the demo and print its results: `python -m examples.demo`."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING
from uuid import uuid4

from rich.console import Console
from rich.markup import escape

from examples.demo.launch import find_workspace, launch, open_instance, prepare_home, stop, wait
from examples.demo.settings import DemoSettings
from examples.demo.summary import failed_checks, print_summary, read_results, rows_differ
from parquet_core.errors import PruneError, StorageFailure, WrongUse
from prune_assets.errors import JavaFailure

if TYPE_CHECKING:
    from pathlib import Path

SECONDS_AT_LEAST = 900.0
SECONDS_PER_SCALE = 1800.0


def main() -> int:
    """Run the demo.

    Returns 0 if pruning changed no result, 1 if rows differ, 2 for wrong use, 3 for storage or Java failures.
    """
    errors = Console(stderr=True)
    started = time.monotonic()
    # SIGTERM ends the Dagster run too, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        settings = DemoSettings.of()
        workspace = find_workspace()
        return _run(settings, workspace, started, errors)
    except WrongUse as error:
        errors.print(f"[red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        return 2
    except (StorageFailure, JavaFailure) as error:
        errors.print(f"[red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        return 3
    except KeyboardInterrupt:
        errors.print("[red]stopped[/]")
        return 130
    except PruneError as error:
        errors.print(f"[red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        return 1


def _run(settings: DemoSettings, workspace: Path, started: float, errors: Console) -> int:
    prepare_home(settings)
    errors.print(f"TPC-H at scale {settings.scale:g} in {settings.directory}, through Dagster:", highlight=False)
    limit = max(SECONDS_AT_LEAST, SECONDS_PER_SCALE * settings.scale)
    with open_instance(settings) as instance:
        tag = uuid4().hex
        try:
            launch(settings, tag, workspace=workspace)
            run = wait(
                instance, settings, tag, seconds=limit, progress=lambda line: errors.print(f"  {line}", highlight=False)
            )
        except BaseException:
            stop(instance, tag)
            raise
        results = read_results(instance, run.run_id)
        failed = failed_checks(instance, run.run_id)
    console = Console(width=max(150, Console().width))
    print_summary(console, results, failed)
    console.print(f"reports: {settings.reports}/*/*.html", highlight=False, soft_wrap=True)
    console.print(f"same run in Dagster's UI: {_ui_command(settings, workspace)}", highlight=False, soft_wrap=True)
    console.print(f"{time.monotonic() - started:.0f} s in all")
    return 1 if rows_differ(results) else 0


def _ui_command(settings: DemoSettings, workspace: Path) -> str:
    return (
        f"DAGSTER_HOME={settings.dagster_home} PRUNE_DEMO_DIR={settings.directory} SF={settings.scale:g} "
        f"{os.path.relpath(sys.executable)} -m dagster dev -w {os.path.relpath(workspace)}"
    )


if __name__ == "__main__":
    sys.exit(main())
