"""Run the blocks of a guide in order in one directory, as its reader would.

A block of ```python is run; a ```text after it is its output. A ```yaml that begins with `# NAME` is the file of that
name. In ```console, the text after `$ ` is typed, and the next lines are the output, where `...` stands for any text;
only `prune` and `echo $?` are run. Blocks of other languages, including ```sh, are not run. DAGs are loaded by
tests/test_airflow_example.py if Airflow is installed.
"""

from __future__ import annotations

import io
import re
import shlex
from contextlib import redirect_stdout
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path
from typing import NamedTuple

import yaml
from click.testing import CliRunner

from prune_assets.cli import main

_BLOCK = re.compile(r"^```(python|text|yaml|console)\n((?!from airflow).*?)^```$", flags=re.DOTALL | re.MULTILINE)
_TYPED = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", flags=re.MULTILINE)
_PROGRESS = re.compile(r"^starting Spark \.\.\.\n", flags=re.MULTILINE)
_NEEDS_SPARK = re.compile(r"^\$ prune (write|optimize)(?!.* --dry-run)|\bspark\b", flags=re.MULTILINE)


class Block(NamedTuple):
    language: str
    text: str


def blocks_of(text):
    return [Block(*found) for found in _BLOCK.findall(text)]


def needs_spark(block):
    return block.language in {"python", "console"} and bool(_NEEDS_SPARK.search(block.text))


def run_blocks(blocks, name, **names):
    """Run blocks in the current directory; `names`: variables for the code of the guide."""
    printed = None
    for block in blocks:
        match block.language:
            case "python":
                with redirect_stdout(io.StringIO()) as written:
                    exec(compile(block.text, name, "exec"), names)
                printed = written.getvalue()
            case "text" if printed is not None:
                assert_shown(block.text, printed)
            case "yaml":
                write_file(block.text)
            case "console":
                type_in(block.text)
        printed = printed if block.language == "python" else None


def write_file(text):
    yaml.safe_load(text)
    if named := re.match(r"# (\S+\.yaml)\n", text):
        Path(named[1]).write_text(text)


def type_in(text):
    code = 0
    for command, shown in _TYPED.findall(text):
        if command == "echo $?":
            assert shown == f"{code}\n"
            continue
        program, *arguments = shlex.split(command)
        assert program == "prune", f"{command}: only prune is run; put it into a block of sh"
        result = CliRunner().invoke(main, arguments)
        code = result.exit_code
        assert_shown(shown, _PROGRESS.sub("", result.output), command)


def assert_shown(shown, actual, command=""):
    wanted, got = ("".join(f"{line.rstrip()}\n" for line in text.strip().splitlines()) for text in (shown, actual))
    if not OutputChecker().check_output(wanted, got, ELLIPSIS):
        raise AssertionError(f"{command} shows\n{got}\nand not\n{wanted}")
