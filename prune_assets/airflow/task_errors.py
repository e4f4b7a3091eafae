"""Tasks that fail in one line: what the user can mend fails at once, what may pass is tried again."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow.sdk.exceptions import AirflowException, AirflowFailException

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    """Turn the errors of this project into errors of Airflow, each with one line and no cause."""
    from parquet_core.errors import PruneError, StaleTable, StorageFailure
    from prune_assets.errors import JavaFailure

    try:
        yield
    except (StorageFailure, StaleTable, JavaFailure) as error:
        raise TableNotReached(str(error)) from None
    except PruneError as error:
        raise TableTaskError(str(error)) from None
