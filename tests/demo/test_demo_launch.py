from __future__ import annotations

import dagster as dg
import pytest

from examples.demo.launch import RUN_TAG, RunFailure, environment, find_workspace, open_instance, prepare_home, wait
from examples.demo.settings import DemoSettings


@pytest.fixture
def settings(tmp_path):
    settings = DemoSettings(tmp_path, 0.1)
    prepare_home(settings)
    return settings


@dg.op
def fine():
    return 1


@dg.op
def fails():
    raise ValueError("the disk\nis full")


@dg.job
def good():
    fine()


@dg.job
def bad():
    fails()


def test_a_finished_run_is_found_by_its_tag_and_its_steps_are_told(settings):
    told = []
    with open_instance(settings) as instance:
        good.execute_in_process(instance=instance, tags={RUN_TAG: "other"})
        done = good.execute_in_process(instance=instance, tags={RUN_TAG: "mine"})
        run = wait(instance, settings, "mine", seconds=5, progress=told.append)
    assert run.run_id == done.run_id
    assert [line.split()[0] for line in told] == ["fine"]


def test_a_failed_run_names_the_step_its_error_and_the_log(settings):
    with open_instance(settings) as instance:
        run = bad.execute_in_process(instance=instance, tags={RUN_TAG: "mine"}, raise_on_error=False)
        with pytest.raises(RunFailure) as caught:
            wait(instance, settings, "mine", seconds=5, progress=print)
    assert "ended as FAILURE: step fails: ValueError: the disk is full" in str(caught.value)
    assert run.run_id in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_that_does_not_come_ends_in_time(settings):
    with open_instance(settings) as instance, pytest.raises(RunFailure, match="did not end within 0 s"):
        wait(instance, settings, "none", seconds=0, progress=print)


def test_runs_are_launched_without_a_daemon_and_told_to_nobody(settings):
    with open_instance(settings) as instance:
        assert "Queued" not in type(instance.run_coordinator).__name__
        assert instance.telemetry_enabled is False
        assert instance.nux_enabled is False


def test_the_subprocess_sees_the_same_folder_and_scale(settings):
    seen = DemoSettings.of(environment(settings))
    assert seen == settings


def test_the_workspace_is_found_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (find_workspace().parent / "pyproject.toml").is_file()
    (tmp_path / "workspace.yaml").write_text("load_from: []")
    assert find_workspace() == tmp_path / "workspace.yaml"
