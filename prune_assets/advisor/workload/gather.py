"""Merge scans into query shapes, within limited memory. Scans that differ only in constants have one shape."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from prune_assets.advisor.workload.constants import shape_of
from prune_assets.advisor.workload.query_shapes import (
    ALL_COLUMNS,
    MOST_PREDICATES,
    QueryShape,
    RanPredicate,
    ScanTotals,
    Workload,
)
from prune_assets.advisor.workload.same_shape import same_shape
from prune_assets.errors import PredicateSyntaxError

if TYPE_CHECKING:
    from prune_assets.advisor.workload.ran_scan import RanScan

Number = TypeVar("Number", int, float)

# Limit of the shapes in memory. People write fewer shapes by hand; programs may generate a new shape for each query.
MOST_SHAPES = 20_000
MOST_NAMES = 20
# Maximum total characters of the predicates of a shape.
MOST_TEXT = 200_000


class _Key(NamedTuple):
    """The key of a shape.

    `form`: normal form of the filter, equal for filters that are equivalent apart from their constants.
    `join_keys`: join keys of a MERGE; () for other statements.
    """

    table: str
    form: str
    left_out: tuple[str, ...]
    statement: str
    join_keys: tuple[str, ...]


class _ReadLogs(NamedTuple):
    """A predicate, and the columns that its queries read."""

    where: str
    columns: tuple[str, ...]

    @property
    def rank(self) -> bytes:
        """A hash of the predicate and columns. The predicates of lowest rank form an even sample."""
        key = "\0".join([self.where, *self.columns])
        return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()


@dataclass(slots=True)
class _Shape:
    shape: str
    # Compared with the columns of later scans.
    first_columns: tuple[str, ...]
    runs: float = 0.0
    totals: ScanTotals = field(default_factory=ScanTotals)
    predicates: dict[_ReadLogs, float] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)
    has_one_read: bool = True
    joined_on: set[str] = field(default_factory=set)
    text_length: int = 0
    # Predicates with a larger hash are dropped, so that the remaining predicates are an even sample.
    limit: bytes = b"\xff" * 8
    applications: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)


class Gathered:
    """The shapes of the added scans.

    `not_understood`: number of scans left out, by reason.
    """

    def __init__(self) -> None:
        self.shapes: dict[_Key, _Shape] = {}
        self.forms: dict[str, str] = {}
        self.not_understood: Counter[str] = Counter()
        self.first: int | None = None
        self.last: int | None = None

    def add(self, scan: RanScan) -> None:
        """Add a scan to its shape."""
        try:
            name = shape_of(scan.where)
        except PredicateSyntaxError:
            self.not_understood["a predicate that is not SQL"] += 1
            return
        join_keys = scan.joined_on if scan.statement else ()
        key = _Key(scan.table, self._form(name), scan.left_out, scan.statement, join_keys)
        if key not in self.shapes and len(self.shapes) >= MOST_SHAPES:
            self.not_understood["more shapes than are kept"] += 1
            return
        shape = self.shapes.setdefault(key, _Shape(name, scan.columns))
        shape.shape = min(shape.shape, name)
        shape.runs += scan.runs
        shape.totals = added(shape.totals, scan.totals)
        _add_predicate(shape, _ReadLogs(scan.where, scan.columns), scan.runs)
        shape.columns.update(scan.columns)
        shape.has_one_read &= scan.columns == shape.first_columns
        shape.joined_on.update(scan.joined_on)
        for names, name in ((shape.applications, scan.application), (shape.names, scan.name)):
            if name and (name in names or len(names) < MOST_NAMES):
                names.update([name])
        if scan.time is not None:
            self.first = scan.time if self.first is None else min(self.first, scan.time)
            self.last = scan.time if self.last is None else max(self.last, scan.time)

    def _form(self, shape: str) -> str:
        if shape not in self.forms and len(self.forms) < MOST_SHAPES:
            self.forms[shape] = same_shape(shape) if shape else ""
        return self.forms.get(shape, shape)

    def workload(self, *, since: str = "", until: str = "", problems: tuple[str, ...] = ()) -> Workload:
        """Return the workload of all shapes, most bytes read first."""
        shapes = [
            QueryShape(
                table=key.table,
                shape=shape.shape,
                columns=ALL_COLUMNS if shape.columns.issuperset(ALL_COLUMNS) else tuple(sorted(shape.columns)),
                runs=shape.runs,
                predicates=tuple(
                    RanPredicate(read.where, runs, None if shape.has_one_read else read.columns)
                    for read, runs in sorted(shape.predicates.items())
                ),
                totals=shape.totals,
                joined_on=tuple(sorted(shape.joined_on)),
                applications=tuple(sorted(shape.applications)),
                names=tuple(sorted(shape.names)),
                left_out=key.left_out,
                statement=key.statement,
            )
            for key, shape in self.shapes.items()
        ]
        shapes.sort(key=lambda one: (-(one.totals.bytes_read or 0), -one.runs, one.table, one.shape))
        return Workload(tuple(shapes), dict(self.not_understood.most_common()), since, until, problems)


def added(left: ScanTotals, right: ScanTotals) -> ScanTotals:
    """Add totals; a value that is None on one side is taken from the other."""
    return ScanTotals(
        _sum(left.files_read, right.files_read),
        _sum(left.bytes_read, right.bytes_read),
        _sum(left.rows_read, right.rows_read),
        _sum(left.rows_selected, right.rows_selected),
        _sum(left.seconds, right.seconds),
    )


def _sum(left: Number | None, right: Number | None) -> Number | None:
    return right if left is None else left if right is None else left + right


def _add_predicate(shape: _Shape, read: _ReadLogs, runs: float) -> None:
    if read in shape.predicates:
        shape.predicates[read] += runs
        return
    if read.rank >= shape.limit:
        return
    shape.predicates[read] = runs
    shape.text_length += len(read.where)
    while len(shape.predicates) > MOST_PREDICATES or (shape.text_length > MOST_TEXT and len(shape.predicates) > 1):
        (largest,) = nlargest(1, shape.predicates, key=lambda one: one.rank)
        shape.limit = largest.rank
        shape.text_length -= len(largest.where)
        del shape.predicates[largest]
