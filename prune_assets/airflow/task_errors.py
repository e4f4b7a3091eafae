"""Tasks that fail in one line: what the user can mend fails at once, what may pass is tried again."""

from __future__ import annotations

import errno
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping


class TableTaskError(AirflowFailException):
    """The task cannot succeed as it is: its line says what to change. It is not tried again."""


class TableNotReached(AirflowException):
    """The storage, or Spark, failed: it is tried again as often as the task's `retries` say."""


# Errors that may be gone at the next try.
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EINTR, errno.EAGAIN}


@contextmanager
def writing_to(argument: str, path: object) -> Iterator[None]:
    """Say which argument names the file or folder that cannot be written."""
    from parquet_core.errors import StorageFailure, WrongUse

    try:
        yield
    except OSError as error:
        line = f"{argument} = {str(path)!r}: cannot be written ({error.strerror or error})"
        if error.errno in _PASSING:
            raise StorageFailure(line) from None
        raise WrongUse(f"{line}; name a place where the worker may write") from None


@contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Turn the errors of this project into those of Airflow, which then stand in the task's log without a traceback."""
    from parquet_core.errors import PruneError, StaleTable, StorageFailure
    from prune_assets.errors import JavaFailure

    _leave_out_tracebacks()
    try:
        yield
    except (StorageFailure, StaleTable, JavaFailure) as error:
        raise TableNotReached(str(error)) from None
    except PruneError as error:
        raise TableTaskError(str(error)) from None


def _leave_out_tracebacks() -> None:
    """Have the log of this process, which is that of one task, leave out where the errors above were raised.

    Airflow logs whatever a task raises with its traceback, and has no setting for that.
    """
    import structlog

    processors = structlog.get_config()["processors"]
    if _without_traceback not in processors:
        processors.insert(0, _without_traceback)  # in place: the loggers that there are have the same list


def _without_traceback(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    error = sys.exc_info()[1]
    if isinstance(error, (TableTaskError, TableNotReached)) and event.get("exc_info"):
        del event["exc_info"]
        event["error"] = str(error)
    return event
