"""Output of commands: JSON, or text as wide as the terminal."""

from __future__ import annotations

import inspect
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console


def json_text(value: object, *, enc_hook: Callable[[Any], Any] | None = None) -> str:
    r"""Return compact JSON in which all characters that control a terminal are escaped.

    >>> json_text(["caf\u00e9\x1b\x9b", "\u202e", "\udcff"])
    '["caf\\u00e9\\u001b\\u009b","\\u202e","\\udcff"]'
    """
    try:
        encoded = msgspec.json.encode(value, enc_hook=enc_hook).decode()
    except UnicodeEncodeError:  # a file name that is not UTF-8 comes as lone surrogates
        encoded = json.dumps(msgspec.to_builtins(value, enc_hook=enc_hook), separators=(",", ":"))
    if encoded.isascii() and "\x7f" not in encoded:
        return encoded
    controls = [c for c in set(encoded) if not c.isprintable()]
    return encoded.translate({ord(c): json.dumps(c)[1:-1] if c != "\x7f" else "\\u007f" for c in controls})


def description_of(docstring: str) -> str:
    r"""Return a docstring as a description for a JSON Schema.

    Examples and the lines that introduce them are left out.

    >>> description_of("A number.\n\n    For example:\n\n    >>> 1 + 1\n    2\n\n    Not negative.")
    'A number.\n\nNot negative.'
    """
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    before_examples = {i - 1 for i, paragraph in enumerate(paragraphs) if paragraph.startswith(">>>")}
    shown = [
        paragraph
        for i, paragraph in enumerate(paragraphs)
        if not paragraph.startswith(">>>") and not (i in before_examples and paragraph.endswith(":"))
    ]
    return "\n\n".join(shown)


WIDTH_IN_PIPES = 120


def rendered(show: Callable[[Console], None], *, width_in_pipes: int = WIDTH_IN_PIPES) -> str:
    """Render the whole output before anything is printed.

    `width_in_pipes`: width if the output is a pipe and the environment variable `COLUMNS` is not set.
    """
    from rich.console import Console

    in_pipe = not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").lstrip("0").isdecimal()
    console = Console(width=width_in_pipes if in_pipe else None, emoji=False)
    with console.capture() as capture:
        show(console)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def refuse_without_folder(path: Path) -> None:
    """Raise WrongUse if the folder of the file does not exist."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise WrongUse(f"{path}: the directory {folder} does not exist; create it, or give another path")


def write_whole(path: Path, content: str) -> None:
    """Replace a file in one step, so that a reader sees either the old file or the new one.

    Raises WrongUse if the folder does not exist. An OSError names the file, not the temporary file next to it.
    """
    refuse_without_folder(path)
    try:
        _put_in_place(path, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _put_in_place(path: Path, content: str) -> None:
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.absolute().parent, prefix=f".{path.name}.", delete=False
    ) as file:
        try:
            file.write(content)
            file.flush()
            Path(file.name).chmod(0o666 & ~_umask())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
