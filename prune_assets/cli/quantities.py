"""Options for sizes such as `200GiB`, shares such as `0.9` or `90%`, and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parquet_core.quantities import bytes_of, share_of

if TYPE_CHECKING:
    from collections.abc import Callable

# Types of options that name a file to write, and a file or folder to read.
WRITTEN_FILE = click.Path(dir_okay=False, path_type=Path)
READ_PATH = click.Path(path_type=Path)


def budget_option(description: str) -> Callable[..., Any]:
    """Return the option `--budget`, whose value is a number of bytes.

    Raises UsageError for an invalid size.
    """
    return click.option("--budget", callback=parsed_by(bytes_of), metavar="SIZE", help=description)


def file_option(option: str, name: str, description: str, *, type: click.Path = WRITTEN_FILE) -> Callable[..., Any]:  # noqa: A002 - the name in click
    """Return an option whose value is the path of a file.

    `name`: name of the parameter.
    """
    return click.option(option, name, type=type, metavar="FILE", help=description)


def layout_option(description: str, *, required: bool = False) -> Callable[..., Any]:
    """Return the option `--layout`, a YAML file."""
    return click.option("--layout", "layout_file", required=required, type=READ_PATH, metavar="FILE", help=description)


def parsed_by(parse: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a callback that parses the value of an option; converts ValueError to UsageError."""

    def parsed(context: click.Context, option: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error), context, option) from None

    return parsed


share = parsed_by(share_of)
