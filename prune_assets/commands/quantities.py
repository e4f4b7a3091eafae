"""Sizes and shares as people write them on the command line: `200GiB`, `0.9` or `90%`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from parquet_core.quantities import bytes_of, share_of

if TYPE_CHECKING:
    from collections.abc import Callable


def budget_option(description: str) -> Callable[..., Any]:
    """Return the option `--budget`, whose value is a number of bytes; UsageError for what is no size."""
    return click.option("--budget", callback=parsed_by(bytes_of), metavar="SIZE", help=description)


def parsed_by(parse: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a callback that parses the value of an option; its ValueError becomes a UsageError."""

    def parsed(context: click.Context, option: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error), context, option) from None

    return parsed


share = parsed_by(share_of)
