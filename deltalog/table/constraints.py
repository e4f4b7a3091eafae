"""What a table demands of its rows: NOT NULL, CHECK constraints, invariants, generated and identity columns.

Source: the Delta protocol, "CHECK Constraints", "Column Invariants", "Generated Columns" and "Identity Columns".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalog.table.properties import CONSTRAINT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltalog.table.schema import Field

# What a field's metadata may say of its values, and the feature it belongs to.
FIELD_FEATURES = {
    "delta.invariants": "invariants",
    "delta.generationExpression": "generatedColumns",
    "delta.identity.start": "identityColumns",
    "delta.identity.step": "identityColumns",
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A demand on rows: the table feature it belongs to, the name of the constraint or column, and what is demanded.

    `sql`: a condition of a CHECK constraint, the expression of a generated column; else what the log says.
    """

    feature: str
    name: str
    sql: str


def constraints_of(properties: Mapping[str, str], fields: Sequence[Field]) -> Iterator[Constraint]:
    """Yield what a table demands of its rows beside that columns are not null; CHECK constraints first, by name.

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
