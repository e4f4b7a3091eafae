from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import prune_assets as pr
from parquet_core.errors import MalformedFile, PruneError, StaleTable, StorageFailure, TableNotFound, UnsupportedFeature
from prune_assets import __version__, cli
from prune_assets.errors import JavaFailure, WrongUse


@pytest.fixture
def prune(monkeypatch):
    """Run `prune` with a command `fail` that raises the given exception."""

    def run(error: BaseException):
        @click.command()
        def fail() -> None:
            raise error

        monkeypatch.setattr(cli.Commands, "get_command", lambda *_: fail)
        return CliRunner().invoke(cli.main, ["fail"])

    monkeypatch.delenv(cli.DEBUG_VARIABLE, raising=False)
    return run


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TableNotFound("t: no such table"), 2),
        (MalformedFile("t: cut off"), 2),
        (UnsupportedFeature("t: encrypted"), 2),
        (StorageFailure("t: no answer"), 3),
        (JavaFailure("t: no Java"), 3),
        (StaleTable("t: changed"), 3),
        (PruneError("t: other"), 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_is_one_line_on_stderr_and_an_exit_code(prune, error, code):
    result = prune(error)
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", f"error: {error}\n")


def test_a_message_of_more_lines_or_with_controls_stays_one_line(prune):
    assert prune(StorageFailure("a\nb\x1b[2J")).stderr == "error: a\\nb\\x1b[2J\n"


def test_a_fault_of_the_program_shows_no_traceback_unless_asked(prune, monkeypatch):
    result = prune(KeyError("x"))
    assert result.exit_code == 3
    assert result.stderr == "error: KeyError: 'x'; run with PRUNE_DEBUG=1 for the traceback\n"
    monkeypatch.setenv(cli.DEBUG_VARIABLE, "1")
    result = prune(KeyError("x"))
    assert result.exit_code == 3
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("traceback\n")


def test_an_error_of_java_is_its_message_without_the_stack(prune):
    from py4j.protocol import Py4JError

    stack = "An error.\n: a.b.Failed: gone\n\tat a.b\nCaused by: c.E: [BAD_FILE] Of x.\n\tat c\nCaused by: d.E: y"
    result = prune(Py4JError(stack))
    assert result.exit_code == 3
    assert (
        result.stderr == "error: Spark failed: [BAD_FILE] Of x.; run with PRUNE_DEBUG=1 for the full message of Spark\n"
    )


def test_an_interrupt_is_not_taken_for_findings(prune):
    result = prune(KeyboardInterrupt())
    assert (result.exit_code, result.stderr) == (130, "error: interrupted\n")


def test_an_error_while_an_interrupted_command_cleans_up_does_not_hide_the_interrupt(prune):
    """After an interrupt py4j may read the answer to another command, and raise it."""
    failed = ValueError("an answer to another command")
    failed.__context__ = RuntimeError("in between")
    failed.__context__.__context__ = KeyboardInterrupt()
    result = prune(failed)
    assert (result.exit_code, result.stderr) == (130, "error: interrupted\n")


SIGNALLED = """
import os, signal, sys, threading
import click
from prune_assets import cli

def command():
    print("handler", signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, file=sys.stderr)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait()
    finally:
        os.kill(os.getpid(), signal.SIGTERM)  # `timeout` sends it to the process and to its group
        print("cleaned up", file=sys.stderr)

cli.Commands.get_command = lambda *_: click.Command("x", callback=command)
"""


def test_sigterm_ends_a_command_as_an_interrupt_does_and_what_it_wrote_is_removed():
    done = run(f"{SIGNALLED}\ncli.main(['x'])")
    assert (done.returncode, done.stdout) == (143, "")
    assert done.stderr == "handler False\ncleaned up\nerror: terminated\n"


def test_sigterm_calls_the_handler_of_interrupts_which_cancels_the_jobs_of_spark():
    handler = "signal.signal(signal.SIGINT, lambda *_: print('jobs cancelled', file=sys.stderr))"
    done = run(f"{SIGNALLED}\n{handler}\ncli.main(['x'])")
    assert (done.returncode, done.stderr) == (143, "handler False\njobs cancelled\ncleaned up\nerror: terminated\n")


def test_a_handler_of_interrupts_that_fails_does_not_keep_the_command_alive():
    handler = "signal.signal(signal.SIGINT, lambda *_: 1 / 0)"
    done = run(f"{SIGNALLED}\n{handler}\ncli.main(['x'])")
    assert (done.returncode, done.stderr) == (143, "handler False\ncleaned up\nerror: terminated\n")


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_a_program_that_embeds_the_commands_keeps_its_handler(prune, handler):
    before = signal.signal(signal.SIGTERM, handler)
    try:
        assert prune(StorageFailure("x")).exit_code == 3
        assert signal.getsignal(signal.SIGTERM) == handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_handler_is_gone_when_the_command_has_ended_and_no_thread_sets_one(prune):
    from concurrent.futures import ThreadPoolExecutor

    assert prune(StorageFailure("x")).exit_code == 3
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(prune, StorageFailure("x")).result().exit_code == 3


def test_a_connection_that_broke_is_told(prune):
    result = prune(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert result.exit_code == 3
    assert "BrokenPipeError" in result.stderr


def test_wrong_options_end_with_2():
    for arguments in (["no-such-command"], ["doctor", "--no-such-option"], ["explain"]):
        result = CliRunner().invoke(cli.main, arguments)
        assert (result.exit_code, result.stdout) == (2, ""), arguments


def test_version_is_one_line_and_names_what_decides():
    import platform

    import pyarrow as pa
    import pyspark

    others = f"Python {platform.python_version()}, Spark {pyspark.__version__}, pyarrow {pa.__version__}"
    assert CliRunner().invoke(cli.main, ["--version"]).output == f"prune {__version__} ({others})\n"


def test_version_says_what_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert "without Spark" in CliRunner().invoke(cli.main, ["--version"]).output


def test_version_imports_nothing_heavy():
    code = """
import sys
from prune_assets.cli import main
main(["--version"], standalone_mode=False)
print(sorted({"pyspark", "dagster", "airflow", "sqlglot", "pyarrow", "numpy"} & set(sys.modules)), file=sys.stderr)
"""
    assert run(code).stderr == "[]\n"


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_the_list_of_commands_says_what_their_own_help_says(name):
    command = cli.main.get_command(click.Context(cli.main), name)
    assert command.name == name
    assert command.help.splitlines()[0] == cli.COMMANDS[name]


def test_every_command_of_the_directory_is_listed():
    from pathlib import Path

    import prune_assets.cli

    files = Path(prune_assets.cli.__file__).parent.glob("*.py")
    assert {file.stem for file in files} - {
        "__init__",
        "__main__",
        "installation",
        "notes",
        "quantities",
        "row_selection",
    } == set(cli.COMMANDS)


def run(code: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, **options
    )


def test_help_imports_no_command_and_nothing_heavy():
    code = """
import sys
from prune_assets.cli import COMMANDS, main
main(["--help"], standalone_mode=False)
heavy = {"pyspark", "dagster", "airflow", "sqlglot", "pyarrow", "numpy", "rich", "msgspec"}
commands = {f"prune_assets.cli.{name}" for name in COMMANDS}
print(sorted((heavy | commands) & set(sys.modules)), file=sys.stderr)
"""
    done = run(code)
    assert done.stderr == "[]\n"
    assert "explain" in done.stdout


def test_a_reader_that_leaves_is_no_error(tmp_path):
    """As in `prune doctor | true`: the reader's end is closed before anything is written."""
    source, target = os.pipe()
    os.close(source)
    code = "import click\nfrom prune_assets import cli\n"
    code += "cli.Commands.get_command = lambda *_: click.Command('x', callback=lambda: click.echo('y' * 100_000))\n"
    code += "cli.main(['x'])"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=target, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path
    )
    os.close(target)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    ("words", "found"),
    [("prune ex", {"explain"}), ("prune explain --min", {"--min-skipped"}), ("prune explain t", {"t"})],
)
def test_the_shell_is_told_how_a_word_goes_on(words, found):
    asked = {"_PRUNE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    code = "from prune_assets.cli import main; main(prog_name='prune')"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, **asked}, capture_output=True, text=True
    )
    assert {line.partition(",")[2] for line in done.stdout.split()} == found


