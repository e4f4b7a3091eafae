"""Result of an audit: findings, and the data compared."""

from __future__ import annotations

import msgspec

from parquet_core.layout.spec import Finding, Severity

SCHEMA = "audit/1"
# Prefix of codes of claims that plans do not trust.
NOT_RELIED_ON = "not_relied_on."


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an audit; also its JSON form.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet")
    >>> report = pr.audit(table)
    >>> report.is_true, report.audited_files, report.rows
    (True, 1, 1000)

    `findings`: one for each wrong or ignored claim about a column of a file, most severe first. An `error` is a wrong
    claim by which plans and other engines lose rows, or count them wrongly. A `warn` is a wrong count that loses no
    rows, or a wrong claim that plans ignore. An `info` is a claim that plans ignore and that was not found wrong.
    `claims`: number of claims compared with values, by kind.
    `skipped`: per column, why some of its data were not audited.
    `read_bytes`: compressed bytes read.
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
        """True if no claim that plans rely on was found wrong."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)
