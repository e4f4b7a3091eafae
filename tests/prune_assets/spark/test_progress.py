from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from rich.console import Console

from prune_assets.spark import progress, spark_session
from prune_assets.spark.progress import showing_progress, start_session, tasks_text


def context(*stages):
    tracker = SimpleNamespace(getActiveStageIds=lambda: range(len(stages)), getStageInfo=lambda number: stages[number])
    return SimpleNamespace(statusTracker=lambda: tracker)


def stage(done, tasks):
    return SimpleNamespace(numCompletedTasks=done, numTasks=tasks)


def test_tasks_of_all_running_stages_are_counted():
    assert tasks_text(context(stage(3, 8), stage(1_000, 2_000))) == "Spark: 1,003 of 2,008 tasks done"


def test_a_stage_that_has_ended_meanwhile_is_left_out():
    assert tasks_text(context(None)) == "Spark plans"


def test_no_terminal_is_shown_nothing(capsys):
    with showing_progress(SimpleNamespace(_sc=context(stage(1, 2)))):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def at_once(monkeypatch):
    """Lines of a log without the time between them."""
    for name in ("_SECONDS", "_BETWEEN_LINES"):
        monkeypatch.setattr(progress, name, 0.0)


def test_a_log_gets_a_line_for_each_stage(capsys, at_once):
    shown = [[], [0], [0], [0, 1], [2], []]
    stages, seen = {0: stage(1, 8), 1: stage(0, 4), 2: stage(5, 9)}, threading.Event()

    def active():
        if not shown:
            seen.set()
        return shown.pop(0) if shown else []

    tracker = SimpleNamespace(getActiveStageIds=active, getStageInfo=stages.get)
    spark = SimpleNamespace(_sc=SimpleNamespace(statusTracker=lambda: tracker))
    with showing_progress(spark):
        assert seen.wait(30)
    assert capsys.readouterr().err.splitlines() == [
        "Spark: stage 0: 1 of 8 tasks done",
        "Spark: stages 0, 1: 1 of 12 tasks done",
        "Spark: stage 2: 5 of 9 tasks done",
    ]


def test_a_log_of_many_stages_gets_few_lines(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    count, seen = iter(range(10_000)), threading.Event()

    def active():
        number = next(count)
        if number > 200:
            seen.set()
        return [number]

    tracker = SimpleNamespace(getActiveStageIds=active, getStageInfo=lambda _: stage(0, 1))
    with showing_progress(SimpleNamespace(_sc=SimpleNamespace(statusTracker=lambda: tracker))):
        assert seen.wait(30)
    assert len(capsys.readouterr().err.splitlines()) < 20


@pytest.mark.parametrize("is_terminal", [True, False])
def test_that_spark_starts_is_told_on_terminals_and_in_logs(is_terminal, capsys, monkeypatch):
    said = []
    monkeypatch.setattr(spark_session, "spark_session", lambda: said.append(capsys.readouterr()) or "session")
    monkeypatch.setattr(Console, "is_terminal", is_terminal)
    assert start_session() == "session"
    assert said == [("", "starting Spark ...\n")]


@pytest.mark.parametrize(("debug", "levels"), [("", ["OFF"]), ("1", [])])
def test_spark_logs_nothing_beside_a_command_unless_asked(debug, levels, monkeypatch):
    """For a failed task, Spark logs a stack trace of a hundred lines; the command prints one line."""
    set_to = []
    session = SimpleNamespace(_sc=SimpleNamespace(setLogLevel=set_to.append))
    monkeypatch.setattr(spark_session, "spark_session", lambda: session)
    monkeypatch.setenv("PRUNE_DEBUG", debug)
    assert start_session() is session
    assert set_to == levels
