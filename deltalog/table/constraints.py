"""Constraints of a table: CHECK constraints, invariants, generated and identity columns.

Source: the Delta protocol, "CHECK Constraints", "Column Invariants", "Generated Columns" and "Identity Columns".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalog.table.properties import CONSTRAINT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltalog.table.schema import Field

# Metadata keys of a field that constrain its values, and their table features.
FIELD_FEATURES = {
    "delta.invariants": "invariants",
    "delta.generationExpression": "generatedColumns",
    "delta.identity.start": "identityColumns",
    "delta.identity.step": "identityColumns",
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint on rows: its table feature, its name or column, and its expression.

    `sql`: the condition of a CHECK constraint, the expression of a generated column, or else the metadata value in the
    log.
    """

    feature: str
    name: str
    sql: str


def constraints_of(properties: Mapping[str, str], fields: Sequence[Field]) -> Iterator[Constraint]:
    """Yield a table's constraints except NOT NULL; CHECK constraints first, by name.

    >>> list(constraints_of({"delta.constraints.positive": "x > 0"}, []))
    [Constraint(feature='checkConstraints', name='positive', sql='x > 0')]
    """
    for name in sorted(properties):
        if name.startswith(CONSTRAINT):
            yield Constraint("checkConstraints", name.removeprefix(CONSTRAINT), properties[name])
    for field in fields:
        key = next((key for key in FIELD_FEATURES if key in field.metadata), None)
        if key is not None:
            yield Constraint(FIELD_FEATURES[key], field.name, str(field.metadata[key]))
