"""What an audit found, and what it looked at."""

from __future__ import annotations

import msgspec

from parquet_core.layout.spec import Finding, Severity

SCHEMA = "audit/1"
# What is said of a claim that does not hold, and that plans do not trust anyway.
NOT_RELIED_ON = "not_relied_on."


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an audit; also its JSON form.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet")
    >>> report = pr.audit(table)
    >>> report.is_true, report.audited_files, report.rows
    (True, 1, 1000)

    `findings`: one for each claim of a column in a file that does not hold, the gravest first. An `error` is a claim
    by which plans and other engines lose rows, or count them wrongly; a `warn` a count that is wrong and loses none,
    or a claim that is wrong and not relied on; `info` a claim that is not relied on and was not found wrong.
    `claims`: by their kind, how many were held against values. `skipped`: by column, why something was not looked at.
    `read_bytes`: as stored.
    """

    schema: str = SCHEMA
    table: str
    findings: tuple[Finding, ...]
    claims: dict[str, int]
    files: int
    audited_files: int
    row_groups: int
    audited_row_groups: int
    rows: int
    read_bytes: int
    seconds: float
    skipped: dict[str, str]

    @property
    def is_true(self) -> bool:
        """Whether no claim that is relied on was found wrong."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)
