"""Errors of Arrow about a file as MalformedFile and UnsupportedFeature."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import MalformedFile, PruneError, UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.storage import DataFile


@contextmanager
def reading(file: DataFile, what: str = "") -> Iterator[None]:
    """Turn what Arrow says against a file inside into MalformedFile or UnsupportedFeature.

    `what`: the column or row group. The message ends in the next step, behind its last semicolon.
    """
    place = f"{file.path}: {what}: " if what else f"{file.path}: "
    try:
        yield
    except PruneError:
        raise
    except NotImplementedError as error:
        raise UnsupportedFeature(f"{place}{_said(error)}; leave it out, or write it as another type") from None
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
        raise MalformedFile(f"{place}{_said(error)}; the file is damaged, write it again") from None


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
