"""Task errors in one line.

Errors that the user can fix fail at once; temporary errors are retried.
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow.sdk.exceptions import AirflowException, AirflowFailException

if TYPE_CHECKING:
    from collections.abc import Iterator


class TableTaskError(AirflowFailException):
    """The task cannot succeed without a change, which the message names.

    Airflow does not retry it.
    """


class TableNotReached(AirflowException):
    """The storage or Spark failed.

    Airflow retries the task as often as its `retries` allow.
    """


# Errors that a retry may resolve.
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EINTR, errno.EAGAIN}


@contextmanager
def writing_to(argument: str, path: object) -> Iterator[None]:
    """Name the argument in errors of a block that writes the file or folder of this argument."""
    from parquet_core.errors import StorageFailure, WrongUse

    try:
        yield
    except OSError as error:
        line = f"{argument} = {str(path)!r}: cannot be written ({error.strerror or error})"
        if error.errno in _PASSING:
            raise StorageFailure(line) from None
        raise WrongUse(f"{line}; give a path where the worker may write") from None


@contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Convert errors of this project into Airflow's, each with one line and without a cause."""
    from parquet_core.errors import PruneError, StaleTable, StorageFailure
    from prune_assets.errors import JavaFailure

    try:
        yield
    except (StorageFailure, StaleTable, JavaFailure) as error:
        raise TableNotReached(str(error)) from None
    except PruneError as error:
        raise TableTaskError(str(error)) from None
