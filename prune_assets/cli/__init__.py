"""`prune`: the group of commands, each in a file of its own.

Converts errors to a line on stderr and an exit code.
Exit codes: 0 success, 1 findings or a failed gate, 2 wrong use or input that is not Parquet, 3 storage, network or Java
failed, or a fault of this program.
"""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from parquet_core.errors import MalformedFile, PruneError, UnsupportedFeature, WrongUse
from parquet_core.printable import printable
from prune_assets import __version__
from prune_assets.errors import DEBUG_VARIABLE, SparkFailure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

# The first line of each command's help, repeated here so that `prune --help` imports no command.
COMMANDS = {
    "advise": "Advise the layout of TABLE that reads the fewest bytes for the predicates that run on it.",
    "audit": "Verify the metadata of TABLE against its data: bounds, counts, bloom filters, the Delta log.",
    "check": "Check that the files of TABLE are sorted, paged and indexed as its layout says.",
    "checkpoint": "Write a checkpoint of the Delta table TABLE unless there is one.",
    "count": "Count the rows of TABLE that a predicate selects.",
    "doctor": "Show the versions of Java, Spark and libraries in use, and missing parts.",
    "explain": "Show how much of TABLE a predicate skips, by which level and why.",
    "head": "Show the first rows of TABLE that a predicate selects.",
    "history": "List the versions of TABLE, or the snapshots of an Iceberg table, the newest first.",
    "merge": "Show the files of its target that the MERGE in FILE opens, and why not fewer.",
    "inspect": "Show the metadata of FILE or TABLE, page indexes and bloom filters included.",
    "optimize": "Rewrite the files of TABLE that break its layout or are too small.",
    "vacuum": "List the files of the Delta table TABLE that no version needs, or delete them.",
    "workload": "Show what queries really ran: per table their filters, how often, and bytes read without need.",
    "write": "Copy the rows of SOURCE into TABLE, with a layout.",
}

_WRONG_USE = (WrongUse, MalformedFile, UnsupportedFeature)
_IN_QUOTES = (
    "Put a condition in quotes, as in --where \"day = DATE '2024-03-01'\", "
    "and a pattern of files too, as in 'lake/*.parquet'."
)
_EXIT_WRONG_USE = 2
_EXIT_FAILURE = 3
# Number of new objects that triggers a garbage collection, 700 by default in Python. Imports alone create hundreds of
# thousands of permanent objects, for which collections are wasted.
_OBJECTS_UNTIL_COLLECTION = 50_000
# Exit codes that a shell reports for programs ended by SIGINT (2), SIGPIPE (13) and SIGTERM (15).
_EXIT_INTERRUPTED = 130
_EXIT_READER_GONE = 141
_EXIT_TERMINATED = 143


class Commands(click.Group):
    """A group that imports a command on use, and prints each error as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names without importing the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the module of a command and return the command.

        None if there is no such command.
        """
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"prune_assets.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for an unknown name, as click does for options."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if near := get_close_matches(args[0].lower(), COMMANDS, n=1):
                raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in sorted(COMMANDS)])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; an error ends the program.

        The program prints a line on stderr and returns an exit code.
        """
        try:
            with _few_collections(), _ending_on_sigterm():
                return super().invoke(ctx)
        except click.UsageError as error:
            if error.message.startswith("Got unexpected extra argument"):
                hint = f"{error.message}. {_IN_QUOTES}"
                raise click.UsageError(hint, error.ctx) from None
            raise
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as error:
            _end_interrupted(error)
        except Exception as error:  # noqa: BLE001 - no caller would report it
            if (interrupt := _interrupt_before(error)) is not None:
                _end_interrupted(interrupt)
            _end(error)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which Kubernetes, Airflow and `timeout` send."""


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """End the command on SIGTERM as on SIGINT, so that temporary files are removed.

    If a program that embeds this one has its own handler, that handler stays.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(_: int, frame: FrameType | None) -> NoReturn:
    # `timeout` sends the signal twice, and the second must not interrupt the removal of files.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    interrupt = signal.getsignal(signal.SIGINT)
    if callable(interrupt):
        # PySpark's handler cancels the running jobs; whatever it raises, the command ends.
        with suppress(BaseException):
            interrupt(signal.SIGINT, frame)
    raise _Terminated


@contextmanager
def _few_collections() -> Iterator[None]:
    # Garbage collection finds little to free in a command, so it does not examine all objects again at exit.
    atexit.register(gc.freeze)
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS_UNTIL_COLLECTION)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _end_interrupted(interrupt: KeyboardInterrupt) -> NoReturn:
    terminated = isinstance(interrupt, _Terminated)
    click.echo(f"error: {'terminated' if terminated else 'interrupted'}", err=True)
    sys.exit(_EXIT_TERMINATED if terminated else _EXIT_INTERRUPTED)


def _interrupt_before(error: BaseException) -> KeyboardInterrupt | None:
    """Return the interrupt that led to an error; None if there was no interrupt.

    While an interrupted command cleans up, py4j may read the response to another command and raise an error.
    """
    before: BaseException | None = error
    while before is not None and not isinstance(before, KeyboardInterrupt):
        before = before.__context__
    return before


def _end(error: Exception) -> NoReturn:
    from prune_assets.spark.java_message import failure_of

    if isinstance(error, BrokenPipeError) and _reader_is_gone():
        # Python would fail again at exit when it flushes the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_EXIT_READER_GONE)
    if os.environ.get(DEBUG_VARIABLE):
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    error = failure_of(error)
    click.echo(f"error: {_line(error)}", err=True)
    sys.exit(_EXIT_WRONG_USE if isinstance(error, _WRONG_USE) else _EXIT_FAILURE)


def _line(error: Exception) -> str:
    message = printable(" ".join(str(error).split("\n")))
    if isinstance(error, SparkFailure):
        return f"{message}; run with {DEBUG_VARIABLE}=1 for the full message of Spark"
    if isinstance(error, PruneError):
        return message
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{printable(str(error.filename))}: {error.strerror}; check the path and its permissions"
    return f"{type(error).__name__}: {message}; run with {DEBUG_VARIABLE}=1 for the traceback"


def _reader_is_gone() -> bool:
    """Return True if standard output is a closed pipe, False if another connection broke."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (OSError, ValueError):
        return False


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - click's signature
    if not asked or ctx.resilient_parsing:
        return
    import platform
    from importlib.metadata import version

    from prune_assets.spark.spark_versions import installed_version

    spark = "without Spark" if (found := installed_version()) is None else f"Spark {found}"
    click.echo(f"prune {__version__} (Python {platform.python_version()}, {spark}, pyarrow {version('pyarrow')})")
    ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the versions of prune-assets, Python, Spark and pyarrow.",
)
def main() -> None:
    """Make Spark skip the Parquet, Delta and Iceberg data that a query does not need, and prove it.

    TABLE is a path, an address (s3://, gs://, az://) or a name of a catalog (glue:sales.orders). For example:

    \b
      prune explain lake/orders --where "day = DATE '2024-03-01'"     what a query skips
      prune check lake/orders --layout layout.yaml                    proof of a layout
      prune write raw lake/orders --layout layout.yaml                a copy with that layout

    Exit codes: 0 fine, 1 findings or a failed gate, 2 wrong use, 3 storage, network or Java failed.
    """


if __name__ == "__main__":
    main()
