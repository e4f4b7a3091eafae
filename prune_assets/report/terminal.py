"""Where a command's report goes: a terminal, in colour and as wide as that is, or a pipe."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

WIDTH_IN_PIPES = 120


def rendered(show: Callable[[Console], None], *, width_in_pipes: int = WIDTH_IN_PIPES) -> str:
    """Render the whole before a byte of it is printed; a pipe is as wide as `COLUMNS` says, where it is set."""
    from rich.console import Console

    in_pipe = not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").lstrip("0").isdecimal()
    console = Console(width=width_in_pipes if in_pipe else None, emoji=False)
    with console.capture() as capture:
        show(console)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
