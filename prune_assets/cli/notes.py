"""Print notes on standard error, so that standard output contains only the result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.advisor.outcome import AdviceOutcome
    from prune_assets.advisor.result import LayoutAdvice

Noted = TypeVar("Noted", "LayoutAdvice", "AdviceOutcome")


def without_notes(found: Noted, *, printed: Sequence[str] = ()) -> Noted:
    """Print the notes of a result except those in `printed`, and return the result without notes."""
    for note in found.notes:
        if note not in printed:
            click.echo(f"note: {note}", err=True)
    return replace(found, notes=())
