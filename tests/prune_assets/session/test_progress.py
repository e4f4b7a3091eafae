from __future__ import annotations

from types import SimpleNamespace

import pytest
from rich.console import Console

from prune_assets.session import spark_session
from prune_assets.session.progress import showing_progress, start_session, tasks_text


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


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_is_told_that_spark_starts(is_terminal, capsys, monkeypatch):
    said = []
    monkeypatch.setattr(spark_session, "spark_session", lambda: said.append(capsys.readouterr()) or "session")
    monkeypatch.setattr(Console, "is_terminal", is_terminal)
    assert start_session() == "session"
    assert said == [("", "starting Spark ...\n" if is_terminal else "")]


@pytest.mark.parametrize(("debug", "levels"), [("", ["OFF"]), ("1", [])])
def test_spark_logs_nothing_beside_a_command_unless_asked(debug, levels, monkeypatch):
    """Of a task that fails Spark logs a stack of a hundred lines; the command says it in one."""
    set_to = []
    session = SimpleNamespace(_sc=SimpleNamespace(setLogLevel=set_to.append))
    monkeypatch.setattr(spark_session, "spark_session", lambda: session)
    monkeypatch.setenv("PRUNE_DEBUG", debug)
    assert start_session() is session
    assert set_to == levels
