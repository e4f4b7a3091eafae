"""Sizes as people write them on the command line: `200GiB`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from parquet_core.quantities import bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable


def budget_option(description: str) -> Callable[..., Any]:
    """Return the option `--budget`, whose value is a number of bytes; UsageError for what is no size."""
    return click.option("--budget", callback=_byte_count, metavar="SIZE", help=description)


def _byte_count(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    try:
        return None if value is None else bytes_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None
