"""Declared workloads: predicates with weights, or a file of SQL, instead of logs of real queries."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from prune_assets.advisor.workload.gather import Gathered
from prune_assets.advisor.workload.not_understood import NotUnderstood, Reason
from prune_assets.advisor.workload.query_shapes import ALL_COLUMNS, ScanTotals, Workload
from prune_assets.advisor.workload.ran_scan import RanScan
from prune_assets.advisor.workload.select import on_one_line, parse_select, without_subqueries
from prune_assets.advisor.workload.statements import statements_of
from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.syntax.lexer import TokenKind, tokenize

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from prune_assets.sql.syntax.lexer import Token

_STATEMENT = re.compile(r"[(\s]*(SELECT|WITH)\b", re.IGNORECASE)
_SHOWN_LINES = 5
_WORDS = frozenset(
    {"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "RLIKE", "ILIKE", "BETWEEN", "TRUE", "FALSE", "DATE", "TIMESTAMP"}
    | {
        "TIMESTAMP_NTZ",
        "INTERVAL",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "AS",
        "CAST",
        "ESCAPE",
        "DIV",
        "X",
        "DISTINCT",
    }
)


def declared(table: str | os.PathLike[str], predicates: Sequence[str], *, weights: Sequence[float] | None) -> Workload:
    """Return the result of `Workload.of`, which documents the arguments and errors."""
    if weights is not None and len(weights) != len(predicates):
        raise WrongUse(f"{len(weights)} weights for {len(predicates)} predicates; give one for each")
    gathered = Gathered()
    for where, runs in zip(predicates, weights or [1.0] * len(predicates), strict=True):
        columns = tuple(sorted({*_columns(tokenize(where))}))
        gathered.add(RanScan(os.fspath(table), "", where.strip(), columns, (), "", None, ScanTotals(), float(runs)))
    return gathered.workload()


def scans_of_sql(text: str, table: str | None, not_understood: Counter[str], *, source: str) -> Iterator[RanScan]:
    """Yield a scan for each condition and for each SELECT from one table.

    A condition applies to `table` and reads all columns. Other statements are counted in `not_understood`, with their
    line numbers. Raises WrongUse if no statement is understood.
    """
    refused: dict[tuple[str, str], list[int]] = {}
    understood = False
    for line, sql, runs in statements_of(text):
        try:
            scan = _scan(sql, table, runs)
        except NotUnderstood as error:
            refused.setdefault((error.reason, error.quotation), []).append(line)
            continue
        for reason in scan.left_out:
            refused.setdefault((reason, ""), []).append(line)
        understood = True
        yield scan
    named = {
        Reason(f"{source}, {_named(lines)}: {reason}", quotation): len(lines)
        for (reason, quotation), lines in refused.items()
    }
    if named and not understood:
        raise WrongUse(next(iter(named)))
    not_understood.update(named)


def _scan(sql: str, table: str | None, runs: float) -> RanScan:
    """Return the scan of a statement or a condition; raises NotUnderstood."""
    if _STATEMENT.match(sql):
        name, where, columns, left_out = parse_select(sql)
        return RanScan(name, "", where, columns, (), "", None, ScanTotals(), runs, left_out)
    try:
        where, left_out = without_subqueries(on_one_line(tokenize(sql)))
    except PredicateSyntaxError as error:
        raise NotUnderstood("no SELECT and no condition", str(error)) from None
    if table is None:
        raise NotUnderstood("a condition without a table; pass --table, or write SELECT .. FROM a table WHERE ..")
    return RanScan(table, "", where, ALL_COLUMNS, (), "", None, ScanTotals(), runs, left_out)


def _named(lines: list[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    more = f" and {len(lines) - _SHOWN_LINES:,} more" if len(lines) > _SHOWN_LINES else ""
    return f"lines {', '.join(map(str, lines[:_SHOWN_LINES]))}{more}"


def _columns(tokens: list[Token]) -> Iterator[str]:
    """Yield column names: names other than SQL keywords, functions, aliases and literal types."""
    index = 0
    while index < len(tokens):
        path, start = [tokens[index].text], index
        while index + 2 < len(tokens) and tokens[index + 1].text == ".":
            path.append(tokens[index + 2].text)
            index += 2
        index += 1
        is_call = index < len(tokens) and tokens[index].text == "("
        is_name = tokens[start].kind in {TokenKind.WORD, TokenKind.QUOTED}
        is_alias = start > 0 and tokens[start - 1].text.upper() == "AS"
        if is_name and not is_call and not is_alias and path[0].upper() not in _WORDS:
            yield ".".join(path)
