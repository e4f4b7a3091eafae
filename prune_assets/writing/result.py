"""Results of an `optimize` run."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from parquet_core.fix import WORDS, Fix, Step
from parquet_core.printable import printable, redacted
from parquet_core.quantities import bytes_text, counted
from prune_assets.report.quantities import count_text, short_path
from prune_assets.writing.pick import RewriteReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SHOWN = 20
_PATH = 60
_ROWS_NOT_READ = Fix("the order of rows inside of files was not read: ", Step.READ_ROWS, " reads the sort key")


@dataclass(frozen=True, slots=True)
class PickedFile:
    """A file to rewrite, and the reasons."""

    path: str
    bytes: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PredicateBytes:
    """The bytes of a table that a predicate keeps, as in the report of a plan.

    `predicted`: None if the predicate is not on the leading sort key. `after`: None if nothing was rewritten.
    """

    sql: str
    before: int
    predicted: int | None
    after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeResult:
    """Files that `optimize` picked, and the result of rewriting them.

    `considered`: number of files that were measured. `print` shows the result.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> for name in ("a", "b"):
    ...     pq.write_table(pa.table({"id": range(1000)}), f"{table}/{name}.parquet")
    >>> result = pr.optimize(table, layout=pr.LayoutSpec(sort_by=["id"]), dry_run=True)
    >>> result.considered, len(result.picked), result.depth_before
    (2, 2, 2.0)

    `new_files`, `new_bytes`: number and bytes of the files that replace the picked ones; predicted for a `dry_run`.
    `depth_before`, `depth_predicted`, `depth_after`: overlap depth on the leading sort key. The depth of a file is the
    largest number of files whose bounds contain the same value of this file; the fields are means over all files. 1.0
    if no two files share a value. None without a key; `depth_after` is also None for a `dry_run`.
    `version`: Delta version or Iceberg snapshot that was assessed or, after a rewrite, committed; else None.
    `left`: number of files that still need a rewrite.
    `statements`: SQL that the table's own engine ran, or would run.
    `rows_read`: False if the order of rows inside files is known from bounds only.
    `is_along_curve`: the layout has a curve, and only `full` sorts files along it.
    """

    table: str
    dry_run: bool
    considered: int
    picked: tuple[PickedFile, ...]
    new_files: int
    new_bytes: int
    depth_before: float | None
    depth_predicted: float | None
    depth_after: float | None = None
    predicates: tuple[PredicateBytes, ...] = ()
    version: int | None = None
    left: int = 0
    rows_read: bool = True
    is_along_curve: bool = False
    statements: tuple[str, ...] = ()

    @property
    def picked_bytes(self) -> int:
        """Bytes of the picked files."""
        return sum(file.bytes for file in self.picked)

    @property
    def reasons(self) -> dict[str, int]:
        """Number of picked files per reason, most frequent first."""
        return dict(Counter(reason for file in self.picked for reason in file.reasons).most_common())

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON values; addresses have no secrets."""
        fields = asdict(self) | {
            "table": redacted(self.table),
            "picked_bytes": self.picked_bytes,
            "reasons": self.reasons,
        }
        return fields | {"picked": [asdict(file) | {"path": redacted(file.path)} for file in self.picked]}

    def __str__(self) -> str:
        return self.text(WORDS)

    def text(self, words: Mapping[Step, str]) -> str:
        """Return the report, with the options of one tool (command line or Python)."""
        return "\n".join(self._lines(words))

    def _lines(self, words: Mapping[Step, str]) -> Iterator[str]:
        table = redacted(self.table)
        version = "" if self.version is None else f", version {self.version}"
        title = f"{printable(table)}{version}"
        if not self.picked and self.left:
            yield f"{title}: no group of files that needs a rewrite fits the budget"
        elif not self.picked:
            yield f"{title}: no file needs a rewrite ({counted(self.considered, 'file')} checked)"
        else:
            what = "was rewritten to" if self.considered == 1 else "were rewritten to"
            what = "would be rewritten to about" if self.dry_run else what
            yield (
                f"{title}: {count_text(len(self.picked))} of {counted(self.considered, 'file')} "
                f"({bytes_text(self.picked_bytes)}) {what} {count_text(self.new_files)} ({bytes_text(self.new_bytes)})"
            )
            yield "  " + ", ".join(f"{reason}: {count_text(count)}" for reason, count in self.reasons.items())
        for file in self.picked[:_SHOWN]:
            name = printable(short_path(redacted(file.path), table, _PATH))
            yield f"  {name}  {bytes_text(file.bytes)}  {', '.join(file.reasons)}"
        if len(self.picked) > _SHOWN:
            yield f"  and {count_text(len(self.picked) - _SHOWN)} more"
        if self.depth_before is not None:
            yield f"overlap depth (1 if none overlap): {_steps(*map(_depth, self._depths()))}"
        for predicate in self.predicates:
            before, predicted, after = (
                None if size is None else bytes_text(size)
                for size in (predicate.before, predicate.predicted, predicate.after)
            )
            yield f"bytes kept for {printable(predicate.sql)}: {_steps(before, predicted, after)}"
        yield from (printable(statement) for statement in self.statements)
        if self.is_along_curve and RewriteReason.FULL not in self.reasons:
            yield "the order of rows along the curve was not checked: --full (full=True) sorts all rows again"
        if not self.rows_read:
            yield _ROWS_NOT_READ.text(words)
        if self.left:
            yield f"still to optimize: {counted(self.left, 'file')}; run it again, or see `prune check`"

    def _depths(self) -> tuple[float | None, float | None, float | None]:
        return self.depth_before, self.depth_predicted, self.depth_after


def _depth(depth: float | None) -> str | None:
    return None if depth is None else f"{depth:.2f}"


def _steps(before: str | None, predicted: str | None, after: str | None) -> str:
    came = "" if after is None else f", {after} after"
    foretold = "not predicted (not on the leading sort key)" if predicted is None else f"{predicted} predicted"
    return f"{before} before, {foretold}{came}"