@pytest.mark.parametrize("name", ["", *sorted(cli.COMMANDS)])
def test_help_shows_each_example_on_a_line_of_its_own(name):
    text = CliRunner().invoke(cli.main, [*name.split(), "--help"]).stdout
    assert "\\b" not in text
    examples = set(re.findall(r"^    (?:\$ )?prune (\w+)", text, re.MULTILINE))
    assert examples, "an example is missing, or was wrapped into a paragraph"
    assert examples <= ({name} if name else set(cli.COMMANDS))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("explan", "Error: No such command 'explan'. Did you mean 'explain'?"),
        ("CHECK", "Error: No such command 'CHECK'. Did you mean 'check'?"),
        ("xyz", "Error: No such command 'xyz'."),
    ],
)
def test_a_command_that_is_misspelt_is_told_the_nearest(name, problem):
    result = CliRunner().invoke(cli.main, [name, "t"])
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, problem)


def test_a_pattern_that_the_shell_has_replaced_is_told_from_too_many_words():
    result = CliRunner().invoke(cli.main, ["explain", "a.parquet", "b.parquet", "--where", "x = 1"])
    assert result.exit_code == 2
    assert "(b.parquet). Put a condition in quotes" in result.stderr


def test_a_time_zone_is_no_session(tmp_path):
    with pytest.raises(WrongUse, match=r"semantics='UTC' is a str; give .* pr\.SparkSemantics\(time_zone=\.\.\)"):
        pr.count(tmp_path, where="x = 1", semantics="UTC")
