"""Texts of a condition that the filters pushed down repeat in another notation, so that brackets in them mean nothing.

`(user#2 = Smith (Jr))` may be a text or a call. `EqualTo(user,Smith (Jr))` says where the text ends. Such a text is
replaced by a placeholder before the condition is parsed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.advisor.workload.conditions.read_schema import split_outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# The form in which a condition prints each pushed filter.
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
# A list of more than ten constants, sorted.
_LONG_LIST = "{column} INSET {text}"
_CONNECTIVES = frozenset({"And", "Or", "Not"})
_TESTS = frozenset({"IsNull", "IsNotNull"})
_NAMES = "|".join([*PRINTED, *_CONNECTIVES, *_TESTS])
_NEXT = re.compile(rf"(?<=\)), (?=(?:{_NAMES})\()")
_CALL = re.compile(rf"({_NAMES})\((.*)\)", re.DOTALL)
# Other texts are read without help.
_SPECIAL = re.compile(r"[()\x00-\x1f]|#[0-9]|, | (?:AND|OR|IN|INSET|LIKE) |^NOT |\.\.\. [0-9]+ more")
_SIBLING = re.compile(rf"(?<=\)),(?=(?:{_NAMES})\()")
_MOST_NESTED = 200
# Operands of an AND or OR whose texts have brackets without a pair.
_MOST_OPERANDS = 12
_START, _END = "\ue000", "\ue001"
_PLACEHOLDER = re.compile(f"{_START}([0-9]+){_END}")


class PushedFilter(NamedTuple):
    """A comparison that was pushed down; `column` as a dotted name without quotes."""

    name: str
    column: str
    text: str


def pushed_filters_of(pushed: str | None) -> list[PushedFilter]:
    """Return the comparisons of a list of pushed filters, and those in its ANDs, ORs and NOTs.

    >>> pushed_filters_of("[IsNotNull(user), Or(EqualTo(user,Smith (Jr)),EqualTo(k,3))]")[1:]
    [PushedFilter(name='EqualTo', column='user', text='Smith (Jr)'), PushedFilter(name='EqualTo', column='k', text='3')]
    """
    if pushed is None or not (pushed.startswith("[") and pushed.endswith("]")):
        return []
    return [leaf for part in _NEXT.split(pushed[1:-1]) for leaf in _leaves(part, 0)]


def _leaves(part: str, depth: int) -> list[PushedFilter]:
    """Return the comparisons of a filter; none if its text contradicts itself."""
    found = _CALL.fullmatch(part)
    if found is None or depth > _MOST_NESTED:
        return []
    name, inner = found.groups()
    if name == "Not":
        return _leaves(inner, depth + 1)
    if name in _CONNECTIVES:
        return _of_operands(inner, depth + 1)
    column, _, text = inner.partition(",")
    if name == "In":
        text = text.removeprefix(" [").removesuffix("]")
    return [] if _SIBLING.search(f"{text})") else [PushedFilter(name, column.replace("`", ""), text)]


def _of_operands(inner: str, depth: int) -> list[PushedFilter]:
    parts = split_outside(inner, ",")
    if len(parts) == 2 and all(map(_CALL.fullmatch, parts)):
        return [leaf for part in parts for leaf in _leaves(part, depth)]
    places = [*_SIBLING.finditer(inner)]
    # A text has a bracket without its pair: both operands must be filters.
    for place in places if len(places) < _MOST_OPERANDS else []:
        left, right = _leaves(inner[: place.start()], depth), _leaves(inner[place.end() :], depth)
        if left and right:
            return [*left, *right]
    return []


def hide_texts(condition: str, pushed: list[PushedFilter], attributes: Mapping[str, str], texts: list[str]) -> str:
    """Return a condition with placeholders for the texts that were pushed down, which are added to `texts`.

    >>> texts = []
    >>> hide_texts("(user#2 = a (b))", [PushedFilter("EqualTo", "user", "a (b)")], {"user#2": "user"}, texts), texts
    ('(user#2 = \ue0000\ue001)', ['a (b)'])
    """
    if _START in condition:
        return condition
    for one in pushed:
        if one.name not in PRINTED or not _SPECIAL.search(one.text):
            continue
        for attribute in _attributes_of(one.column, attributes):
            for form, text in _printed_forms(one):
                printed = form.format(column=attribute, text=text)
                if printed in condition:
                    placeholder = f"{_START}{len(texts)}{_END}"
                    condition = condition.replace(printed, form.format(column=attribute, text=placeholder))
                    texts.append(one.text)
    return condition


def _printed_forms(one: PushedFilter) -> Iterator[tuple[str, str]]:
    yield PRINTED[one.name], one.text
    if one.name == "In":
        yield (
            _LONG_LIST,
            ", ".join(sorted(one.text.split(","), key=lambda text: text.encode("utf-16-be", "surrogatepass"))),
        )


def _attributes_of(column: str, attributes: Mapping[str, str]) -> Iterator[str]:
    for attribute, name in attributes.items():
        if column == name:
            yield attribute
        elif column.startswith(f"{name}."):
            yield attribute + column.removeprefix(name)


def hidden_text(text: str, texts: Sequence[str]) -> str | None:
    """Return the text of a placeholder; None for another text."""
    found = _PLACEHOLDER.fullmatch(text)
    return None if found is None or int(found[1]) >= len(texts) else texts[int(found[1])]
