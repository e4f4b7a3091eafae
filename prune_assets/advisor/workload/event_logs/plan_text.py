"""Parse the text of a formatted plan: its operators by number, with children and sections."""

from __future__ import annotations

import re
from typing import NamedTuple

from prune_assets.advisor.workload.not_understood import NotUnderstood

_SECTION = re.compile(r"\n\n+(?=\(\d+\) )")
# Sections of other operators are not parsed.
_LOOKED_AT = re.compile(r"Scan|Filter|Join")
_HEADER = re.compile(r"^\((\d+)\) (.*?)\s*$")
_NUMBERED = re.compile(r"^([ :|]*(?:[+:]- )?)(?:\* )?(?!==)(\S.*?) \((\d+)\)(?:, .*)?$")
_MARK = re.compile(r"^[ :|]*\+- == (Final|Current|Initial) Plan ==$")
_FIELD = re.compile(r"^([A-Z][A-Za-z ]*?)(?: \[(\d+)\])?\s?: ?(.*)$", re.DOTALL)


class Operator(NamedTuple):
    """An operator of a plan, with the fields of its section.

    `children`: numbers of its child operators.
    `fields`: text by title, such as `Condition` or `Location`.
    `counts`: number of entries that the title of a list states, such as 3 of `Output [3]`.
    """

    number: int
    name: str
    fields: dict[str, str]
    counts: dict[str, int]
    children: list[int]


def operators_of(text: str) -> dict[int, Operator]:
    """Return the operators of a formatted plan by number. An adaptive plan has the operators of its final form.

    Raises NotUnderstood for a plan in another form, and if operator numbers contradict each other.
    """
    if not text.strip():
        raise NotUnderstood("no plan (the query failed before it was planned)")
    tree, _, rest = text.partition("\n\n\n")
    if not tree.startswith("== Physical Plan ==\n") or not rest:
        raise NotUnderstood("the plan is not in the formatted form (spark.sql.ui.explainMode)")
    operators = _sections(text)
    main, *subqueries = re.split(r"^===== Subqueries =====$", text, maxsplit=1, flags=re.MULTILINE)
    drawn = _link(main.partition("\n\n\n")[0], operators)
    for part in subqueries:
        for subtree in re.split(r"^Subquery:\d+ .*$", part, flags=re.MULTILINE)[1:]:
            drawn |= _link(subtree.partition("\n\n\n")[0], operators)
    return {number: operator for number, operator in operators.items() if number in drawn}


def _sections(text: str) -> dict[int, Operator]:
    operators: dict[int, Operator] = {}
    for section in _SECTION.split(text)[1:]:
        header, _, body = section.partition("\n")
        match = _HEADER.match(header)
        # A repeated number means that a constant contains text that looks like an operator.
        if match is None or int(match[1]) in operators:
            raise NotUnderstood("ambiguous text")
        number, name = int(match[1]), match[2].partition(" [codegen id")[0]
        fields, counts = _fields(body.partition("\n\n")[0]) if _LOOKED_AT.search(name) else ({}, {})
        operators[number] = Operator(number, name, fields, counts, [])
    return operators


def _fields(body: str) -> tuple[dict[str, str], dict[str, int]]:
    """Return the fields of a section by title.

    A line without a title continues the line before it, unless that line ends a list.
    """
    lines: list[str] = []
    for line in body.split("\n"):
        if lines and not _FIELD.match(line) and not lines[-1].endswith("]"):
            lines[-1] += "\n" + line
        else:
            lines.append(line)
    fields: dict[str, str] = {}
    counts: dict[str, int] = {}
    for line in lines:
        if (match := _FIELD.match(line)) is None:
            fields["Arguments"] = line
        elif match[1] in fields:
            raise NotUnderstood("ambiguous text")
        else:
            fields[match[1]] = match[3]
            if match[2]:
                counts[match[1]] = int(match[2])
    return fields, counts


def _link(tree: str, operators: dict[int, Operator]) -> set[int]:
    """Add the children to the operators of a drawn tree; return the numbers drawn before any `Initial Plan`."""
    drawn: set[int] = set()
    above: list[tuple[int, int]] = []
    for line in tree.split("\n"):
        mark = _MARK.match(line)
        if mark is not None and mark[1] == "Initial":
            break
        match = _NUMBERED.match(line)
        if match is None or mark is not None:
            continue
        depth, number = len(match[1]), int(match[3])
        if number not in operators:
            continue
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            operators[above[-1][1]].children.append(number)
        above.append((depth, number))
        drawn.add(number)
    return drawn
