"""Replace strings in a condition by placeholders, if pushed filters show where the strings end.

`(user#2 = Smith (Jr))` may contain a string or a call. The pushed filter `EqualTo(user,Smith (Jr))` shows where the
string ends. A placeholder replaces such a string before the condition is parsed, so that its brackets have no meaning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.advisor.workload.conditions.read_schema import split_outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# How a condition prints each pushed filter.
PRINTED = {
    "EqualTo": "({column} = {text})",
    "EqualNullSafe": "({column} <=> {text})",
    "GreaterThan": "({column} > {text})",
    "GreaterThanOrEqual": "({column} >= {text})",
    "LessThan": "({column} < {text})",
    "LessThanOrEqual": "({column} <= {text})",
    "StringStartsWith": "StartsWith({column}, {text})",
    "StringEndsWith": "EndsWith({column}, {text})",
    "StringContains": "Contains({column}, {text})",
    "In": "{column} IN ({text})",
}
# A sorted list of more than ten constants.
_LONG_LIST = "{column} INSET {text}"
_CONNECTIVES = frozenset({"And", "Or", "Not"})
_TESTS = frozenset({"IsNull", "IsNotNull"})
_NAMES = "|".join([*PRINTED, *_CONNECTIVES, *_TESTS])
_NEXT = re.compile(rf"(?<=\)), (?=(?:{_NAMES})\()")
_CALL = re.compile(rf"({_NAMES})\((.*)\)", re.DOTALL)
# Strings without these characters are parsed without placeholders.
_SPECIAL = re.compile(r"[()\x00-\x1f]|#[0-9]|, | (?:AND|OR|IN|INSET|LIKE) |^NOT |\.\.\. [0-9]+ more")
_SIBLING = re.compile(rf"(?<=\)),(?=(?:{_NAMES})\()")
_MOST_NESTED = 200
# Maximum number of possible splits tried for an AND or OR with unbalanced brackets in its strings.
_MOST_OPERANDS = 12
_START, _END = "\ue000", "\ue001"
_PLACEHOLDER = re.compile(f"{_START}([0-9]+){_END}")


class PushedFilter(NamedTuple):
    """A comparison that Spark pushed down.

    `column`: dotted name without quotes.
    """

    name: str
    column: str
    text: str


def pushed_filters_of(pushed: str | None) -> list[PushedFilter]:
    """Return the comparisons in a list of pushed filters, including those inside AND, OR and NOT.

    >>> pushed_filters_of("[IsNotNull(user), Or(EqualTo(user,Smith (Jr)),EqualTo(k,3))]")[1:]
    [PushedFilter(name='EqualTo', column='user', text='Smith (Jr)'), PushedFilter(name='EqualTo', column='k', text='3')]
    """
    if pushed is None or not (pushed.startswith("[") and pushed.endswith("]")):
        return []
    return [leaf for part in _NEXT.split(pushed[1:-1]) for leaf in _leaves(part, 0)]


def _leaves(part: str, depth: int) -> list[PushedFilter]:
    """Return the comparisons of a filter; empty if its text is ambiguous."""
    match = _CALL.fullmatch(part)
    if match is None or depth > _MOST_NESTED:
        return []
    name, inner = match.groups()
    if name == "Not":
        return _leaves(inner, depth + 1)
    if name in _CONNECTIVES:
        return _operand_filters(inner, depth + 1)
    column, _, text = inner.partition(",")
    if name == "In":
        text = text.removeprefix(" [").removesuffix("]")
    return [] if _SIBLING.search(f"{text})") else [PushedFilter(name, column.replace("`", ""), text)]


def _operand_filters(inner: str, depth: int) -> list[PushedFilter]:
    parts = split_outside(inner, ",")
    if len(parts) == 2 and all(map(_CALL.fullmatch, parts)):
        return [leaf for part in parts for leaf in _leaves(part, depth)]
    boundaries = [*_SIBLING.finditer(inner)]
    # A string has an unbalanced bracket; a split counts only if both operands are filters.
    for boundary in boundaries if len(boundaries) < _MOST_OPERANDS else []:
        left, right = _leaves(inner[: boundary.start()], depth), _leaves(inner[boundary.end() :], depth)
        if left and right:
            return [*left, *right]
    return []


def hide_texts(condition: str, pushed: list[PushedFilter], attributes: Mapping[str, str], strings: list[str]) -> str:
    """Return a condition with placeholders for the strings of pushed filters.

    `strings`: list to which these strings are appended.

    >>> strings = []
    >>> hide_texts("(user#2 = a (b))", [PushedFilter("EqualTo", "user", "a (b)")], {"user#2": "user"}, strings), strings
    ('(user#2 = \ue0000\ue001)', ['a (b)'])
    """
    if _START in condition:
        return condition
    for comparison in pushed:
        if comparison.name not in PRINTED or not _SPECIAL.search(comparison.text):
            continue
        for attribute in _attributes_of(comparison.column, attributes):
            for form, text in _printed_forms(comparison):
                printed = form.format(column=attribute, text=text)
                if printed in condition:
                    placeholder = f"{_START}{len(strings)}{_END}"
                    condition = condition.replace(printed, form.format(column=attribute, text=placeholder))
                    strings.append(comparison.text)
    return condition


def _printed_forms(comparison: PushedFilter) -> Iterator[tuple[str, str]]:
    yield PRINTED[comparison.name], comparison.text
    if comparison.name == "In":
        yield (
            _LONG_LIST,
            ", ".join(sorted(comparison.text.split(","), key=lambda text: text.encode("utf-16-be", "surrogatepass"))),
        )


def _attributes_of(column: str, attributes: Mapping[str, str]) -> Iterator[str]:
    for attribute, name in attributes.items():
        if column == name:
            yield attribute
        elif column.startswith(f"{name}."):
            yield attribute + column.removeprefix(name)


def hidden_text(text: str, strings: Sequence[str]) -> str | None:
    """Return the string that a placeholder replaces; None if `text` is not a placeholder."""
    match = _PLACEHOLDER.fullmatch(text)
    return None if match is None or int(match[1]) >= len(strings) else strings[int(match[1])]
