"""Casts written as calls of the type name: `int(x)`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from prune_assets.sql.functions.coercion import cast_to
from prune_assets.sql.functions.entry import SqlFunction
from prune_assets.sql.types.spark_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TINYINT,
    decimal_type,
)
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType


def _cast(to: SparkType, arguments: Sequence[Value], _: SparkType) -> Value:
    return cast_to(arguments[0], to)


def _entry(name: str, to: SparkType) -> SqlFunction:
    return SqlFunction(names=(name,), bind=partial(_cast, to), casts_to=to)


FUNCTIONS = (
    *(_entry(str(to), to) for to in (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, BOOLEAN, DATE)),
    _entry(str(ValueKind.DECIMAL), decimal_type(10, 0)),
)
