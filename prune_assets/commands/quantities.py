"""Sizes and shares as people write them on the command line: `200GiB`, `0.9` or `90%`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from parquet_core.quantities import bytes_of, share_of

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


def share(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """Return the fraction that an option has as its value, from 0 to 1; UsageError for another text."""
    try:
        return None if value is None else share_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None
