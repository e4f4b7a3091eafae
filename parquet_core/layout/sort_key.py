"""Sort keys in SQL syntax, such as `amount DESC NULLS LAST`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import LayoutError
from parquet_core.printable import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = re.compile(
    r"(?P<name>`(?:[^`]|``)+`|.*?\S)(?:\s+(?P<direction>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?",
    re.IGNORECASE | re.DOTALL,
)
_WORDS = {"ASC", "DESC", "NULLS", "FIRST", "LAST"}


class SortKey(NamedTuple):
    """A column with sort direction and place of nulls.

    The defaults are the same as in Spark.
    """

    column: str
    descending: bool = False
    nulls_last: bool = False

    def __str__(self) -> str:
        name = self.column.replace("`", "``")
        return f"`{name}` {'DESC' if self.descending else 'ASC'} NULLS {'LAST' if self.nulls_last else 'FIRST'}"


def direction_hint(name: str, columns: Sequence[str]) -> str:
    """Return a hint on sort directions if `name` is a column followed by a word.

    Returns "" for other names.

    >>> direction_hint("day down", ["day", "id"])
    "write 'day DESC' for descending order"
    """
    column, _, word = name.partition(" ")
    return f"write '{column} DESC' for descending order" if word and column in columns else ""


def parse_sort_key(key: str, option: str = "sort_by") -> SortKey:
    """Parse one sort key.

    A key is a column, optionally with `ASC` or `DESC` and `NULLS FIRST` or `NULLS LAST`. `option`: name of the option
    that contains the key, for messages.

    >>> parse_sort_key("amount desc")
    SortKey(column='amount', descending=True, nulls_last=True)
    >>> parse_sort_key("`top desc` ASC NULLS LAST")
    SortKey(column='top desc', descending=False, nulls_last=True)

    Raises LayoutError if these words are in another order.
    """
    if not isinstance(key, str):
        raise LayoutError(f"{option}={key!r}: a key is a column's name, 'price DESC' for descending order")
    match = _KEY.fullmatch(key.strip())
    name = match["name"] if match else key
    quoted = len(name) > 2 and name[0] == name[-1] == "`"
    if match is None or (not quoted and _WORDS & set(name.upper().split()[1:])):
        raise LayoutError(
            f"{option} = {shown(key)}: write COLUMN [ASC|DESC] [NULLS FIRST|LAST], and a name with such words in "
            "backquotes"
        )
    descending = (match["direction"] or "").upper() == "DESC"
    nulls_last = descending if match["nulls"] is None else match["nulls"].upper() == "LAST"
    return SortKey(name[1:-1].replace("``", "`") if quoted else name, descending, nulls_last)
