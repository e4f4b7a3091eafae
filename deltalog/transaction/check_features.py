"""Check a change against the features of its table.

Source: the Delta protocol, "Table Features" and what it asks of writers. Files of a commit are written elsewhere, so
that what a feature asks of their rows cannot be looked at here: it must follow from statistics, or the commit is
refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.errors import RefusedCommit, UnsupportedTable
from deltalog.table.reader_features import writer_features
from deltalog.table.schema_fields import schema_fields
from deltalog.table.writer_features import APPEND_ONLY, CHANGE_FEED, DELETION_VECTORS, is_true

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltalog.log.actions import Protocol
    from deltalog.table.schema_fields import Field
    from deltalog.transaction.change import Change

_SPARK = "commit with Spark, which does"
_CONSTRAINT = "delta.constraints."
# What a field's metadata may say that rows must be held against, and the feature it belongs to.
_ON_ROWS = {
    "delta.invariants": "invariants",
    "delta.generationExpression": "generatedColumns",
    "delta.identity.start": "identityColumns",
    "delta.identity.step": "identityColumns",
}


def check_features(
    change: Change, *, protocol: Protocol, properties: Mapping[str, str], schema: str, mapped: bool, place: str
) -> None:
    """Raise what the features of a table have against a change: UnsupportedTable, or RefusedCommit."""
    features = set(writer_features(protocol))
    if change.removes and change.data_change and is_true(properties, APPEND_ONLY):
        raise RefusedCommit(
            f"{place}: the table is append-only and {len(change.removes)} files would be removed; "
            f"unset {APPEND_ONLY} if rows may go"
        )
    if (
        change.adds
        and change.removes
        and change.data_change
        and not change.replaces
        and is_true(properties, CHANGE_FEED)
    ):
        raise UnsupportedTable(
            f"{place}: changeDataFeed: rows are carried from removed files to added ones, and which of them changed is "
            f"not written here; {_SPARK}, or unset {CHANGE_FEED}"
        )
    allowed = "deletionVectors" in features and is_true(properties, DELETION_VECTORS)
    if any(add.deletion_vector is not None for add in change.adds) and not allowed:
        raise RefusedCommit(
            f"{place}: a file has a deletion vector, which the table does not allow; set {DELETION_VECTORS}=true first"
        )
    if change.adds and change.data_change:
        check_rows(properties, schema_fields(schema, mapped=mapped, place=place), place)


def check_rows(properties: Mapping[str, str], fields: Sequence[Field], place: str) -> None:
    """Refuse files whose rows would have to be looked at."""
    constraints = sorted(name for name in properties if name.startswith(_CONSTRAINT))
    if constraints:
        raise UnsupportedTable(
            f"{place}: checkConstraints: that rows obey {constraints[0].removeprefix(_CONSTRAINT)} is not checked "
            f"here; {_SPARK}, or drop the constraint"
        )
    for field in fields:
        found = next((feature for key, feature in _ON_ROWS.items() if key in field.metadata), None)
        if found is not None:
            raise UnsupportedTable(f"{place}: {found}: what column {field.name} may hold is not checked here; {_SPARK}")
